/** Asks before it acts on several executions, shows the same as command lines, and then what became of each. */
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { Button, Copy, Dialog, Failure, Field, format, Icon } from "@/parts";
import { executionAddress } from "@/routes";
import { ACTIONS, type Action, applies, parts, wordsOf } from "./bulk";
import type { Row } from "./filters";

const LINES_SHOWN = 6;
type Result = Schemas["BulkRow"];

export function BulkDialog(props: { action: Action; rows: readonly Row[]; onClose: (isDone: boolean) => void }) {
  const { action, rows, onClose } = props;
  const words = ACTIONS[action];
  const may = useMay()("runner");
  const [reason, setReason] = useState("");
  const [fromFailed, setFromFailed] = useState(false);
  const wanted = rows.filter((row) => applies(action, row));
  const [key] = useState(randomKey);
  const acting = useMutation({ mutationFn: () => act(action, wanted, { reason, fromFailed }, key) });
  const counted = format.plural(wanted.length, "execution");
  if (acting.data) {
    return (
      <Dialog title={`${words.title}: what became of each`} isOpen onClose={() => onClose(true)}>
        <Results results={acting.data} rows={rows} done={words.done} />
      </Dialog>
    );
  }
  const isNothing = wanted.length === 0;
  return (
    <Dialog
      title={`${words.doing} ${counted}?`}
      isOpen
      onClose={() => onClose(false)}
      onSubmit={() => !isNothing && may.is && !acting.isPending && acting.mutate()}
      actions={
        <>
          <Button onClick={() => onClose(false)}>Leave them</Button>
          <Button
            type="submit"
            look={action === "cancel" ? "danger" : "main"}
            may={may}
            busy={acting.isPending}
            disabled={isNothing}
          >
            {words.doing} {counted}
          </Button>
        </>
      }
    >
      <p>{words.says}</p>
      <LeftOut rows={rows} wanted={wanted.length} why={words.leftOut} />
      {action === "cancel" ? <Reason value={reason} onChange={setReason} /> : null}
      {action === "rerun" ? (
        <label className="executions-check">
          <input type="checkbox" checked={fromFailed} onChange={(event) => setFromFailed(event.target.checked)} />
          From the step that failed, not from the beginning
        </label>
      ) : null}
      <Lines
        lines={wanted.map((row) =>
          format.commandLineAt(window.location.origin, wordsOf(action, row.execution_id, { reason, fromFailed })),
        )}
      />
      {acting.isError ? <Failure error={acting.error} /> : null}
    </Dialog>
  );
}

async function act(
  action: Action,
  rows: readonly Row[],
  options: { reason: string; fromFailed: boolean },
  key: string,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [at, some] of parts(rows.map((row) => row.execution_id)).entries()) {
    const body = { action, execution_ids: some, reason: options.reason, from_failed: options.fromFailed };
    // With a key, so that an answer that was lost on its way is not a second rerun.
    const headers = { "Idempotency-Key": `${key}-${at}` };
    results.push(...(await api.post("/api/v1/executions/bulk", { body, headers })).results);
  }
  return results;
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}

function Reason({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const id = useId();
  return (
    <Field label="Reason" id={id} hint="Is recorded in the log of each.">
      <input id={id} value={value} maxLength={1000} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

function LeftOut({ rows, wanted, why }: { rows: readonly Row[]; wanted: number; why: string }) {
  const left = rows.length - wanted;
  if (!left) return null;
  return (
    <p className="executions-left-out">
      <Icon name="alert" /> {left} of the {rows.length} that are selected {left === 1 ? "is" : "are"} left out: {why}.
    </p>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  if (!lines.length) return null;
  const hidden = lines.length - LINES_SHOWN;
  return (
    <div className="executions-lines">
      <div className="row">
        <h3>As command lines</h3>
        <Copy text={lines.join("\n")} label={lines.length > 1 ? `Copy all ${lines.length}` : "Copy"} />
      </div>
      <pre>
        {lines.slice(0, LINES_SHOWN).join("\n")}
        {hidden > 0 ? `\n… and ${hidden} more` : ""}
      </pre>
    </div>
  );
}

function Results(props: { results: readonly Result[]; rows: readonly Row[]; done: string }) {
  const paths = new Map(props.rows.map((row) => [row.execution_id, row.path]));
  const good = props.results.filter((one) => one.is_ok).length;
  return (
    <>
      <p role="status">
        {good} of {props.results.length} {props.done}.
      </p>
      <ul className="executions-results">
        {props.results.map((one) => (
          <li key={one.execution_id} className={one.is_ok ? "tone-ok" : "tone-bad"}>
            <Icon name={one.is_ok ? "check" : "cross"} title={one.is_ok ? "done" : "refused"} />
            <span>
              <Link href={executionAddress(one.execution_id)}>{one.execution_id}</Link>{" "}
              <span className="muted">{paths.get(one.execution_id)}</span>
              {one.new_execution_id ? (
                <>
                  {" → "}
                  <Link href={executionAddress(one.new_execution_id)}>{one.new_execution_id}</Link>
                </>
              ) : null}
              {one.error ? <span className="executions-error">{one.error}</span> : null}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
