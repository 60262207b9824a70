/** The rows of the timeline: runs, and below those that are open their iterations or attempts, loop in loop. Pure. */
import type { AttemptRow, IterationRow, TimelineRun } from "./asking";

export type Row =
  | { kind: "run"; key: string; level: number; run: TimelineRun; isOpen: boolean }
  | {
      kind: "iteration";
      key: string;
      level: number;
      run: TimelineRun;
      loop: number;
      row: IterationRow;
      isOpen: boolean;
    }
  | { kind: "attempt"; key: string; level: number; run: TimelineRun; row: AttemptRow }
  | { kind: "more"; key: string; level: number; of: string; text: string };

/** What stands below a row: the iterations of a loop (by the loop's run), or the attempts of a run or iteration. */
export type Below = { of: "iterations"; loop: number } | { of: "attempts"; run: number; iteration: number | null };

export interface Branch {
  below: Below;
  iterations?: IterationRow[];
  attempts?: AttemptRow[];
  /** `after` of the next page; null: there is none; undefined: nothing was asked yet. */
  next: number | null | undefined;
  error?: string;
}

/** What opens below a row; null: nothing does. */
export function belowOf(row: Row): Below | null {
  if (row.kind === "run") {
    const run = row.run.run;
    return row.run.loop ? { of: "iterations", loop: run } : { of: "attempts", run, iteration: null };
  }
  if (row.kind !== "iteration") return null;
  const inner = row.row.inner_run;
  return inner === null
    ? { of: "attempts", run: row.loop, iteration: row.row.iteration }
    : { of: "iterations", loop: inner };
}

/** What is in sight if everything that is open is opened. */
export function rowsOf(runs: readonly TimelineRun[], open: ReadonlyMap<string, Branch>, isMore: boolean): Row[] {
  const rows: Row[] = [];
  for (const run of runs) {
    const key = `run ${run.run}`;
    const branch = open.get(key);
    rows.push({ kind: "run", key, level: 1, run, isOpen: branch !== undefined });
    if (branch) addBelow(rows, run, key, branch, 2, open);
  }
  if (isMore) rows.push({ kind: "more", key: "more", level: 1, of: "", text: "more runs" });
  return rows;
}

function addBelow(
  rows: Row[],
  run: TimelineRun,
  key: string,
  branch: Branch,
  level: number,
  open: ReadonlyMap<string, Branch>,
): void {
  const loop = branch.below.of === "iterations" ? branch.below.loop : 0;
  for (const row of branch.iterations ?? []) {
    const own = `run ${loop} iteration ${row.iteration}`;
    const inner = open.get(own);
    rows.push({ kind: "iteration", key: own, level, run, loop, row, isOpen: inner !== undefined });
    if (inner) addBelow(rows, run, own, inner, level + 1, open);
  }
  for (const row of branch.attempts ?? []) {
    rows.push({ kind: "attempt", key: `${key} attempt ${row.seq_started}`, level, run, row });
  }
  addRest(rows, key, branch, level);
}

/** What is on its way, or that there is nothing. */
function addRest(rows: Row[], key: string, branch: Branch, level: number): void {
  const isEmpty = !branch.attempts?.length && !branch.iterations?.length;
  if (branch.error) rows.push({ kind: "more", key: `${key} more`, level, of: key, text: branch.error });
  else if (branch.next !== null) rows.push({ kind: "more", key: `${key} more`, level, of: key, text: "loading" });
  else if (isEmpty) rows.push({ kind: "more", key: `${key} none`, level, of: "", text: "nothing was tried yet" });
}
