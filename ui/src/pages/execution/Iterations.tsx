/** The iterations of a loop: counts as filters, rows paged and virtualised, one opens its attempts. */
import { useState } from "react";
import { type Column, Empty, Failure, format, Loading, lookOf, Status, Table } from "@/parts";
import { Attempts } from "./Attempts";
import { askIterations, type IterationRow, type TimelineRun } from "./asking";
import { usePaged } from "./paging";

const STATUSES = ["failed", "in_flight", "done", "cancelled", "not_started"] as const;

/** `run` is that of the loop; a loop inside another has a run of its own. */
export function Iterations({ id, run, loop }: { id: string; run: number; loop: TimelineRun["loop"] }) {
  const [status, setStatus] = useState<IterationRow["status"] | null>(loop?.failed ? "failed" : null);
  const [asked, setAsked] = useState<number | null>(null);
  const paged = usePaged(
    ["execution", id, "iterations", run, status],
    (after, signal) => askIterations(id, run, status, after, signal),
    (page) => page.iterations,
  );
  const chosen = paged.rows.find((row) => row.iteration === asked) ?? null;
  const counts = paged.first?.counts;
  if (paged.error && !paged.rows.length) return <Failure error={paged.error} retry={paged.retry} />;
  return (
    <div className="execution-part">
      <div className="execution-chips" role="group" aria-label="Which iterations">
        <button type="button" className="chip" aria-pressed={status === null} onClick={() => setStatus(null)}>
          all {format.count(paged.first?.total ?? loop?.total ?? 0)}
        </button>
        {STATUSES.filter((one) => !counts || counts[one] > 0 || one === status).map((one) => (
          <button
            type="button"
            key={one}
            className="chip"
            aria-pressed={status === one}
            onClick={() => setStatus(status === one ? null : one)}
          >
            <Status status={one} plain word={`${lookOf(one).word} ${counts ? format.count(counts[one]) : ""}`} />
          </button>
        ))}
      </div>
      {paged.isLoading ? (
        <Loading what="Looking for its iterations" />
      ) : (
        <Table
          rows={paged.rows}
          columns={COLUMNS}
          keyOf={(row) => String(row.iteration)}
          label="Iterations"
          height="18rem"
          rowHeight={30}
          onRow={(row) => setAsked(row.iteration)}
          rowClass={(row) => (row === chosen ? "is-chosen" : "")}
          onEnd={paged.more}
          empty={<Empty title={`No iteration is ${status ? lookOf(status).word : "there"}`} icon="loop" />}
        />
      )}
      {chosen ? (
        <div className="execution-part">
          <h3>Iteration {chosen.iteration}</h3>
          {chosen.error ? (
            <div className="execution-error tone-bad">
              <pre>{chosen.error}</pre>
            </div>
          ) : null}
          {chosen.inner_run === null ? (
            <Attempts key={chosen.iteration} id={id} run={run} iteration={chosen.iteration} said={chosen.error} />
          ) : (
            <Iterations key={chosen.inner_run} id={id} run={chosen.inner_run} loop={null} />
          )}
        </div>
      ) : null}
    </div>
  );
}

const COLUMNS: Column<IterationRow>[] = [
  {
    id: "iteration",
    title: "Iteration",
    width: "5rem",
    cell: (row) => <span className="mono">{row.iteration}</span>,
  },
  { id: "status", title: "Status", width: "7rem", cell: (row) => <Status status={row.status} plain /> },
  {
    id: "began",
    title: "Began",
    width: "5rem",
    align: "end",
    cell: (row) => (row.started_ms === null ? "–" : format.duration(row.started_ms)),
    isMinor: true,
  },
  {
    id: "took",
    title: "Took",
    width: "5rem",
    align: "end",
    cell: (row) =>
      row.started_ms === null || row.ended_ms === null ? "–" : format.duration(row.ended_ms - row.started_ms),
  },
  { id: "attempts", title: "Tries", width: "3rem", align: "end", cell: (row) => row.attempts, isMinor: true },
  {
    id: "error",
    title: "Error",
    width: "minmax(8rem, 1fr)",
    cell: (row) => <span title={row.error ?? ""}>{row.error}</span>,
  },
];
