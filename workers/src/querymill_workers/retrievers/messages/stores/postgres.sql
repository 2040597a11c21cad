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

-- nearest_exact: the nearest of the first rows that pass the filter, comparing each; the nearest row of each message
WITH scored AS MATERIALIZED (
    SELECT v.vector_id, v.session_id, v.message_key, v.vector_type, v.text_id,
        coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = {collection} AND v.model = {model} AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
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
LEFT JOIN chat_message_vectors AS v
    ON v.collection = %(collection)s AND v.vector_id = best.vector_id AND v.model = %(model)s
{joins}
ORDER BY best.raw DESC, best.vector_id;

-- nearest_approximate: the nearest rows that the index finds, scored again in full precision, one of each message
WITH near AS MATERIALIZED (
    SELECT
        v.vector_id, v.message_key, v.message_id, v.session_id, v.content, v.vector_type, v.created_at, v.model,
        v.text_id, v.number, v.start, v.passages, v.role, v.user_name, v.metadata,
        1 - (v.embedding <=> %(vector)s::vector) AS raw
    FROM chat_message_vectors AS v
    WHERE v.collection = {collection} AND v.model = {model} AND v.vector_type = ANY(%(vector_types)s)
        AND v.embedding IS NOT NULL {filters}
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
SELECT counted.examined, counted.passed, {columns}, v.raw, {passage}
FROM counted CROSS JOIN best AS v
{joins}
ORDER BY v.raw DESC, v.vector_id;

-- without_vector: how many rows have no vector of the model; models below and above it apart, so that an index serves
SELECT count(DISTINCT vector_id), count(DISTINCT vector_id) FILTER (WHERE NOT set_aside) FROM (
    (
        SELECT v.vector_id, false AS set_aside FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model < %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id, false FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.model > %(model)s AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
    UNION ALL (
        SELECT v.vector_id, v.set_aside AND v.model = %(model)s FROM chat_message_vectors AS v
        WHERE v.collection = %(collection)s AND v.embedding IS NULL AND v.vector_type = ANY(%(vector_types)s) {filters}
        LIMIT %(bound)s
    )
) AS other
WHERE NOT EXISTS (
    SELECT FROM chat_message_vectors AS own
    WHERE own.collection = %(collection)s AND own.vector_id = other.vector_id AND own.model = %(model)s
        AND own.embedding IS NOT NULL
);

-- containing: texts that contain another, each once however many models and passages it has
WITH found AS MATERIALIZED (
    SELECT DISTINCT ON (v.vector_id) v.*
    FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.vector_type = ANY(%(vector_types)s) AND v.number = 0 {filters}
        AND CASE WHEN v.text_id IS NULL THEN v.content ELSE (
            SELECT string_agg(part.content, '' ORDER BY part.number) FROM chat_message_vectors AS part
            WHERE part.collection = %(collection)s AND part.text_id = v.text_id AND part.model = v.model
        ) END ILIKE %(pattern)s ESCAPE '\'
    ORDER BY v.vector_id
)
SELECT (SELECT count(*) FROM found), {columns}
FROM found AS v
{joins}
ORDER BY v.created_at DESC, v.vector_id
LIMIT %(limit)s;

-- message_rows: named texts that pass the filter, each once: the row of the model, of several the nearest
SELECT DISTINCT ON (coalesce(v.text_id, v.vector_id)) {columns}, near.raw, {passage}
FROM chat_message_vectors AS v
CROSS JOIN LATERAL (
    SELECT CASE WHEN v.model = %(model)s AND v.embedding IS NOT NULL
        THEN coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) END AS raw
) AS near
{joins}
WHERE v.collection = %(collection)s AND (v.vector_id = ANY(%(vector_ids)s) OR v.text_id = ANY(%(vector_ids)s))
    AND v.vector_type = ANY(%(vector_types)s) {filters}
ORDER BY coalesce(v.text_id, v.vector_id), (v.model = %(model)s) DESC, near.raw DESC NULLS LAST, v.number;

-- sessions_of: sessions that have a row that passes the filter, up to a number
SELECT s.session_id FROM chat_sessions AS s
WHERE s.collection = %(collection)s AND EXISTS (
    SELECT FROM chat_message_vectors AS v
    WHERE v.collection = %(collection)s AND v.session_id = s.session_id AND v.vector_type = ANY(%(vector_types)s) {filters}
)
LIMIT %(limit)s;
