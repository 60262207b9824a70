/** Lines of a log as they come: pages from the beginning, from near the end, earlier ones, and those that arrive. */
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "@/api/client";
import type { LogLine, LogPage } from "./asking";

export const FILTERS = ["step", "run", "iteration", "task", "level", "q"] as const;
export type Filter = Partial<Record<(typeof FILTERS)[number], string>>;

const PAGE_LINES = 1000;
const TAIL_EVENTS = 300; // how far before the end a tail begins; an event may hold many lines
export const LINES_MAX = 200_000; // kept; of more, the oldest go

export function filterOf(search: URLSearchParams): Filter {
  const filter: Filter = {};
  for (const name of FILTERS) {
    const value = search.get(name);
    if (value) filter[name] = value;
  }
  return filter;
}

/** Lines joined: each once, in the order of the log, the oldest gone where there are too many. */
export function joined(old: readonly LogLine[], fresh: readonly LogLine[], most = LINES_MAX): LogLine[] {
  const last = old.at(-1);
  const isAfter = (line: LogLine): boolean =>
    last === undefined || line.seq > last.seq || (line.seq === last.seq && line.line > last.line);
  const all = old.concat(fresh.filter(isAfter));
  return all.length > most ? all.slice(all.length - most) : all;
}

function ask(id: string, filter: Filter, after: number): Promise<LogPage> {
  const query = { ...filter, after, limit: PAGE_LINES };
  return api.any<LogPage>("get", `/api/v1/executions/${id}/logs`, { query });
}

export interface Lines {
  rows: readonly LogLine[];
  /** The event after which they begin: 0 is the beginning. */
  from: number;
  isMore: boolean;
  isBusy: boolean;
  error: unknown;
  /** After which event a stream goes on; null: not until all pages are here. */
  streamFrom: number | null;
  count: () => number;
  more: () => void;
  earlier: () => void;
  jumpToEnd: (last: number) => Promise<void>;
  append: (lines: LogLine[]) => void;
}

interface State {
  rows: LogLine[];
  from: number;
  next: number | null;
  through: number;
  isBusy: boolean;
  error: unknown;
}

/** `last` over 0: it is live, begin near its end. */
export function useLines(id: string, filter: Filter, last: number): Lines {
  const start = useRef(Math.max(0, last - TAIL_EVENTS)).current;
  const [state, setState] = useState<State>({
    rows: [],
    from: start,
    next: start,
    through: start,
    isBusy: false,
    error: null,
  });
  const latest = useRef(state);
  const change = useCallback((make: (now: State) => State): void => {
    latest.current = make(latest.current);
    setState(latest.current);
  }, []);
  const given = useRef(filter).current; // another filter is another key, so another hook
  const busy = useCallback(
    async (work: () => Promise<void>): Promise<void> => {
      if (latest.current.isBusy) return;
      change((now) => ({ ...now, isBusy: true, error: null }));
      try {
        await work();
        change((now) => ({ ...now, isBusy: false }));
      } catch (error) {
        change((now) => ({ ...now, isBusy: false, error }));
      }
    },
    [change],
  );
  const page = useCallback(async (): Promise<void> => {
    const after = latest.current.next;
    if (after === null) return;
    const found = await ask(id, given, after);
    change((now) => ({
      ...now,
      rows: joined(now.rows, found.lines),
      next: found.next,
      through: found.next ?? found.lines.at(-1)?.seq ?? after,
    }));
  }, [id, given, change]);
  const more = useCallback(() => void busy(page), [busy, page]);
  useEffect(more, [more]);
  const jumpToEnd = useCallback(
    (end: number) =>
      busy(async () => {
        const from = Math.max(0, end - TAIL_EVENTS);
        if (from > latest.current.through) change((now) => ({ ...now, rows: [], from, next: from, through: from }));
        while (latest.current.next !== null) await page();
      }),
    [busy, page, change],
  );
  const earlier = useCallback(
    () =>
      void busy(async () => {
        const until = latest.current.from;
        // Each time as far back again as has been looked at already.
        const from = Math.max(0, until - Math.max(TAIL_EVENTS, latest.current.through - until));
        let found: LogLine[] = [];
        for (let after: number | null = from; after !== null && after < until; ) {
          const one: LogPage = await ask(id, given, after);
          found = joined(found, one.lines);
          after = one.next;
        }
        const before = found.filter((line) => line.seq <= until);
        change((now) => ({ ...now, rows: joined(before, now.rows), from }));
      }),
    [busy, id, given, change],
  );
  const append = useCallback(
    (lines: LogLine[]): void => change((now) => ({ ...now, rows: joined(now.rows, lines) })),
    [change],
  );
  return {
    rows: state.rows,
    from: state.from,
    isMore: state.next !== null,
    isBusy: state.isBusy,
    error: state.error,
    streamFrom: state.next === null ? state.through : null,
    count: () => latest.current.rows.length,
    more,
    earlier,
    jumpToEnd,
    append,
  };
}
