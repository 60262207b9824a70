/** What went in and what came out: workload, output, ctx, and results that are kept outside the log. */
import { useState } from "react";
import { useSearchParams } from "wouter";
import { Asked, Button, Command, Data, Empty, Failure, Field, format, Loading, Section } from "@/parts";
import { type AttemptRow, askAttempts, useMoment } from "./asking";
import type { TabProps } from "./index";
import { usePaged } from "./paging";
import { Reference } from "./Reference";
import { isViewing } from "./viewing";

export default function DataTab({ shown }: TabProps) {
  const id = shown.execution_id;
  const moment = useMoment(id, null);
  return (
    <div className="execution-data">
      <div className="execution-part">
        <Section title="Input (workload)">
          <Asked query={moment} what="Reading the workload">
            {(data) => <Value value={data.workload} name="workload" none="The playbook has no workload." />}
          </Asked>
        </Section>
        <Section title="ctx">
          <Value value={shown.ctx} name="ctx" none="Nothing was written to ctx." />
        </Section>
      </div>
      <div className="execution-part">
        <Section title="Output" actions={isViewing(id) ? null : <Command words={["show", id, "--format", "json"]} />}>
          <Output output={shown.output} isEnded={shown.ended_at !== null} />
        </Section>
        <Section title="Stored results">
          <References id={id} />
        </Section>
      </div>
    </div>
  );
}

function Value({ value, name, none }: { value: unknown; name: string; none: string }) {
  const isEmpty = value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length);
  return isEmpty ? <p className="muted">{none}</p> : <Data value={value} label={name} />;
}

function Output({ output, isEnded }: { output: Record<string, unknown> | null; isEnded: boolean }) {
  const [isWhole, setWhole] = useState(false);
  if (!output) {
    return (
      <p className="muted">
        {isEnded ? "It gave no output." : "There is none yet: it is the output of the last step."}
      </p>
    );
  }
  const hasData = output.data !== null && output.data !== undefined;
  return (
    <div className="execution-part">
      {isWhole || !hasData ? <Data value={output} label="output" /> : <Data value={output.data} label="output.data" />}
      {hasData ? (
        <span>
          <Button size="s" look="quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Only its data" : "The whole envelope"}
          </Button>
        </span>
      ) : null}
    </div>
  );
}

/** Attempts whose data was too large for the log. They are looked for page by page, as far as one wants. */
function References({ id }: { id: string }) {
  const [search] = useSearchParams();
  const given = Number(search.get("ref")) || null;
  const [typed, setTyped] = useState(given ? String(given) : "");
  const [seq, setSeq] = useState(given);
  const paged = usePaged(
    ["execution", id, "attempts", null, null],
    (after, signal) => askAttempts(id, null, null, after, signal),
    (page) => page.attempts,
  );
  const found = paged.rows.filter((row) => row.has_ref && row.seq_ended !== null);
  if (paged.isLoading) return <Loading what="Looking for references" />;
  if (paged.error && !paged.rows.length) return <Failure error={paged.error} retry={paged.retry} />;
  return (
    <div className="execution-part">
      {found.length ? (
        <ul className="execution-list">
          {found.map((row) => (
            <ReferenceRow key={row.seq_started} id={id} row={row} isOpen={seq === row.seq_ended} onOpen={setSeq} />
          ))}
        </ul>
      ) : (
        <Empty title="No result is kept outside the log" icon="download">
          Payloads that do not fit into an event are stored apart, and would be listed here with a preview.
        </Empty>
      )}
      {paged.isMore ? (
        <p className="execution-lead">
          <span>looked at {format.plural(paged.rows.length, "attempt")}</span>
          <Button size="s" onClick={paged.more}>
            Look further
          </Button>
        </p>
      ) : null}
      <details className="execution-more" open={given !== null}>
        <summary>Open the reference of another event</summary>
        <div className="execution-bar">
          <Field label="Number of the event" id="reference-seq">
            <input
              id="reference-seq"
              type="number"
              min={1}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </Field>
          <Button onClick={() => setSeq(Number(typed) || null)}>Open</Button>
        </div>
        {seq !== null && !found.some((row) => row.seq_ended === seq) ? <Reference key={seq} id={id} seq={seq} /> : null}
      </details>
    </div>
  );
}

function ReferenceRow(props: { id: string; row: AttemptRow; isOpen: boolean; onOpen: (seq: number | null) => void }) {
  const { id, row, isOpen } = props;
  const seq = row.seq_ended as number;
  return (
    <li className="execution-part">
      <div className="execution-bar">
        <span className="execution-lead">
          <span>
            task <code>{row.task}</code>
            {row.iteration === null ? "" : `, iteration ${row.iteration}`}
          </span>
          <span>event {format.count(seq)}</span>
        </span>
        <Button size="s" aria-expanded={isOpen} onClick={() => props.onOpen(isOpen ? null : seq)}>
          {isOpen ? "Close" : "Preview"}
        </Button>
      </div>
      {isOpen ? <Reference id={id} seq={seq} /> : null}
    </li>
  );
}
