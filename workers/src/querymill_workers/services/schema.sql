-- Vectors of single texts, as `embed` jobs store them.
CREATE TABLE text_vectors (
    collection   text        NOT NULL,
    text_id      text        NOT NULL,
    model        text        NOT NULL,
    content_hash text        NOT NULL,  -- of the embedded text: the same text again is not embedded again
    embedding    any_vector  NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    document     text,                  -- that a caller says the text is a part of: the vector is dropped with it
    PRIMARY KEY (collection, text_id, model)
);
CREATE INDEX text_vectors_document ON text_vectors (collection, document) WHERE document IS NOT NULL;
CREATE INDEX text_vectors_content ON text_vectors (collection, content_hash);
