/** Where two logs part. Pure. Times, ids and measured durations differ between any two runs and say nothing. */
import type { EventDocument } from "./asking";
import { type Difference, differences } from "./values";

const UNLIKE = new Set(["meta", "trace_id", "parent_span_id", "sha", "boundary_seq"]);

export interface Parting {
  /** Its number, among those that were given. */
  at: number;
  before: EventDocument | null;
  after: EventDocument | null;
  /** Where they differ, if both are of one sort. */
  differences: Difference[];
}

/** What of an event is the same whenever the same happened. */
export function essence(event: EventDocument): Record<string, unknown> {
  return {
    name: event.name,
    step: event.step ?? null,
    run: placeOf(event.step_run_id),
    iteration: placeOf(event.iteration_id),
    task: event.task_label ?? null,
    attempt: event.attempt ?? null,
    status: event.status,
    payload: stripped(event.payload),
  };
}

/** An id without its execution. */
function placeOf(id: string | undefined): string | null {
  return id === undefined ? null : id.slice(id.indexOf(":") + 1);
}

function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !UNLIKE.has(key))
      .map(([key, one]) => [key, stripped(one)]),
  );
}

/** The first event that is not the same in both; null: as far as these go, they are alike. */
export function partingOf(one: readonly EventDocument[], other: readonly EventDocument[]): Parting | null {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const before = one[at] ?? null;
    const after = other[at] ?? null;
    const found = before && after ? differences(essence(before), essence(after), 20) : [];
    if (before && after && !found.length) continue;
    return { at, before, after, differences: before?.name === after?.name ? found : [] };
  }
  return null;
}

/** Whether two logs part because the second was forked from the first there. */
export function isFork(parting: Parting, source: string): boolean {
  const { after } = parting;
  return after?.name === "execution.forked" && String(after.payload.source_execution_id) === source;
}

export interface StepPair {
  step: string;
  one: StepSum | null;
  other: StepSum | null;
}

export interface StepSum {
  status: string;
  runs: number;
  attempts: number;
  ms: number;
}

interface RunLike {
  step: string;
  status: string;
  attempts: number;
  scheduled_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
}

/** Runs summed up by step, in the order in which steps first ran. */
export function stepSums(runs: readonly RunLike[]): Map<string, StepSum> {
  const sums = new Map<string, StepSum>();
  for (const run of runs) {
    const sum = sums.get(run.step) ?? { status: run.status, runs: 0, attempts: 0, ms: 0 };
    const from = run.started_ms ?? run.scheduled_ms;
    sums.set(run.step, {
      status: run.status,
      runs: sum.runs + 1,
      attempts: sum.attempts + run.attempts,
      ms: sum.ms + (run.ended_ms === null ? 0 : run.ended_ms - from),
    });
  }
  return sums;
}

export function stepPairs(one: readonly RunLike[], other: readonly RunLike[]): StepPair[] {
  const a = stepSums(one);
  const b = stepSums(other);
  return [...new Set([...a.keys(), ...b.keys()])].map((step) => ({
    step,
    one: a.get(step) ?? null,
    other: b.get(step) ?? null,
  }));
}
