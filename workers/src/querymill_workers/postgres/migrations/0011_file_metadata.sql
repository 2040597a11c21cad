-- What files came with besides their path and content.
ALTER TABLE code_files ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
