-- as_reader_by_index: as as_reader, and make the planner use the vector index and scan on while too few rows pass
SELECT
    set_config('querymill.collection', %(collection)s, true),
    set_config('role', 'querymill_reader', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('hnsw.ef_search', %(ef_search)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true);

-- nearest_exact: the nearest of the first rows that pass the filter, comparing each; the nearest row of each message
WITH scored AS MATERIALIZED (
    SELECT p.vector_id, p.session_id, p.message_key, p.vector_type, p.text_id,
        coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS raw
    FROM chat_passages AS p
    JOIN chat_vectors AS v
        ON v.collection = {collection} AND v.model = {model} AND v.session_id = p.session_id AND v.key = p.key
    WHERE p.collection = {collection} AND p.vector_type = ANY(%(vector_types)s) AND v.embedding IS NOT NULL {filters}
    LIMIT %(bound)s
),
counted AS (
    SELECT count(*) AS examined,
        CASE WHEN cardinality(%(vector_types)s) > 1 OR bool_or(text_id IS NOT NULL)
            THEN (SELECT count(*) FROM (SELECT FROM scored WHERE raw >= %(floor)s GROUP BY session_id, message_key) AS m)
            ELSE count(*) FILTER (WHERE raw >= %(floor)s)
        END AS passed
    FROM scored
),
near AS (SELECT * FROM scored ORDER BY raw DESC, vector_id LIMIT %(candidates)s),
best AS (
    SELECT * FROM (
        SELECT DISTINCT ON (session_id, message_key) vector_id, raw FROM near
        ORDER BY session_id, message_key, raw DESC, vector_type DESC, vector_id
    ) AS of_each ORDER BY raw DESC, vector_id LIMIT %(limit)s
)
SELECT counted.examined, counted.passed, {columns}, best.raw, {passage}
FROM counted
LEFT JOIN best ON true
LEFT JOIN chat_passages AS p ON p.collection = %(collection)s AND p.vector_id = best.vector_id
{joins}
ORDER BY best.raw DESC, best.vector_id;

-- nearest_approximate: the nearest rows that the index finds, scored again in full precision, one of each message
WITH near AS MATERIALIZED (
    SELECT
        p.vector_id, p.message_key, p.message_id, p.session_id, p.content, p.vector_type, p.created_at,
        p.text_id, p.number, p.start, p.passages, p.metadata, 1 - (v.embedding <=> %(vector)s::vector) AS raw
    FROM chat_vectors AS v
    JOIN chat_passages AS p ON p.collection = {collection} AND p.session_id = v.session_id AND p.key = v.key
    WHERE v.collection = {collection} AND v.model = {model} AND v.embedding IS NOT NULL
        AND p.vector_type = ANY(%(vector_types)s) {filters}
    ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT %(candidates)s
),
counted AS (
    SELECT count(*) AS examined, count(DISTINCT (session_id, message_key)) FILTER (WHERE raw >= %(floor)s) AS passed
    FROM near
),
best AS (
    SELECT * FROM (
        SELECT DISTINCT ON (session_id, message_key) * FROM near
        ORDER BY session_id, message_key, raw DESC, vector_type DESC, vector_id
    ) AS of_each ORDER BY raw DESC, vector_id LIMIT %(limit)s
)
SELECT counted.examined, counted.passed, {columns}, p.raw, {passage}
FROM counted CROSS JOIN best AS p
{joins}
ORDER BY p.raw DESC, p.vector_id;

-- without_vector: how many rows have no vector of the model, and how many of them its provider did not refuse: those that
-- wait, those that were refused, and those that only other models have
SELECT count(DISTINCT vector_id), count(DISTINCT vector_id) FILTER (WHERE NOT is_refused) FROM (
    (
        SELECT p.vector_id, p.session_id, p.key, false AS is_refused FROM chat_passages AS p
        WHERE p.collection = %(collection)s AND p.waiting AND p.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT p.vector_id, p.session_id, p.key, true FROM chat_vectors AS v
        JOIN chat_passages AS p ON p.collection = %(collection)s AND p.session_id = v.session_id AND p.key = v.key
        WHERE v.collection = %(collection)s AND v.model = %(model)s AND v.embedding IS NULL
            AND p.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT p.vector_id, p.session_id, p.key, false FROM chat_vectors AS v
        JOIN chat_passages AS p ON p.collection = %(collection)s AND p.session_id = v.session_id AND p.key = v.key
        WHERE v.collection = %(collection)s AND v.model < %(model)s AND p.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT p.vector_id, p.session_id, p.key, false FROM chat_vectors AS v
        JOIN chat_passages AS p ON p.collection = %(collection)s AND p.session_id = v.session_id AND p.key = v.key
        WHERE v.collection = %(collection)s AND v.model > %(model)s AND p.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
) AS lacking
WHERE is_refused OR NOT EXISTS (
    SELECT FROM chat_vectors AS own
    WHERE own.collection = %(collection)s AND own.model = %(model)s AND own.session_id = lacking.session_id
        AND own.key = lacking.key
);

-- containing: texts that contain another
WITH found AS MATERIALIZED (
    SELECT p.*
    FROM chat_passages AS p
    WHERE p.collection = %(collection)s AND p.vector_type = ANY(%(vector_types)s) AND p.number = 0 {filters}
        AND CASE WHEN p.text_id IS NULL THEN p.content ELSE (
            SELECT string_agg(part.content, '' ORDER BY part.number) FROM chat_passages AS part
            WHERE part.collection = %(collection)s AND part.text_id = p.text_id
        ) END ILIKE %(pattern)s ESCAPE '\'
)
SELECT (SELECT count(*) FROM found), {columns}
FROM found AS p
{joins}
ORDER BY p.created_at DESC, p.vector_id
LIMIT %(limit)s;

-- message_rows: named texts that pass the filter, each once, by its nearest passage
SELECT DISTINCT ON (coalesce(p.text_id, p.vector_id)) {columns}, near.raw, {passage}
FROM chat_passages AS p
LEFT JOIN chat_vectors AS v
    ON v.collection = %(collection)s AND v.model = %(model)s AND v.session_id = p.session_id AND v.key = p.key
CROSS JOIN LATERAL (
    SELECT CASE WHEN v.embedding IS NOT NULL AND %(vector)s::vector IS NOT NULL
        THEN coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) END AS raw
) AS near
{joins}
WHERE p.collection = %(collection)s AND (p.vector_id = ANY(%(vector_ids)s) OR p.text_id = ANY(%(vector_ids)s))
    AND p.vector_type = ANY(%(vector_types)s) {filters}
ORDER BY coalesce(p.text_id, p.vector_id), near.raw DESC NULLS LAST, p.number;

-- sessions_of: sessions that have a row that passes the filter, up to a number
SELECT s.session_id FROM chat_sessions AS s
WHERE s.collection = %(collection)s AND EXISTS (
    SELECT FROM chat_passages AS p
    WHERE p.collection = %(collection)s AND p.session_id = s.session_id AND p.vector_type = ANY(%(vector_types)s) {filters}
)
LIMIT %(limit)s;
