-- set_aside: set texts aside; one that is aside already gets the new reason
INSERT INTO set_aside (collection, kind, document, passage, model, reason)
SELECT %(collection)s, %(kind)s, refused.*
FROM unnest(%(documents)s::text[], %(passages)s::text[], %(models)s::text[], %(reasons)s::text[]) AS refused
ON CONFLICT (collection, kind, document, passage, model) DO UPDATE SET reason = excluded.reason, at = now();

-- take_back: drop the entries of some documents or of all, by one model or by all
DELETE FROM set_aside
WHERE collection = %(collection)s AND kind = %(kind)s
    AND (%(documents)s::text[] IS NULL OR document = ANY(%(documents)s))
    AND (%(model)s::text IS NULL OR model = %(model)s);

-- aside: entries in the order of their keys, those behind one if it is given
SELECT kind, document, passage, model, reason, at FROM set_aside
WHERE collection = %(collection)s AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    AND (%(k)s::text IS NULL OR (kind, document, passage, model) > (%(k)s, %(d)s, %(p)s, %(m)s))
ORDER BY kind, document, passage, model
LIMIT %(limit)s;

-- aside_counts: how many entries each kind has
SELECT kind, count(*) FROM set_aside WHERE collection = %(collection)s GROUP BY kind;
