CREATE TABLE notes (
    collection text NOT NULL,
    note_id    text NOT NULL,
    content    text NOT NULL,
    PRIMARY KEY (collection, note_id)
);
