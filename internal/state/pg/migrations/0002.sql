-- Gateways that have clients for a run of another one.
CREATE TABLE watchers (
    run     bigint NOT NULL,
    replica bigint NOT NULL,
    n       int NOT NULL,
    PRIMARY KEY (run, replica)
);
-- Since when a run that waits is known to have no gateway.
ALTER TABLE runs ADD COLUMN alone_at timestamptz;
