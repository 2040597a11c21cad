-- Vectors of single texts, as `embed` jobs file them. {dimensions} is the embedding model's.
CREATE TABLE text_vectors (
    collection   text        NOT NULL,
    text_id      text        NOT NULL,
    model        text        NOT NULL,
    content_hash text        NOT NULL,  -- of what was embedded: the same again is not embedded again
    embedding    vector({dimensions}) NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, text_id, model)
);
