/**
 * The drawing of the timeline. Rows are virtualised, those of a loop are asked for page by page; one row has the focus
 * and arrows move it, as in a tree: right opens, left closes, Enter goes to the step. Plus and minus zoom.
 */
import { type KeyboardEvent, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { Button, format, useNow } from "@/parts";
import { executionAddress } from "@/routes";
import { type TimelineRun, useAttemptsOf } from "./asking";
import { useBranches } from "./branches";
import { GanttRow } from "./GanttRow";
import { type Row, rowsOf } from "./rows";
import {
  busyOf,
  criticalLinks,
  moved,
  percent,
  retried,
  type Scale,
  scaleOf,
  seen,
  spanOf,
  ticks,
  type View,
  WHOLE,
  zoomed,
} from "./scale";
import { useRows } from "./window";

interface GanttProps {
  id: string;
  runs: readonly TimelineRun[];
  origin: string | null;
  isLive: boolean;
  isFolding: boolean;
  isMore: boolean;
  onMore: () => void;
}

const ROW = 28;
const HEAD = 32;

export function Gantt(props: GanttProps) {
  const { id, runs, isFolding } = props;
  const now = useClock(props);
  const again = useRetried(runs, now, isFolding);
  const attempts = useAttemptsOf(id, again);
  const scale = useMemo(
    () =>
      scaleOf(
        runs.flatMap((run) => busyOf(run, attempts.get(run.run) ?? [], now)),
        isFolding,
      ),
    [runs, attempts, now, isFolding],
  );
  const [view, setView] = useState<View>(WHOLE);
  const [open, toggle, more] = useBranches(id);
  const rows = useMemo(() => rowsOf(runs, open, props.isMore), [runs, open, props.isMore]);
  const [focus, setFocus] = useState(0);
  const seenRows = useRows(rows.length, ROW, 12, HEAD);
  const { element } = seenRows;
  const drawn = rows.slice(seenRows.first, seenRows.end);
  const waiting = drawn.find((row) => row.kind === "more" && (row.of || row.key === "more"));
  const { onMore } = props;
  useEffect(() => {
    if (waiting?.kind !== "more") return;
    if (waiting.of) more(waiting.of);
    else onMore();
  }, [waiting, more, onMore]);
  const [, go] = useLocation();
  const step = (row: Row): void => {
    if (row.kind !== "more") go(executionAddress(id, "", { step: row.run.step }));
  };
  const focusRow = (index: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, index));
    setFocus(next);
    seenRows.bring(next);
    requestAnimationFrame(() => element?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  const press = (event: KeyboardEvent): void => {
    const row = rows[focus];
    const page = Math.max(1, Math.floor((element?.clientHeight ?? 0) / ROW) - 2);
    const isOpen = row && "isOpen" in row && row.isOpen;
    const deeds = new Map<string, () => unknown>([
      ["ArrowDown", () => focusRow(focus + 1)],
      ["ArrowUp", () => focusRow(focus - 1)],
      ["PageDown", () => focusRow(focus + page)],
      ["PageUp", () => focusRow(focus - page)],
      ["Home", () => focusRow(0)],
      ["End", () => focusRow(rows.length - 1)],
      ["ArrowRight", () => (event.shiftKey ? setView(moved(view, 0.2)) : row && !isOpen && toggle(row))],
      ["ArrowLeft", () => (event.shiftKey ? setView(moved(view, -0.2)) : row && isOpen && toggle(row))],
      ["Enter", () => row && step(row)],
      ["+", () => setView(zoomed(view, 0.6))],
      ["=", () => setView(zoomed(view, 0.6))],
      ["-", () => setView(zoomed(view, 1 / 0.6))],
      ["0", () => setView(WHOLE)],
    ]);
    const deed = deeds.get(event.key);
    if (!deed || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    deed();
  };
  useWheel(element, setView);
  return (
    <div className="execution-gantt">
      <Zoom view={view} onView={setView} />
      <div
        className="execution-gantt-scroller"
        ref={seenRows.ref}
        role="treegrid"
        aria-label="Timeline of step runs"
        aria-rowcount={rows.length}
        onKeyDown={press}
      >
        <Axis scale={scale} view={view} />
        <div className="execution-gantt-body" style={{ height: seenRows.total }}>
          <Ground scale={scale} view={view} />
          <Links
            runs={runs}
            rows={rows}
            scale={scale}
            view={view}
            first={seenRows.first}
            end={seenRows.end}
            now={now}
          />
          {drawn.map((row, at) => {
            const index = seenRows.first + at;
            return (
              <GanttRow
                key={row.key}
                {...{ row, scale, view, now, index }}
                top={index * ROW}
                isFocus={index === focus}
                onFocus={() => setFocus(index)}
                onToggle={() => toggle(row)}
                onOpen={() => step(row)}
              />
            );
          })}
        </div>
      </div>
      <p className="execution-hint">
        <kbd>↑</kbd> <kbd>↓</kbd> rows, <kbd>→</kbd> <kbd>←</kbd> open and close, <kbd>Enter</kbd> the step,{" "}
        <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom, <kbd>Shift</kbd> <kbd>→</kbd> moves. Hatched bands are idle time,
        folded.
      </p>
    </div>
  );
}

/** Milliseconds since the request, while it goes on; at the end, when the last run ended. */
function useClock({ runs, origin, isLive }: GanttProps): number {
  const time = useNow();
  const last = useMemo(
    () => runs.reduce((most, run) => Math.max(most, run.ended_ms ?? 0, run.scheduled_ms), 0),
    [runs],
  );
  const began = origin ? Date.parse(origin) : Number.NaN;
  return isLive && !Number.isNaN(began) ? Math.max(last, time - began) : last;
}

/** Ctrl and the wheel zoom around the pointer; sideways moves. */
function useWheel(element: HTMLDivElement | null, setView: (change: (view: View) => View) => void): void {
  useEffect(() => {
    if (!element) return;
    const hear = (event: WheelEvent): void => {
      const area = element.querySelector(".execution-gantt-axis-area")?.getBoundingClientRect();
      if (!area || !(event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) return;
      event.preventDefault();
      const share = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
      setView((view) =>
        event.ctrlKey
          ? zoomed(view, event.deltaY > 0 ? 1.25 : 0.8, view.from + share * (view.to - view.from))
          : moved(view, event.deltaX / area.width),
      );
    };
    element.addEventListener("wheel", hear, { passive: false });
    return () => element.removeEventListener("wheel", hear);
  }, [element, setView]);
}

function Zoom({ view, onView }: { view: View; onView: (view: View) => void }) {
  const isWhole = view.to - view.from > 0.999;
  return (
    <div className="execution-gantt-zoom" role="group" aria-label="Zoom">
      <Button icon="minus" size="s" look="quiet" aria-label="Zoom out" onClick={() => onView(zoomed(view, 1 / 0.6))} />
      <Button icon="plus" size="s" look="quiet" aria-label="Zoom in" onClick={() => onView(zoomed(view, 0.6))} />
      <Button
        icon="left"
        size="s"
        look="quiet"
        aria-label="Earlier"
        disabled={isWhole}
        onClick={() => onView(moved(view, -0.3))}
      />
      <Button
        icon="right"
        size="s"
        look="quiet"
        aria-label="Later"
        disabled={isWhole}
        onClick={() => onView(moved(view, 0.3))}
      />
      <Button size="s" look="quiet" disabled={isWhole} onClick={() => onView(WHOLE)}>
        All
      </Button>
    </div>
  );
}

/** The same list as long as the same runs are in it, though the clock goes on. */
function useRetried(runs: readonly TimelineRun[], now: number, isOn: boolean): readonly TimelineRun[] {
  const found = isOn ? retried(runs, now) : [];
  const key = found.map((run) => `${run.run}/${run.attempts}/${run.retries}`).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all that is asked for
  return useMemo(() => found, [key]);
}

const NARROW = "(max-width: 40rem)";

/** As many marks as can be read beside each other. */
function useTicksWanted(): number {
  const isNarrow = useSyncExternalStore(
    (changed) => {
      const asked = window.matchMedia(NARROW);
      asked.addEventListener("change", changed);
      return () => asked.removeEventListener("change", changed);
    },
    () => window.matchMedia(NARROW).matches,
  );
  return isNarrow ? 3 : 8;
}

function Axis({ scale, view }: { scale: Scale; view: View }) {
  const wanted = useTicksWanted();
  return (
    <div className="execution-gantt-axis" aria-hidden="true">
      <div className="execution-gantt-label">Step</div>
      <div className="execution-gantt-axis-area">
        {ticks(scale, view, wanted).map(({ ms, words }) => (
          <span key={ms} className="execution-gantt-tick" style={{ left: percent(seen(view, scale.at(ms))) }}>
            {words}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Lines of the axis and bands of idle time, behind all rows. */
function Ground({ scale, view }: { scale: Scale; view: View }) {
  const wanted = useTicksWanted();
  return (
    <div className="execution-gantt-ground" aria-hidden="true">
      {ticks(scale, view, wanted).map(({ ms }) => (
        <span key={ms} className="execution-gantt-line" style={{ left: percent(seen(view, scale.at(ms))) }} />
      ))}
      {scale.gaps.map((gap) => {
        const left = seen(view, gap.left);
        const width = seen(view, gap.right) - left;
        return left > 1 || left + width < 0 ? null : (
          <span key={gap.from} className="execution-gantt-gap" style={{ left: percent(left), width: percent(width) }}>
            <span title={`nothing ran for ${format.duration(gap.to - gap.from)}`}>
              {format.duration(gap.to - gap.from)}
            </span>
          </span>
        );
      })}
    </div>
  );
}

/** The critical path, as lines from each run's end to the next one's beginning; only what is near the screen. */
function Links(props: {
  runs: readonly TimelineRun[];
  rows: readonly Row[];
  scale: Scale;
  view: View;
  first: number;
  end: number;
  now: number;
}) {
  const { runs, rows, scale, view, first, end, now } = props;
  const links = useMemo(() => criticalLinks(runs), [runs]);
  const at = useMemo(() => {
    const found = new Map<number, number>();
    rows.forEach((row, index) => {
      if (row.kind === "run") found.set(row.run.run, index);
    });
    return found;
  }, [rows]);
  return (
    <svg className="execution-gantt-links" aria-hidden="true" focusable="false">
      {links.map(([source, target]) => {
        const a = at.get(source.run) ?? 0;
        const b = at.get(target.run) ?? 0;
        if (Math.max(a, b) < first || Math.min(a, b) >= end) return null;
        const x1 = percent(seen(view, scale.at(spanOf(source, now).to)));
        const x2 = percent(seen(view, scale.at(spanOf(target, now).from)));
        const y1 = a * ROW + ROW / 2;
        const y2 = b * ROW + ROW / 2;
        return (
          <g key={`${source.run} ${target.run}`}>
            <line x1={x1} y1={y1} x2={x1} y2={y2} />
            <line x1={x1} y1={y2} x2={x2} y2={y2} />
          </g>
        );
      })}
    </svg>
  );
}
