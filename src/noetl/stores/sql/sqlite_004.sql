-- What ended when, for counts by the hour.

CREATE INDEX execution_ended ON execution (ended_at, status) WHERE ended_at IS NOT NULL;
