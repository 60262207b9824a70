/** The rows of a list that changes while one looks at it. Pure: nothing that is looked at moves by itself. */
import type { Row } from "./filters";

export interface Live {
  /** What is shown, newest first. */
  rows: readonly Row[];
  /** What came since and waits to be shown, newest first. */
  waiting: readonly Row[];
}

/** A row that the bell brought: one that is shown changes in its place, one that is not waits. */
export function heard(live: Live, row: Row, isWanted: boolean): Live {
  if (live.rows.some((one) => one.execution_id === row.execution_id)) {
    return { ...live, rows: live.rows.map((one) => (one.execution_id === row.execution_id ? row : one)) };
  }
  const others = live.waiting.filter((one) => one.execution_id !== row.execution_id);
  if (!isWanted) return others.length === live.waiting.length ? live : { ...live, waiting: others };
  return { ...live, waiting: [row, ...others].sort(byNewest) };
}

/** Shows what waits. */
export function taken(live: Live): Live {
  return { rows: merged(live.waiting, live.rows), waiting: [] };
}

/** Rows of a further page behind those that are there; a row that is there twice is shown once, as it came last. */
export function merged(first: readonly Row[], second: readonly Row[]): Row[] {
  const seen = new Set<string>();
  const rows: Row[] = [];
  for (const row of [...first, ...second]) {
    if (seen.has(row.execution_id)) continue;
    seen.add(row.execution_id);
    rows.push(row);
  }
  return rows.sort(byNewest);
}

/** Ids are numbers that grow; they are too long for a number of this language. */
export function byNewest(one: Row, other: Row): number {
  const [a, b] = [one.execution_id, other.execution_id];
  if (a.length !== b.length) return b.length - a.length;
  return a < b ? 1 : a > b ? -1 : 0;
}
