-- Lists: what ended when, for counts by the hour; those that no other execution called; and the executions of a path by
-- their status, so that the few that failed are found among many that did not.

CREATE INDEX execution_ended ON execution (ended_at, id) INCLUDE (status) WHERE ended_at IS NOT NULL;
CREATE INDEX execution_root ON execution (created_at, id) WHERE parent_id IS NULL;
CREATE INDEX execution_path_status ON execution (path, status, created_at, id);
DROP INDEX execution_path;
