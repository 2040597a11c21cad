-- as_reader_by_index: as as_reader, and make the planner use the vector index and scan on while too few rows pass
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_messages', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('hnsw.ef_search', %(ef_search)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- nearest_exact: the nearest of the first rows that pass the filter, comparing each
WITH scored AS MATERIALIZED (
    SELECT v.vector_id, coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
    LIMIT %(bound)s
),
counted AS (SELECT count(*) AS examined, count(*) FILTER (WHERE raw >= %(floor)s) AS passed FROM scored),
best AS (SELECT vector_id, raw FROM scored ORDER BY raw DESC, vector_id LIMIT %(limit)s)
SELECT counted.examined, counted.passed, {columns}, best.raw
FROM counted
LEFT JOIN best ON true
LEFT JOIN chat_message_vectors AS v
    ON v.collection = %(collection)s AND v.vector_id = best.vector_id AND v.model = %(model)s
{joins}
ORDER BY best.raw DESC, best.vector_id;

-- nearest_approximate: the nearest rows that the index finds, scored again in full precision
WITH near AS MATERIALIZED (
    SELECT
        v.vector_id, v.message_key, v.message_id, v.session_id, v.content, v.vector_type, v.created_at,
        1 - (v.embedding <=> %(vector)s::vector) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(candidates)s
),
counted AS (SELECT count(*) AS examined, count(*) FILTER (WHERE raw >= %(floor)s) AS passed FROM near),
best AS (SELECT * FROM near ORDER BY raw DESC, vector_id LIMIT %(limit)s)
SELECT counted.examined, counted.passed, {columns}, v.raw
FROM counted CROSS JOIN best AS v
{joins}
ORDER BY v.raw DESC, v.vector_id;

-- without_vector: how many rows have no vector of the model; models below and above it apart, so that an index serves
SELECT count(DISTINCT vector_id) FROM (
    (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model < %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model > %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.embedding IS NULL AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
) AS other
WHERE NOT EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = other.vector_id AND own.model = %(model)s
        AND own.embedding IS NOT NULL
);

-- containing: rows whose content contains a text, each once however many models it has
WITH found AS MATERIALIZED (
    SELECT DISTINCT ON (v.vector_id) v.*
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.vector_type = ANY(%(vector_types)s)
        AND v.content ILIKE %(pattern)s ESCAPE '\' {filters}
    ORDER BY v.vector_id
)
SELECT (SELECT count(*) FROM found), {columns}, NULL
FROM found AS v
{joins}
ORDER BY v.created_at DESC, v.vector_id
LIMIT %(limit)s;

-- message_rows: named rows that pass the filter, each once, preferring the row of the model
SELECT DISTINCT ON (v.vector_id)
    {columns},
    CASE WHEN v.model = %(model)s AND v.embedding IS NOT NULL
        THEN coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) END
FROM chat_message_vectors AS v
{joins}
WHERE v.collection = %(collection)s AND v.vector_id = ANY(%(vector_ids)s)
    AND v.vector_type = ANY(%(vector_types)s) {filters}
ORDER BY v.vector_id, (v.model = %(model)s) DESC;

-- lacking_sessions_of: the sessions of rows without a vector, those with the newest rows first
SELECT v.session_id FROM chat_message_vectors AS v
WHERE v.collection = %(collection)s AND v.embedding IS NULL AND v.vector_type = ANY(%(vector_types)s) {filters}
GROUP BY v.session_id ORDER BY max(v.created_at) DESC, v.session_id
LIMIT %(limit)s;
