-- near_index: whether an index of this name is valid
SELECT indisvalid FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE relname = %(name)s AND relnamespace = to_regnamespace(current_schema());

-- has_more_vectors: a row if a collection has more than so many vectors of a model
SELECT FROM {table}
WHERE collection = %(collection)s AND model = %(model)s AND embedding IS NOT NULL
LIMIT 1 OFFSET %(rows)s;

-- try_to_make: take the right to make an index of a table until the transaction ends
SELECT pg_try_advisory_xact_lock(hashtextextended('near/' || {table}, 0));

-- make_near_index: the index of one collection and model; its predicate has literals, which the planner matches
CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops)
WITH (m = {neighbours}, ef_construction = {breadth})
WHERE collection = {collection} AND model = {model} AND embedding IS NOT NULL;
