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
