-- registered: the records that count
SELECT document, record FROM module_register
WHERE collection = %(collection)s AND document = ANY(%(documents)s);

-- register: have other records count
INSERT INTO module_register (collection, document, record)
SELECT %(collection)s, document, %(record)s FROM unnest(%(documents)s::text[]) AS document
ORDER BY document
ON CONFLICT (collection, document) DO UPDATE SET record = excluded.record;

-- strike: have no record count
DELETE FROM module_register WHERE collection = %(collection)s AND document = ANY(%(documents)s);
