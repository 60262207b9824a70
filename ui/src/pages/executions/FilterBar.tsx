/** The filters as chips and as one line. Both are the same thing, and the address keeps it. */
import { useEffect, useId, useRef, useState } from "react";
import { Button, Icon, lookOf, useShortcut } from "@/parts";
import { type Filters, isNone, lineOf, NONE, readLine, STATUSES, type StatusName } from "./filters";

interface Props {
  filters: Filters;
  onChange: (filters: Filters) => void;
}

const TYPED_MS = 350; // a pause in typing
const TIMES = [
  ["1h", "last hour"],
  ["24h", "last day"],
  ["7d", "last week"],
] as const;

export function FilterBar(props: Props) {
  return (
    <div className="executions-filters">
      <QueryLine {...props} />
      <Chips {...props} />
    </div>
  );
}

function QueryLine({ filters, onChange }: Props) {
  const line = lineOf(filters);
  const [typed, setTyped] = useState(line);
  const [isTyping, setTyping] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const { faults } = readLine(typed);
  const change = useRef(onChange);
  change.current = onChange;
  useShortcut("/", "Filter executions", () => field.current?.focus());

  // What chips or the address changed shows here; what is being typed stays as it is.
  useEffect(() => {
    if (!isTyping) setTyped(line);
  }, [line, isTyping]);

  useEffect(() => {
    if (!isTyping || lineOf(readLine(typed).filters) === line) return;
    const timer = window.setTimeout(() => change.current(readLine(typed).filters), TYPED_MS);
    return () => window.clearTimeout(timer);
  }, [typed, isTyping, line]);

  const finish = (): void => {
    setTyping(false);
    const read = readLine(typed);
    if (!read.faults.length) change.current(read.filters);
  };
  return (
    <div className={`executions-query ${faults.length ? "field-bad" : ""}`}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Filter executions"
        aria-describedby={id}
        aria-invalid={faults.length > 0}
        placeholder="status:failed path:team/* since:24h is:root text"
        spellCheck={false}
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyping(true);
          setTyped(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") finish();
          if (event.key === "Escape") field.current?.blur();
        }}
        onBlur={finish}
      />
      <p id={id} className={faults.length ? "field-error" : "hidden-words"} role="status">
        {faults.length
          ? faults.join("; ")
          : "Keys are status, path, since, until, parent and is; other words are text."}
      </p>
    </div>
  );
}

function Chips({ filters, onChange }: Props) {
  const set = (change: Partial<Filters>): void => onChange({ ...filters, ...change });
  const turn = (status: StatusName): void =>
    set({ status: STATUSES.filter((one) => filters.status.includes(one) !== (one === status)) });
  return (
    <fieldset className="executions-chips" aria-label="Filters">
      {STATUSES.map((status) => {
        const look = lookOf(status);
        return (
          <Chip key={status} isOn={filters.status.includes(status)} onClick={() => turn(status)} tone={look.tone}>
            <Icon name={look.icon} />
            {look.word}
          </Chip>
        );
      })}
      <span className="executions-gap" />
      {TIMES.map(([since, word]) => (
        <Chip
          key={since}
          isOn={filters.since === since}
          onClick={() => set({ since: filters.since === since ? "" : since })}
        >
          {word}
        </Chip>
      ))}
      <Chip isOn={filters.isRoot === true} onClick={() => set({ isRoot: filters.isRoot ? null : true })}>
        only roots
      </Chip>
      <Given name="path" value={filters.path} onGone={() => set({ path: "" })} />
      <Given
        name="since"
        value={TIMES.some(([one]) => one === filters.since) ? "" : filters.since}
        onGone={() => set({ since: "" })}
      />
      <Given name="until" value={filters.until} onGone={() => set({ until: "" })} />
      <Given name="called by" value={filters.parent} onGone={() => set({ parent: "" })} />
      <Given name="only" value={filters.isRoot === false ? "called ones" : ""} onGone={() => set({ isRoot: null })} />
      <Given name="text" value={filters.text} onGone={() => set({ text: "" })} />
      {isNone(filters) ? null : (
        <Button look="quiet" size="s" onClick={() => onChange(NONE)}>
          Clear all
        </Button>
      )}
    </fieldset>
  );
}

function Chip(props: { isOn: boolean; onClick: () => void; tone?: string; children: React.ReactNode }) {
  return (
    <button
      type="button"
      className={`chip ${props.tone ? `executions-chip tone-${props.tone}` : ""}`}
      aria-pressed={props.isOn}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}

/** A filter that has a value of its own: it can only be taken away here, the line is where it is written. */
function Given({ name, value, onGone }: { name: string; value: string; onGone: () => void }) {
  if (!value) return null;
  return (
    <button type="button" className="chip" aria-pressed="true" onClick={onGone} title={`Take away: ${name} ${value}`}>
      {name} <strong>{value}</strong> <Icon name="cross" title="take away" />
    </button>
  );
}
