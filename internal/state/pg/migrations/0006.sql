-- A one-shot: nobody asked to keep the conversation. It is removed at ends_at; without
-- that, some time after its last run.
ALTER TABLE conversations ADD COLUMN once boolean NOT NULL DEFAULT false;
ALTER TABLE conversations ADD COLUMN ends_at timestamptz;
ALTER TABLE conversations ADD COLUMN tries int NOT NULL DEFAULT 0; -- removals that failed
CREATE INDEX conversations_once ON conversations (ends_at) WHERE once;
CREATE INDEX runs_past ON runs (conv) WHERE phase = 3;
CREATE TABLE owners (
    conv  uuid PRIMARY KEY,
    token text NOT NULL
);
-- Counts the writes of a record, for those that are changed by several gateways.
ALTER TABLE records ADD COLUMN rev bigint NOT NULL DEFAULT 1;
CREATE TABLE chats (
    key     text PRIMARY KEY,
    rev     bigint NOT NULL DEFAULT 1,
    record  bytea NOT NULL,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX chats_used ON chats (used_at);
-- Conversations whose request named no chat, by what was said last in them.
CREATE TABLE loose (
    id     bigserial PRIMARY KEY,
    place  text NOT NULL, -- the token and the model
    words  text[] NOT NULL,
    record bytea NOT NULL,
    until  timestamptz NOT NULL
);
CREATE INDEX loose_place ON loose (place);
CREATE INDEX loose_until ON loose (until);
-- The place after a response, for the request that goes on from it.
CREATE TABLE claims (
    response text PRIMARY KEY,
    owner    bigint NOT NULL
);
-- Responses by what was said up to their end.
CREATE TABLE spoken (
    id       text PRIMARY KEY,
    token    text NOT NULL,
    conv     text NOT NULL,
    words    text[] NOT NULL,
    record   bytea NOT NULL,
    next     text NOT NULL DEFAULT '',
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX spoken_words ON spoken USING gin (words);
CREATE INDEX spoken_ended ON spoken (ended_at);
CREATE INDEX spoken_conv ON spoken (conv);
-- What a run that goes on has taken so far.
ALTER TABLE runs ADD COLUMN units bigint NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cost double precision NOT NULL DEFAULT 0;
-- As usage, for limits by the hour.
CREATE TABLE usage_hours (
    token text NOT NULL,
    hour  timestamptz NOT NULL,
    units bigint NOT NULL DEFAULT 0,
    cost  double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (token, hour)
);
-- What one gateway does for all, now and then.
CREATE TABLE chores (
    name    text PRIMARY KEY,
    done_at timestamptz NOT NULL
);
