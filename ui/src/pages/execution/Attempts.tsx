/** The attempts of a run or of one iteration, paged and virtualised; one opens with its input and output. */
import { useState } from "react";
import { Link } from "wouter";
import { Button, type Column, Data, Empty, Failure, format, Json, Loading, Status, Table } from "@/parts";
import { executionAddress } from "@/routes";
import { type AttemptRow, askAttempts, useEventAt, useMoment } from "./asking";
import { usePaged } from "./paging";

export function Attempts(props: {
  id: string;
  run: number;
  iteration: number | null;
  /** An error that stands above already, and is not said twice. */
  said?: string | null;
}) {
  const { id, run, iteration } = props;
  const paged = usePaged(
    ["execution", id, "attempts", run, iteration],
    (after, signal) => askAttempts(id, run, iteration, after, signal),
    (page) => page.attempts,
  );
  const [asked, setAsked] = useState<number | null>(null);
  if (paged.isLoading) return <Loading what="Looking for its attempts" />;
  if (paged.error && !paged.rows.length) return <Failure error={paged.error} retry={paged.retry} />;
  const chosen = paged.rows.find((row) => row.seq_started === asked) ?? defaultOf(paged.rows);
  return (
    <div className="execution-part">
      <Table
        rows={paged.rows}
        columns={COLUMNS}
        keyOf={(row) => String(row.seq_started)}
        label="Attempts"
        height="16rem"
        rowHeight={32}
        onRow={(row) => setAsked(row.seq_started)}
        rowClass={(row) => (row === chosen ? "is-chosen" : "")}
        onEnd={paged.more}
        empty={<Empty title="No attempt yet" icon="clock" />}
      />
      {chosen ? <Attempt key={chosen.seq_started} id={id} row={chosen} said={props.said ?? null} /> : null}
    </div>
  );
}

/** What one would look at first: what failed last, else the last. */
function defaultOf(rows: readonly AttemptRow[]): AttemptRow | undefined {
  return rows.findLast((row) => row.status === "error") ?? rows.at(-1);
}

const COLUMNS: Column<AttemptRow>[] = [
  {
    id: "task",
    title: "Task",
    width: "minmax(4.5rem, 1.4fr)",
    cell: (row) => <span className="mono">{row.task}</span>,
  },
  { id: "kind", title: "Kind", width: "5.5rem", cell: (row) => row.kind, isMinor: true },
  { id: "attempt", title: "Try", width: "2.5rem", align: "end", cell: (row) => row.attempt },
  { id: "status", title: "Status", width: "5rem", cell: (row) => <Status status={row.status} plain /> },
  {
    id: "took",
    title: "Took",
    width: "4.5rem",
    align: "end",
    cell: (row) => (row.ended_ms === null ? "–" : format.duration(row.ended_ms - row.started_ms)),
  },
  { id: "then", title: "Then", width: "minmax(6rem, 1fr)", cell: (row) => thenOf(row), isMinor: true },
];

/** What the pipeline did next: "retry in 2 s (rule 1)". */
export function thenOf(row: AttemptRow): string {
  if (!row.do) return "";
  const where = row.do === "jump" && row.to ? ` ${row.to}` : "";
  const wait = row.delay_seconds ? ` in ${format.duration(row.delay_seconds * 1000)}` : "";
  const rule = row.rule !== null && row.rule >= 0 ? ` (rule ${row.rule + 1})` : "";
  return `${row.do}${where}${wait}${rule}`;
}

function Attempt({ id, row, said }: { id: string; row: AttemptRow; said: string | null }) {
  const ended = useEventAt(id, row.seq_ended);
  const [side, setSide] = useState<"output" | "input">("output");
  const output = ended.data?.payload.output as Record<string, unknown> | undefined;
  return (
    <div className="execution-part">
      <div className="execution-bar">
        <div className="switch" role="group" aria-label="What to show of the attempt">
          <button type="button" aria-pressed={side === "output"} onClick={() => setSide("output")}>
            Output
          </button>
          <button type="button" aria-pressed={side === "input"} onClick={() => setSide("input")}>
            Input
          </button>
        </div>
        <span className="execution-lead">
          <Link href={executionAddress(id, "travel", { seq: row.seq_ended ?? row.seq_started })}>
            event {format.count(row.seq_ended ?? row.seq_started)}
          </Link>
          <Link href={executionAddress(id, "logs", logsQuery(row))}>its log</Link>
          {row.has_ref && row.seq_ended ? (
            <Link href={executionAddress(id, "data", { ref: row.seq_ended })}>its stored result</Link>
          ) : null}
        </span>
      </div>
      {row.error && row.error !== said ? (
        <div className="execution-error tone-bad">
          <pre>{row.error}</pre>
        </div>
      ) : null}
      {side === "input" ? (
        <Input id={id} row={row} />
      ) : row.seq_ended === null ? (
        <p className="muted">It is still running.</p>
      ) : ended.isError ? (
        <Failure error={ended.error} retry={() => void ended.refetch()} />
      ) : ended.data === undefined ? (
        <Loading what="Reading its output" />
      ) : (
        <Output output={output} />
      )}
    </div>
  );
}

function logsQuery(row: AttemptRow): Record<string, string | number> {
  return { run: row.run, task: row.task, ...(row.iteration === null ? {} : { iteration: row.iteration }) };
}

function Output({ output }: { output: Record<string, unknown> | undefined }) {
  const [isWhole, setWhole] = useState(false);
  if (!output) return <p className="muted">The event has no output.</p>;
  return (
    <>
      {isWhole || output.data === null || output.data === undefined ? (
        <Json value={output} label="output" />
      ) : (
        <Data value={output.data} label="output.data" />
      )}
      {output.data === null || output.data === undefined ? null : (
        <span>
          <Button size="s" look="quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Only its data" : "The whole envelope"}
          </Button>
        </span>
      )}
    </>
  );
}

/** The input as it was rendered: from the state that the attempt saw. */
function Input({ id, row }: { id: string; row: AttemptRow }) {
  const moment = useMoment(id, row.seq_started);
  if (moment.isError) return <Failure error={moment.error} retry={() => void moment.refetch()} />;
  if (!moment.data || moment.isPlaceholderData) return <Loading what="Rendering its input" />;
  const inputs = moment.data.inputs;
  return (
    <>
      {inputs ? <Json value={inputs[row.task] ?? inputs} label="input" /> : null}
      {moment.data.inputs_note ? <p className="muted">{moment.data.inputs_note}</p> : null}
      {!inputs && !moment.data.inputs_note ? <p className="muted">It has no input.</p> : null}
    </>
  );
}
