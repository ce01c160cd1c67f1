-- Chats of UIs, as the gateways decided last. The revision keeps two of them from deciding at once.
CREATE TABLE chats (
    key     text PRIMARY KEY,
    rev     bigint NOT NULL DEFAULT 1,
    record  bytea NOT NULL,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX chats_used ON chats (used_at);
-- Conversations whose requests named no chat, by hashes of what was said last in them.
CREATE TABLE loose (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    place  text NOT NULL, -- a hash of the token and the model
    words  text[] NOT NULL,
    record bytea NOT NULL,
    until  timestamptz NOT NULL
);
CREATE INDEX loose_place ON loose (place, id);
CREATE INDEX loose_until ON loose (until);
