-- The first schema. Run in one transaction, forward only; a later change is a file of its own with the next number.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('schema', 0), ('execution_id', 0);

CREATE TABLE catalog (
    path        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    sha         TEXT    NOT NULL,
    text        BLOB    NOT NULL,
    name        TEXT    NOT NULL,
    label       TEXT    NOT NULL,
    is_legacy   INTEGER NOT NULL,
    is_upstream INTEGER NOT NULL,
    created_at  REAL    NOT NULL,
    PRIMARY KEY (path, version),
    UNIQUE (sha, path)
);

CREATE TABLE execution (
    id          INTEGER PRIMARY KEY,
    sha         TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    head        INTEGER NOT NULL,
    folder      TEXT    NOT NULL,
    request_key TEXT    UNIQUE,
    parent_id   INTEGER,
    parent_key  TEXT    UNIQUE,
    created_at  REAL    NOT NULL,
    ended_at    REAL,
    digest      TEXT    NOT NULL
);

CREATE INDEX execution_status ON execution (status, id);
CREATE INDEX execution_parent ON execution (parent_id, id) WHERE parent_id IS NOT NULL;

-- What a commit added to a log, as one JSON array of events, compressed where that pays (sqlite_blocks.py).
CREATE TABLE event_block (
    execution_id INTEGER NOT NULL,
    last_seq     INTEGER NOT NULL,
    body         BLOB    NOT NULL,
    PRIMARY KEY (execution_id, last_seq)
);

-- The outputs of a loop by index. Without it every loop.done would read and sort the whole log: quadratic in nested loops.
CREATE TABLE iteration_done (
    execution_id INTEGER NOT NULL,
    run          INTEGER NOT NULL,
    iter         INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    PRIMARY KEY (execution_id, run, iter, seq)
) WITHOUT ROWID;

CREATE TABLE snapshot (
    execution_id INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL,
    engine       INTEGER NOT NULL,
    body         BLOB    NOT NULL
);
