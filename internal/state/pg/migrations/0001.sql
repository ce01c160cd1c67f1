CREATE TABLE replicas (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- a new one for each process: no run has an owner of the same name
    address text NOT NULL,
    version text NOT NULL,
    locked  boolean NOT NULL, -- its session holds a lock for as long as it lives
    seen_at timestamptz NOT NULL DEFAULT now()
);
-- How many runs go on at all gateways together.
CREATE TABLE limits (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    runs int NOT NULL
);
INSERT INTO limits (runs) VALUES (0);
-- A free slot is a row without a run: no counter can be wrong.
CREATE TABLE slots (
    n   int PRIMARY KEY,
    run bigint
);
CREATE INDEX slots_free ON slots (n) WHERE run IS NULL;
CREATE INDEX slots_run ON slots (run) WHERE run IS NOT NULL;
CREATE TABLE conversations (
    id       uuid PRIMARY KEY,
    token    text NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    used_at  timestamptz NOT NULL DEFAULT now(),
    once     boolean NOT NULL DEFAULT false, -- no client asked to keep it
    ends_at  timestamptz, -- of such a one; NULL: some time after its last run
    tries    int NOT NULL DEFAULT 0 -- removals that failed
);
CREATE INDEX conversations_once ON conversations (ends_at) WHERE once;
CREATE SEQUENCE run_numbers;
CREATE TABLE runs (
    id           bigint PRIMARY KEY,
    token        text NOT NULL,
    key          bytea, -- a hash of the idempotency key; NULL: the client gave none
    print        bytea NOT NULL,
    conv         uuid NOT NULL,
    seq          bigint NOT NULL,
    phase        smallint NOT NULL DEFAULT 0, -- 0 queued, 1 sending, 2 running, 3 ended
    owner        bigint NOT NULL,
    epoch        bigint NOT NULL DEFAULT 1,
    slot         int,
    alone_at     timestamptz, -- since when a run that waits is known to have no gateway
    request      bytea,
    baseline     bytea,
    result       bytea,
    stop         text NOT NULL DEFAULT '',
    revision     text NOT NULL DEFAULT '',
    failed       boolean NOT NULL DEFAULT false,
    owed         int NOT NULL DEFAULT 0,
    usage        jsonb, -- what language models have taken for it so far
    made_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz,
    deliveries   int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    first_at     timestamptz
);
CREATE UNIQUE INDEX runs_key ON runs (token, key) WHERE key IS NOT NULL;
CREATE INDEX runs_print ON runs (print) WHERE key IS NULL;
CREATE INDEX runs_owner ON runs (owner) WHERE phase < 3;
CREATE INDEX runs_token ON runs (token) WHERE phase < 3;
CREATE INDEX runs_lane ON runs (conv, seq) WHERE phase < 3;
CREATE INDEX runs_waiting ON runs (id) WHERE phase = 0 AND slot IS NULL;
CREATE INDEX runs_past ON runs (conv) WHERE phase = 3;
CREATE INDEX runs_ended_keyed ON runs (ended_at) WHERE phase = 3 AND key IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at) WHERE phase = 3 AND key IS NULL;
-- The database itself holds that a conversation has one run at a time.
CREATE UNIQUE INDEX runs_one ON runs (conv) WHERE phase IN (1, 2);
-- Gateways that have clients for a run of another one.
CREATE TABLE watchers (
    run     bigint NOT NULL,
    replica bigint NOT NULL,
    n       int NOT NULL,
    PRIMARY KEY (run, replica)
);
CREATE TABLE owners (
    conv  uuid PRIMARY KEY,
    token text NOT NULL
);
-- The agent-servers of a pool. A state of up, drain or lost; one that drains stays so.
CREATE TABLE servers (
    id         text PRIMARY KEY,
    url        text NOT NULL,
    state      text NOT NULL DEFAULT 'up',
    slots      int NOT NULL,
    misses     int NOT NULL DEFAULT 0, -- missing answers in a row
    error      text NOT NULL DEFAULT '',
    checked_at timestamptz
);
-- Which of them has a conversation.
CREATE TABLE placements (
    conv      uuid PRIMARY KEY,
    server    text NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now()
);
