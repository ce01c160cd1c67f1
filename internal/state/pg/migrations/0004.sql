-- What a turn looks for is found without reading all runs that go on.
CREATE INDEX slots_free ON slots (n) WHERE run IS NULL;
CREATE INDEX slots_run ON slots (run) WHERE run IS NOT NULL;
CREATE INDEX runs_waiting ON runs (id) WHERE phase = 0 AND slot IS NULL;
CREATE INDEX runs_token ON runs (token) WHERE phase < 3;
