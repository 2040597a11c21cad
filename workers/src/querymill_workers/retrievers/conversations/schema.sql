-- Conversations, their live messages and passages, how they refer to each other, and their ranks.

CREATE TABLE conversations (
    collection    text        NOT NULL,
    session_id    text COLLATE "C" NOT NULL,
    number        bigint      GENERATED ALWAYS AS IDENTITY,
    name          text,
    user_name     text,
    started_at    timestamptz NOT NULL,
    last_active   timestamptz NOT NULL,
    document      text        NOT NULL,                -- the session as it was ingested
    revision      text        NOT NULL,
    messages      integer     NOT NULL,
    keywords      integer     NOT NULL,
    solved        boolean     NOT NULL,
    explicit      boolean     NOT NULL,                -- speaks of an earlier session in so many words
    phrases       bigint[]    NOT NULL,                -- its key phrases
    lead_phrases  bigint[]    NOT NULL,                -- those by which an implicit reference to it is looked for
    facts_version text        NOT NULL,
    -- Live messages are stored beside the whole session, each with the version that wrote it, so that writes commute.
    whole         boolean     NOT NULL DEFAULT true,   -- document is a session that was put whole; if not, all are live
    said          jsonb       NOT NULL DEFAULT '{}',   -- what updates said of the session since, with versions
    sketch        json,                                -- what facts are found from without the texts
    metadata      jsonb       NOT NULL DEFAULT '{}',
    PRIMARY KEY (collection, session_id)
);
CREATE UNIQUE INDEX conversations_number ON conversations (number);
CREATE INDEX conversations_facts ON conversations (collection, facts_version);
ALTER TABLE conversations
    ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN user_name SET STATISTICS 0, ALTER COLUMN document SET STATISTICS 0,
    ALTER COLUMN said SET STATISTICS 0, ALTER COLUMN sketch SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- A message that a later write replaced has an empty text; its place stays.
CREATE TABLE conversation_messages (
    collection  text    COLLATE "C" NOT NULL,
    session_id  text    COLLATE "C" NOT NULL,
    accepted_us bigint  NOT NULL,
    job_id      text    COLLATE "C" NOT NULL,
    place       integer NOT NULL,                      -- within the update
    signs       smallint NOT NULL,                     -- of a solved problem, and of an earlier session
    message     json    NOT NULL,
    PRIMARY KEY (collection, session_id, accepted_us, job_id, place)
);
-- As for the largest versions of documents: see the schema of `versions`.
CREATE INDEX conversation_messages_accepted ON conversation_messages USING brin (accepted_us) WITH (autosummarize = on);
ALTER TABLE conversation_messages ALTER COLUMN message SET STATISTICS 0;

-- key: the hash of what is embedded and where it begins, so that a passage that stays as it is keeps its vectors.
CREATE TABLE conversation_passages (
    collection text        COLLATE "C" NOT NULL,
    session_id text        COLLATE "C" NOT NULL,
    key        text        COLLATE "C" NOT NULL,
    number     integer     NOT NULL,              -- within the session
    place      integer     NOT NULL,              -- of its first message within the session
    message    text        NOT NULL,              -- the key of that message
    start      integer     NOT NULL,              -- where the passage begins in it
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    text       text        NOT NULL,
    PRIMARY KEY (collection, session_id, key),
    FOREIGN KEY (collection, session_id) REFERENCES conversations (collection, session_id) ON DELETE CASCADE
);
ALTER TABLE conversation_passages ALTER COLUMN message SET STATISTICS 0, ALTER COLUMN text SET STATISTICS 0;

-- One row for each model: the vectors of another model are stored beside the ones that searches compare.
CREATE TABLE conversation_vectors (
    collection text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    embedding  any_vector,  -- null: the model's provider refused the text
    refused    text,        -- why
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, model, session_id, key),
    FOREIGN KEY (collection, session_id, key)
        REFERENCES conversation_passages (collection, session_id, key) ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);  -- in the row if the row fits a page, for every dimension that does
ALTER TABLE conversation_vectors ALTER COLUMN embedding SET STORAGE EXTERNAL, ALTER COLUMN refused SET STATISTICS 0;
CREATE INDEX conversation_vectors_passage ON conversation_vectors (collection, session_id, key);

-- generation: rises with every change of sessions or ranks, in the same transaction; caches are keyed by it.
-- Names and counts only. No wall: the daily rebuild reads them over all collections.
CREATE TABLE conversation_collections (
    collection text        PRIMARY KEY,
    generation bigint      NOT NULL DEFAULT 0,
    sessions   bigint      NOT NULL DEFAULT 0,
    updates    bigint      NOT NULL DEFAULT 0,        -- how often ranks were brought up to date
    version    bigint      NOT NULL DEFAULT 0,        -- of the references and ranks in force
    mode       text        NOT NULL DEFAULT 'count' CHECK (mode IN ('count', 'pagerank')),
    rebuilt_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Postings of key phrases: hashes and numbers, read by the index alone.
CREATE TABLE conversation_phrases (
    collection text     NOT NULL,
    phrase     bigint   NOT NULL,
    session    bigint   NOT NULL,
    size       smallint NOT NULL,                      -- key phrases of the session
    leads      boolean  NOT NULL,
    explicit   boolean  NOT NULL,
    PRIMARY KEY (collection, phrase, session) INCLUDE (size)
);
CREATE INDEX conversation_phrases_leading ON conversation_phrases (collection, phrase, session) WHERE leads;
CREATE INDEX conversation_phrases_explicit ON conversation_phrases (collection, phrase, session) WHERE explicit;

-- The last change of each session, dropped ones too.
CREATE TABLE conversation_changes (
    collection text    NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    generation bigint  NOT NULL,
    waiting    boolean NOT NULL DEFAULT true,          -- for its ranks to be brought up to date
    PRIMARY KEY (collection, session_id)
);
CREATE INDEX conversation_changes_waiting ON conversation_changes (collection, generation) WHERE waiting;
ALTER TABLE conversation_changes ALTER COLUMN session_id SET STATISTICS 0;

-- Edges of the graph: a rebuild drafts a version beside the active one.
CREATE TABLE conversation_references (
    collection text     NOT NULL,
    version    bigint   NOT NULL,
    source     text COLLATE "C" NOT NULL,
    target     text COLLATE "C" NOT NULL,
    kind       text     NOT NULL CHECK (kind IN ('explicit', 'implicit')),
    shared     smallint NOT NULL,
    size       smallint NOT NULL,
    -- The version last: a young one is not in the planner's statistics, and must not look like a way to few rows.
    PRIMARY KEY (collection, source, target, kind, version)
);
CREATE INDEX conversation_references_target ON conversation_references (collection, target, version);

CREATE TABLE conversation_ranks (
    collection text NOT NULL,
    version    bigint NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    base       double precision NOT NULL,
    depth      double precision NOT NULL,
    reference  double precision NOT NULL,
    quality    double precision NOT NULL,
    referred   double precision NOT NULL,              -- what the references to it count
    PRIMARY KEY (collection, session_id, version)
) WITH (fillfactor = 80);

CREATE TABLE conversation_rebuilds (
    collection text    NOT NULL,
    rebuild    text    NOT NULL,
    version    bigint  GENERATED ALWAYS AS IDENTITY,
    mode       text    NOT NULL,
    since      bigint  NOT NULL,                       -- the generation that it begins with
    sessions   integer,                                -- once it is in force
    edges      integer,
    begun_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (collection, rebuild)
);

CREATE TABLE conversation_rebuild_parts (
    collection text    NOT NULL,
    version    bigint  NOT NULL,
    part       integer NOT NULL,
    PRIMARY KEY (collection, version, part)
);
