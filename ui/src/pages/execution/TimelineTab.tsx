/** Step runs over time: drawn, or as a table. The drawing folds idle stretches and shows the critical path. */
import { useState } from "react";
import { useLocation } from "wouter";
import { Asked, type Column, Duration, Empty, format, Icon, IS_LIVE, Status, Table } from "@/parts";
import { executionAddress } from "@/routes";
import { type TimelineRun, useRuns, useTimeline } from "./asking";
import { Gantt } from "./Gantt";
import type { TabProps } from "./index";

export default function TimelineTab({ shown }: TabProps) {
  const query = useTimeline(shown.execution_id);
  const runs = useRuns(query);
  const [isTable, setTable] = useState(false);
  const [isFolding, setFolding] = useState(true);
  const first = query.data?.pages[0];
  const more = (): void => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  if (first && !runs.length) {
    return (
      <Empty title="No step has run yet" icon="clock">
        {IS_LIVE.has(shown.status) ? "The first one appears here as soon as it is scheduled." : "The log tells why."}
      </Empty>
    );
  }
  return (
    <div className="execution-part">
      <div className="execution-bar">
        <div className="switch" role="group" aria-label="How to show it">
          <button type="button" aria-pressed={!isTable} onClick={() => setTable(false)}>
            <Icon name="runs" /> Drawing
          </button>
          <button type="button" aria-pressed={isTable} onClick={() => setTable(true)}>
            <Icon name="list" /> Table
          </button>
        </div>
        {isTable ? null : (
          <label className="execution-check">
            <input type="checkbox" checked={isFolding} onChange={(event) => setFolding(event.target.checked)} />
            Fold idle time
          </label>
        )}
        {first ? (
          <p className="execution-lead">
            <span>
              in all <Duration ms={first.duration_ms} since={first.origin} />
            </span>
            {first.critical_ms ? (
              <span>
                <span className="execution-critical-mark" aria-hidden="true" /> critical path{" "}
                {format.duration(first.critical_ms)}
              </span>
            ) : null}
            {first.is_cut ? <span>only the first runs are kept of so many</span> : null}
          </p>
        ) : null}
      </div>
      <Asked query={query} what="Laying the runs out">
        {() =>
          isTable ? (
            <RunTable id={shown.execution_id} runs={runs} onEnd={more} />
          ) : (
            <Gantt
              id={shown.execution_id}
              runs={runs}
              origin={first?.origin ?? null}
              isLive={IS_LIVE.has(shown.status)}
              isFolding={isFolding}
              isMore={query.hasNextPage}
              onMore={more}
            />
          )
        }
      </Asked>
    </div>
  );
}

function RunTable({ id, runs, onEnd }: { id: string; runs: readonly TimelineRun[]; onEnd: () => void }) {
  const [, go] = useLocation();
  return (
    <Table
      rows={runs}
      columns={COLUMNS}
      keyOf={(run) => String(run.run)}
      label="Step runs"
      height="70vh"
      onEnd={onEnd}
      onRow={(run) => go(executionAddress(id, "", { step: run.step }))}
    />
  );
}

const COLUMNS: Column<TimelineRun>[] = [
  { id: "step", title: "Step", width: "minmax(9rem, 1.5fr)", cell: (run) => run.step },
  { id: "run", title: "Run", width: "3rem", align: "end", cell: (run) => run.run, isMinor: true },
  { id: "status", title: "Status", width: "7rem", cell: (run) => <Status status={run.status} plain /> },
  {
    id: "began",
    title: "Began",
    width: "5rem",
    align: "end",
    cell: (run) => format.duration(run.started_ms ?? run.scheduled_ms),
    isMinor: true,
  },
  {
    id: "took",
    title: "Took",
    width: "5rem",
    align: "end",
    cell: (run) => (run.ended_ms === null ? "–" : format.duration(run.ended_ms - (run.started_ms ?? run.scheduled_ms))),
  },
  {
    id: "loop",
    title: "Iterations",
    width: "6rem",
    align: "end",
    cell: (run) => (run.loop ? `${format.count(run.loop.done + run.loop.failed)}/${format.count(run.loop.total)}` : ""),
    isMinor: true,
  },
  {
    id: "attempts",
    title: "Attempts",
    width: "5rem",
    align: "end",
    cell: (run) => format.count(run.attempts),
    isMinor: true,
  },
  { id: "retries", title: "Retries", width: "4rem", align: "end", cell: (run) => run.retries || "", isMinor: true },
  {
    id: "critical",
    title: "Critical",
    width: "4.5rem",
    cell: (run) => (run.is_critical ? "critical" : ""),
    isMinor: true,
  },
  {
    id: "error",
    title: "Error",
    width: "minmax(8rem, 2fr)",
    cell: (run) => <span title={run.error ?? ""}>{run.error}</span>,
    isMinor: true,
  },
];
