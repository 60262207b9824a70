/** The last runs of a playbook as bars: how high, and in which words. Pure. */
import type { Schemas } from "@/api/client";
import { duration, exact } from "@/parts/format";
import { IS_LIVE, lookOf } from "@/parts/statuses";

type Row = Schemas["ExecutionRow"];
const LEAST = 0.14; // of the height: what took no time is still something to click on

/** A share of the height for each run. By the root: one long run does not flatten all the others. */
export function heightsOf(runs: readonly Row[], now: number): number[] {
  const took = runs.map((run) => tookOf(run, now));
  const most = Math.max(1, ...took);
  return took.map((ms) => LEAST + (1 - LEAST) * Math.sqrt(ms / most));
}

export function tookOf(run: Row, now: number): number {
  if (run.duration_ms !== null) return run.duration_ms;
  return IS_LIVE.has(run.status) ? Math.max(0, now - Date.parse(run.created_at)) : 0;
}

export function wordsOf(run: Row, now: number): string {
  const took = `${run.duration_ms === null ? "for " : ""}${duration(tookOf(run, now))}`;
  const began = exact(Date.parse(run.created_at));
  return `${run.execution_id}: ${lookOf(run.status).word}, ${took}, began ${began}, version ${run.version}`;
}
