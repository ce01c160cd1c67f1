-- Whether the session of a gateway holds a lock for as long as it lives.
ALTER TABLE replicas ADD COLUMN locked boolean NOT NULL DEFAULT true;
