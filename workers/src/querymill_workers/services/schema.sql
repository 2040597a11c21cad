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

-- What people said of hits: which documents are relevant to a question.
CREATE TABLE judgements (
    collection text        NOT NULL,
    retriever  text        NOT NULL,
    job        text        NOT NULL,  -- the search
    hit        text        NOT NULL,
    document   text        NOT NULL,  -- that the hit is a part of: the judgement is deleted with it
    place      text        NOT NULL,  -- a page of a report, the id of a message, or ''
    asked      jsonb       NOT NULL,  -- the request of the search
    relevance  smallint    NOT NULL,
    comment    text        NOT NULL,
    given_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, retriever, job, hit)
);
CREATE INDEX judgements_document ON judgements (collection, retriever, document);
ALTER TABLE judgements ALTER COLUMN asked SET STATISTICS 0, ALTER COLUMN comment SET STATISTICS 0;
