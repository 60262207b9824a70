-- The first schema. Run in one transaction, forward only; a later change is a file of its own with the next number.
-- Everything is made in the first schema of the search path. Times are seconds since 1970, by this database's clock.

-- What time it is, as the statement began: stable, so that an index can be searched with it.
CREATE FUNCTION now_seconds() RETURNS double precision LANGUAGE sql STABLE PARALLEL SAFE AS
    'SELECT extract(epoch FROM statement_timestamp())::double precision';

CREATE TABLE meta (
    key   text   PRIMARY KEY,
    value bigint NOT NULL
);

INSERT INTO meta (key, value) VALUES ('schema', 0), ('execution_id', 0);

CREATE TABLE catalog (
    path        text COLLATE "C" NOT NULL,
    version     integer          NOT NULL,
    sha         text             NOT NULL,
    text        bytea            NOT NULL,
    name        text             NOT NULL,
    label       text             NOT NULL,
    is_legacy   boolean          NOT NULL,
    is_upstream boolean          NOT NULL,
    created_at  double precision NOT NULL,
    PRIMARY KEY (path, version),
    UNIQUE (sha, path)
);

-- head and tag change with every append; room in the page keeps those changes off the indexes.
CREATE TABLE execution (
    id           bigint           PRIMARY KEY,
    sha          text             NOT NULL,
    path         text COLLATE "C" NOT NULL,
    version      integer          NOT NULL,
    status       text             NOT NULL,
    head         integer          NOT NULL,
    tag          bigint           NOT NULL, -- new with every append, and on the events of that append
    folder       text             NOT NULL,
    request_key  text COLLATE "C" UNIQUE,
    parent_id    bigint,
    parent_key   text COLLATE "C" UNIQUE,
    created_at   double precision NOT NULL,
    ended_at     double precision,
    digest       text             NOT NULL,
    deadline_at  double precision,          -- when somebody must look at it, at the latest
    follow_until double precision,          -- until then its server follows up what it decided
    exported     integer          NOT NULL DEFAULT 0 -- the last event that was sent to the stream (export.events)
) WITH (fillfactor = 80);

-- By age, and not by id: each server gives ids of a block of its own.
CREATE INDEX execution_status ON execution (status, created_at, id);
CREATE INDEX execution_path ON execution (path, created_at, id);
CREATE INDEX execution_created ON execution (created_at, id);
CREATE INDEX execution_parent ON execution (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX execution_deadline ON execution (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX execution_followed ON execution (follow_until) WHERE follow_until IS NOT NULL;
CREATE INDEX execution_live_child ON execution (created_at)
    WHERE parent_id IS NOT NULL AND status IN ('running', 'waiting', 'incident');

-- name, run, iter and lease are in the body too: they stand beside it for indexes and for whoever looks with SQL.
CREATE TABLE event (
    execution_id bigint  NOT NULL,
    seq          integer NOT NULL,
    name         text    NOT NULL,
    run          integer NOT NULL,
    iter         integer NOT NULL,
    lease        bigint  NOT NULL,
    tag          bigint  NOT NULL,
    body         json    NOT NULL,
    PRIMARY KEY (execution_id, seq)
);

-- The outputs of a loop by index. Without it every loop.done would read and sort the whole log: quadratic in nested loops.
CREATE INDEX event_iteration_done ON event (execution_id, run, iter, seq) WHERE name = 'loop.iteration.done';

CREATE TABLE snapshot (
    execution_id bigint  PRIMARY KEY,
    seq          integer NOT NULL,
    engine       integer NOT NULL,
    body         bytea   NOT NULL
);

-- The queue, beside the log and changed with it. Rows come and go, so pages have room and are cleaned early.
CREATE TABLE job (
    execution_id bigint           NOT NULL,
    run          integer          NOT NULL,
    iter         integer          NOT NULL,
    pool         text COLLATE "C" NOT NULL,
    priority     integer          NOT NULL,
    state        smallint         NOT NULL, -- 0 ready (from ready_at on), 1 leased, 2 parked until a child ends
    grp          integer          NOT NULL, -- the run of a local loop, whose jobs all go to one worker; 0: none
    lease        bigint           NOT NULL, -- the last one; below 0: it was given back, and no report counts under it
    deliveries   integer          NOT NULL, -- since something was last heard of it
    last_report  integer          NOT NULL, -- of that lease
    worker       text             NOT NULL,
    lease_until  double precision NOT NULL,
    ready_at     double precision NOT NULL,
    child_key    text COLLATE "C",          -- the child that it waits for
    PRIMARY KEY (execution_id, run, iter)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX job_ready ON job (pool, priority, ready_at) WHERE state = 0;
CREATE INDEX job_leased ON job (lease_until) WHERE state = 1;
CREATE INDEX job_child ON job (child_key) WHERE child_key IS NOT NULL;

-- Who has a local loop: all its jobs go to that worker, under one lease, while `until` has not passed.
CREATE TABLE holding (
    execution_id bigint           NOT NULL,
    grp          integer          NOT NULL,
    worker       text             NOT NULL,
    lease        bigint           NOT NULL,
    until        double precision NOT NULL,
    PRIMARY KEY (execution_id, grp)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

-- Small documents that are changed by compare and set: tokens, schedules, triggers, workers.
CREATE TABLE record (
    room    text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    version bigint           NOT NULL,
    body    bytea            NOT NULL,
    due_at  double precision,
    PRIMARY KEY (room, name)
);

CREATE INDEX record_due ON record (room, due_at) WHERE due_at IS NOT NULL;
