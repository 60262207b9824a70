/** The fields of a rerun: where it begins, the values that are there, and values by name. */
import { useId } from "react";
import { Button, format } from "@/parts";
import { type Shown, useGraph } from "./asking";
import { type Free, type From, faultOf, LONG } from "./rerun";
import { untyped } from "./values";

const ROWS_MAX = 40;

export function Where({ shown, from, onFrom }: { shown: Shown; from: From; onFrom: (from: From) => void }) {
  const graph = useGraph(shown.execution_id);
  const ran = new Set(shown.runs.map((run) => String((run as { step?: unknown }).step)));
  const steps = graph.data?.graph?.steps.map((step) => step.name).filter((name) => ran.has(name)) ?? [...ran];
  const failed = (shown.error as { step?: string } | null)?.step;
  const first = failed && ran.has(failed) ? failed : steps.at(-1);
  return (
    <fieldset className="execution-where">
      <legend>Where it begins</legend>
      <label className="execution-check">
        <input
          type="radio"
          name="from"
          checked={from.from === "beginning"}
          onChange={() => onFrom({ from: "beginning" })}
        />
        the beginning: everything runs again
      </label>
      <div className="execution-check">
        <label className="execution-check">
          <input
            type="radio"
            name="from"
            disabled={!first}
            checked={from.from === "step"}
            onChange={() => first && onFrom({ from: "step", step: first })}
          />
          a step: what came before its latest run is kept
        </label>
        {from.from === "step" ? (
          <select
            aria-label="Step"
            value={from.step}
            onChange={(event) => onFrom({ from: "step", step: event.target.value })}
          >
            {steps.map((name) => (
              <option key={name} value={name}>
                {name}
                {name === failed ? " (failed)" : ""}
              </option>
            ))}
          </select>
        ) : null}
      </div>
      <div className="execution-check">
        <label className="execution-check">
          <input
            type="radio"
            name="from"
            checked={from.from === "event"}
            onChange={() => onFrom({ from: "event", at: Math.max(3, shown.events - 2) })}
          />
          an event: the log up to there is kept
        </label>
        {from.from === "event" ? (
          <input
            type="number"
            aria-label="Event"
            min={3}
            max={shown.events}
            value={from.at}
            onChange={(event) => event.target.value && onFrom({ from: "event", at: Number(event.target.value) })}
          />
        ) : null}
      </div>
    </fieldset>
  );
}

export function Values(props: {
  rows: readonly { name: string; value: unknown }[];
  edited: Readonly<Record<string, string>>;
  set: Readonly<Record<string, unknown>>;
  onEdit: (name: string, text: string) => void;
}) {
  const base = useId();
  if (!props.rows.length) return <p className="muted">There are none here yet; name one below.</p>;
  return (
    <>
      {props.rows.slice(0, ROWS_MAX).map(({ name, value }) => {
        const text = untyped(value, true);
        const isChanged = name in props.set;
        const id = `${base}${name}`;
        return (
          <div key={name} className={`execution-value ${isChanged ? "is-changed" : ""}`}>
            <label htmlFor={id} className="mono">
              {name}
            </label>
            {text.length > LONG ? (
              <span className="muted" id={id}>
                {format.bytes(text.length)}, too long to change here; name a place in it below
              </span>
            ) : (
              <textarea
                id={id}
                rows={Math.min(6, (props.edited[name] ?? text).split("\n").length)}
                spellCheck={false}
                value={props.edited[name] ?? text}
                onChange={(event) => props.onEdit(name, event.target.value)}
              />
            )}
          </div>
        );
      })}
      {props.rows.length > ROWS_MAX ? (
        <p className="muted">{format.count(props.rows.length - ROWS_MAX)} more can be set by name.</p>
      ) : null}
    </>
  );
}

export function FreeRows({
  rows,
  from,
  onRows,
}: {
  rows: readonly Free[];
  from: From["from"];
  onRows: (rows: Free[]) => void;
}) {
  const change = (id: number, changes: Partial<Free>): void =>
    onRows(rows.map((row) => (row.id === id ? { ...row, ...changes } : row)));
  return (
    <>
      {rows.map((row) => {
        const fault = faultOf(row, from);
        return (
          <div key={row.id} className="execution-value is-changed">
            <input
              aria-label="Name"
              className="mono"
              placeholder={from === "beginning" ? "workload.limit" : "ctx.limit"}
              value={row.name}
              onChange={(event) => change(row.id, { name: event.target.value })}
            />
            <span className="execution-free">
              <input
                aria-label="Value, JSON or text"
                className="mono"
                placeholder="JSON; what is not JSON is text"
                value={row.text}
                onChange={(event) => change(row.id, { text: event.target.value })}
              />
              <Button
                icon="cross"
                look="quiet"
                size="s"
                aria-label="Take this value away"
                onClick={() => onRows(rows.filter((one) => one.id !== row.id))}
              />
            </span>
            {fault ? <p className="field-error">{fault}</p> : null}
          </div>
        );
      })}
      <span>
        <Button
          icon="plus"
          size="s"
          look="quiet"
          onClick={() => onRows([...rows, { id: Date.now(), name: "", text: "" }])}
        >
          Another value
        </Button>
      </span>
    </>
  );
}
