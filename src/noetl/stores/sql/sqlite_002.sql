-- Small documents beside the log, changed by compare and set; and the list of one playbook's executions.

CREATE TABLE record (
    room    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    due_at  REAL,
    PRIMARY KEY (room, name)
) WITHOUT ROWID;

CREATE INDEX record_due ON record (room, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX execution_path ON execution (path, id);
