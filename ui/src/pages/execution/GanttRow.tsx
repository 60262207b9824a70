/** One row of the timeline: its name, and its bar with how long it took. */
import { format, Icon, lookOf } from "@/parts";
import { thenOf } from "./Attempts";
import type { Row } from "./rows";
import { percent, type Scale, type Span, seen, spanOf, type View } from "./scale";

const ROOM = 0.8; // of the width: a bar that ends beyond has no room for words behind it

interface RowProps {
  row: Row;
  scale: Scale;
  view: View;
  now: number;
  index: number;
  top: number;
  isFocus: boolean;
  onFocus: () => void;
  onToggle: () => void;
  onOpen: () => void;
}

export function GanttRow(props: RowProps) {
  const { row, index } = props;
  const canOpen = row.kind === "run" || row.kind === "iteration";
  return (
    <div
      role="row"
      aria-level={row.level}
      aria-expanded={canOpen ? row.isOpen : undefined}
      aria-rowindex={index + 1}
      data-row={index}
      data-kind={row.kind}
      tabIndex={props.isFocus ? 0 : -1}
      className="execution-gantt-row"
      style={{ transform: `translateY(${props.top}px)` }}
      onFocus={props.onFocus}
    >
      <div
        role="gridcell"
        className="execution-gantt-label"
        style={{ paddingLeft: `${(row.level - 1) * 1.1 + 0.25}rem` }}
      >
        {canOpen ? (
          <button
            type="button"
            tabIndex={-1}
            className="execution-gantt-fold"
            aria-label={row.isOpen ? "Close" : "Open"}
            onClick={props.onToggle}
          >
            <Icon name={row.isOpen ? "down" : "right"} />
          </button>
        ) : (
          <span className="execution-gantt-fold" />
        )}
        <Label row={row} onOpen={props.onOpen} />
      </div>
      <div role="gridcell" className="execution-gantt-area">
        <Bar {...props} />
      </div>
    </div>
  );
}

function Label({ row, onOpen }: { row: Row; onOpen: () => void }) {
  if (row.kind === "more") return <span className="muted">{row.text}</span>;
  const { name, tone, icon } = lookOfRow(row);
  return (
    <button type="button" tabIndex={-1} className={`execution-gantt-name tone-${tone}`} onClick={onOpen} title={name}>
      <Icon name={icon} />
      <span>{name}</span>
    </button>
  );
}

function lookOfRow(row: Exclude<Row, { kind: "more" }>) {
  const status = row.kind === "run" ? row.run.status : row.row.status;
  const { tone, icon, word } = lookOf(status);
  return { name: nameOf(row), tone, word, icon: icon === "spin" ? ("dot" as const) : icon };
}

function nameOf(row: Exclude<Row, { kind: "more" }>): string {
  if (row.kind === "run") {
    const loop = row.run.loop;
    const counts = loop ? ` ${format.count(loop.done + loop.failed)}/${format.count(loop.total)}` : "";
    return `${row.run.compensates ? "undo " : ""}${row.run.step}${counts}`;
  }
  if (row.kind === "iteration") return `iteration ${row.row.iteration}`;
  return row.row.attempt > 1 ? `${row.row.task} try ${row.row.attempt}` : row.row.task;
}

function spanOfRow(row: Row, now: number): Span | null {
  if (row.kind === "more") return null;
  if (row.kind === "run") return spanOf(row.run, now);
  if (row.row.started_ms === null) return null;
  return { from: row.row.started_ms, to: Math.max(row.row.started_ms, row.row.ended_ms ?? now) };
}

function Bar({ row, scale, view, now }: RowProps) {
  const span = spanOfRow(row, now);
  if (!span || row.kind === "more") return null;
  const left = seen(view, scale.at(span.from));
  const right = seen(view, scale.at(span.to));
  if (right < 0 || left > 1) {
    return <span className={`execution-gantt-beyond ${left > 1 ? "is-right" : ""}`} aria-hidden="true" />;
  }
  const { tone, word } = lookOfRow(row);
  const isCritical = row.kind === "run" && row.run.is_critical;
  const took = format.duration(span.to - span.from);
  const from = Math.max(0, left);
  const to = Math.min(1, right);
  // The words stand behind the bar; where there is no room, before it; else in it.
  const isInside = to > ROOM && from < 1 - ROOM;
  const place = to <= ROOM ? { left: percent(to) } : { right: percent(1 - (isInside ? to : from)) };
  return (
    <>
      <Wait row={row} scale={scale} view={view} />
      <span
        className={`execution-gantt-bar is-${row.kind} tone-${tone} ${isCritical ? "is-critical" : ""} ${word === "running" ? "is-going" : ""}`}
        style={{ left: `min(${percent(from)}, calc(100% - 3px))`, width: percent(to - from) }}
        title={titleOf(row, took, word)}
      >
        {row.kind === "run" && row.run.loop?.failed ? (
          <span
            className="execution-gantt-failed"
            style={{ width: percent(row.run.loop.failed / Math.max(1, row.run.loop.total)) }}
          />
        ) : null}
      </span>
      <span className={`execution-gantt-took ${isInside ? "is-inside" : ""}`} style={place}>
        {took}
        {row.kind === "run" && row.run.retries ? ` · ${format.plural(row.run.retries, "retry", "retries")}` : ""}
        {row.kind === "attempt" && row.row.do && row.row.do !== "continue" ? ` · ${thenOf(row.row)}` : ""}
        <span className="hidden-words">
          , {word}
          {isCritical ? ", on the critical path" : ""}
        </span>
      </span>
    </>
  );
}

/** From being scheduled to being started, a run waits for a worker. */
function Wait({ row, scale, view }: Pick<RowProps, "row" | "scale" | "view">) {
  if (row.kind !== "run" || row.run.started_ms === null || row.run.started_ms <= row.run.scheduled_ms) return null;
  const left = Math.max(0, seen(view, scale.at(row.run.scheduled_ms)));
  const right = Math.min(1, seen(view, scale.at(row.run.started_ms)));
  if (right <= left) return null;
  return <span className="execution-gantt-wait" style={{ left: percent(left), width: percent(right - left) }} />;
}

function titleOf(row: Exclude<Row, { kind: "more" }>, took: string, word: string): string {
  const error = row.kind === "run" ? row.run.error : row.row.error;
  return `${nameOf(row)}: ${word}, ${took}${error ? `\n${format.cut(error, 300)}` : ""}`;
}
