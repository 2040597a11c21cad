-- put_note: store a note in place of the one with its id
INSERT INTO notes (collection, note_id, content) VALUES (%(collection)s, %(note_id)s, %(content)s)
ON CONFLICT (collection, note_id) DO UPDATE SET content = excluded.content;

-- note_texts: the texts of those notes that are stored
SELECT note_id, content FROM notes WHERE collection = %(collection)s AND note_id = ANY(%(note_ids)s);

-- note_collections: the collections that hold a note
SELECT DISTINCT collection FROM notes ORDER BY collection;
