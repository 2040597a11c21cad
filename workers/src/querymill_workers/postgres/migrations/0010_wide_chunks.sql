-- A row must fit a page of 8 kB: wider vectors than 1,900 dimensions stand outside it, like those of other tables.
DO $$
BEGIN
    IF {dimensions} > 1900 THEN
        ALTER TABLE code_chunks ALTER COLUMN embedding SET STORAGE EXTERNAL;
    END IF;
END $$;
