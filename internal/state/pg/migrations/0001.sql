CREATE TABLE replicas (
    id      bigserial PRIMARY KEY, -- a new one for each process: no run is ever owned by a namesake
    address text NOT NULL,
    version text NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE conversations (
    id       uuid PRIMARY KEY,
    token    text NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    used_at  timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE runs (
    id           bigserial PRIMARY KEY,
    token        text NOT NULL,
    key          bytea, -- a hash of the idempotency key; NULL: the client gave none
    print        bytea NOT NULL,
    conv         uuid NOT NULL,
    seq          bigint NOT NULL,
    phase        smallint NOT NULL DEFAULT 0, -- 0 queued, 1 sending, 2 running, 3 ended
    owner        bigint NOT NULL,
    epoch        bigint NOT NULL DEFAULT 1,
    slot         int,
    request      bytea,
    baseline     bytea,
    result       bytea,
    stop         text NOT NULL DEFAULT '',
    revision     text NOT NULL DEFAULT '',
    failed       boolean NOT NULL DEFAULT false,
    owed         int NOT NULL DEFAULT 0,
    made_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz,
    deliveries   int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    first_at     timestamptz
);
CREATE UNIQUE INDEX runs_key ON runs (token, key) WHERE key IS NOT NULL;
CREATE INDEX runs_print ON runs (print) WHERE key IS NULL;
CREATE INDEX runs_owner ON runs (owner) WHERE phase < 3;
CREATE INDEX runs_lane ON runs (conv, seq) WHERE phase < 3;
CREATE INDEX runs_ended ON runs (ended_at) WHERE phase = 3;
-- The database itself holds that a conversation has one run at a time.
CREATE UNIQUE INDEX runs_one ON runs (conv) WHERE phase IN (1, 2);
-- A free slot is a row without a run: no counter to drift.
CREATE TABLE slots (
    n   int PRIMARY KEY,
    run bigint
);
CREATE TABLE usage (
    token text NOT NULL,
    day   date NOT NULL,
    runs  bigint NOT NULL DEFAULT 0,
    units bigint NOT NULL DEFAULT 0, -- tokens of language models
    cost  double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (token, day)
);
-- What is read as a whole and changed rarely: the tokens of clients.
CREATE TABLE documents (
    name     text PRIMARY KEY,
    revision bigint NOT NULL DEFAULT 0,
    data     bytea
);
CREATE TABLE records (
    kind    text NOT NULL,
    name    text COLLATE "C" NOT NULL,
    data    bytea NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, name)
);
