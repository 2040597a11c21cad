-- former_indexes: the indexes that the former release wrote to
SELECT DISTINCT collection, space FROM word_spaces;

-- hold_former_index: lock an index of the former release, in every tokeniser version
SELECT number, version FROM word_spaces
WHERE collection = %(collection)s AND space = %(space)s
ORDER BY number
FOR UPDATE;

-- former_entries: the entries of an index, with their terms
SELECT unit.id, grouped.name, coalesce(counted.terms, '{}'), coalesce(counted.tfs, '{}')
FROM word_units AS unit
JOIN word_groups AS grouped ON grouped.space = unit.space AND grouped.number = unit.grp
CROSS JOIN LATERAL (
    SELECT array_agg(term) AS terms, array_agg(tf) AS tfs FROM word_postings AS posting
    WHERE posting.unit = unit.number
) AS counted
WHERE unit.space = %(former)s AND unit.length IS NOT NULL;

-- drop_former_postings: delete the postings of an index
DELETE FROM word_postings WHERE space = %(former)s;

-- drop_former_units: delete the entries of an index
DELETE FROM word_units WHERE space = %(former)s;

-- drop_former_frequencies: delete the document frequencies of an index
DELETE FROM word_frequencies WHERE space = %(former)s;

-- drop_former_groups: delete the groups of an index
DELETE FROM word_groups WHERE space = %(former)s;

-- drop_former_index: delete an index
DELETE FROM word_spaces WHERE number = %(former)s;
