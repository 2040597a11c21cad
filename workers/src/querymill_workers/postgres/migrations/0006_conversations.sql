-- Conversations, how they refer to each other, and their ranks.

-- generation rises with every change of sessions or ranks, in the same transaction: caches are keyed by it.
-- Holds names and counts only, and is read over all collections: no row-level security.
CREATE TABLE conversation_collections (
    collection text        PRIMARY KEY,
    generation bigint      NOT NULL DEFAULT 0,
    sessions   bigint      NOT NULL DEFAULT 0,
    updates    bigint      NOT NULL DEFAULT 0,        -- how often ranks were brought up to date
    version    bigint      NOT NULL DEFAULT 0,        -- of the references and ranks in force
    mode       text        NOT NULL DEFAULT 'count' CHECK (mode IN ('count', 'pagerank')),
    rebuilt_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE conversations (
    collection    text        NOT NULL,
    session_id    text COLLATE "C" NOT NULL,
    number        bigint      GENERATED ALWAYS AS IDENTITY,
    name          text,
    user_name     text,
    started_at    timestamptz NOT NULL,
    last_active   timestamptz NOT NULL,
    times         timestamptz[] NOT NULL,              -- of the messages
    document      text        NOT NULL,                -- the session as it was taken in
    revision      text        NOT NULL,
    messages      integer     NOT NULL,
    keywords      integer     NOT NULL,
    solved        boolean     NOT NULL,
    explicit      boolean     NOT NULL,                -- speaks of an earlier session in so many words
    phrases       bigint[]    NOT NULL,                -- its key phrases
    lead_phrases  bigint[]    NOT NULL,                -- those by which an implicit reference to it is looked for
    facts_version text        NOT NULL,
    PRIMARY KEY (collection, session_id)
);
CREATE UNIQUE INDEX conversations_number ON conversations (number);
CREATE INDEX conversations_active ON conversations (collection, last_active);
CREATE INDEX conversations_facts ON conversations (collection, facts_version);

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

-- Edges of the graph, a version beside the one in force while a rebuild is drafted.
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

-- The second wall, as for messages (0004): the role sees one collection only.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversation_collections, conversations, conversation_phrases, conversation_changes, conversation_references,
    conversation_ranks, conversation_rebuilds, conversation_rebuild_parts TO querymill_messages;
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation_references ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation_ranks ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversations FORCE ROW LEVEL SECURITY;
ALTER TABLE conversation_references FORCE ROW LEVEL SECURITY;
ALTER TABLE conversation_ranks FORCE ROW LEVEL SECURITY;
CREATE POLICY own_collection ON conversations USING (collection = current_setting('querymill.collection', true));
CREATE POLICY own_collection ON conversation_references
    USING (collection = current_setting('querymill.collection', true));
CREATE POLICY own_collection ON conversation_ranks USING (collection = current_setting('querymill.collection', true));
