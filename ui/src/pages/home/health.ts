/** The state of store, queue and workers as lines, each bad one with what to do. Pure. */
import type { Schemas } from "@/api/client";

export interface HealthLine {
  name: string;
  status: "ok" | "degraded" | "down";
  says: string;
  /** What to do, as a sentence; "" if there is nothing to do. */
  advice: string;
  /** The same as a command line, without `noetl`. */
  command: string[] | null;
}

const LATE_SECONDS = 60; // a job that waits longer deserves a word
const ADVICE: Record<string, string> = {
  store: "See that the store runs and that its address (NOETL_STORE_URL) is right.",
  queue: "See that NATS runs and that its address (NOETL_QUEUE_URL) is right.",
  workers: "Nothing runs until one is there: start one, or a server without --no-workers.",
};
const COMMANDS: Record<string, string[]> = { workers: ["worker", "start"] };

export function checkLines(health: Schemas["Health"]): HealthLine[] {
  return health.checks.map((check) => ({
    name: check.name,
    status: check.is_ok ? "ok" : "down",
    says: check.detail,
    advice: check.is_ok ? "" : (ADVICE[check.name] ?? "The server’s log says more."),
    command: check.is_ok ? null : (COMMANDS[check.name] ?? ["doctor"]),
  }));
}

/** One line for each pool that has work. Whether there are workers at all is a check of the server's own. */
export function poolLines(pools: readonly Schemas["PoolRow"][]): HealthLine[] {
  return pools.filter((pool) => pool.ready || pool.leased || pool.parked).map(poolLine);
}

function poolLine(pool: Schemas["PoolRow"]): HealthLine {
  const name = `pool ${pool.pool}`;
  const says = `${many(pool.workers, "worker")}, ${pool.leased} at work, ${pool.ready} ready, ${pool.parked} parked`;
  const isLate = pool.oldest_wait_seconds > LATE_SECONDS;
  if (!pool.workers && pool.ready) {
    const advice = pool.reason ?? "Jobs wait and nobody takes them: start a worker for this pool.";
    return { name, status: "down", says, advice, command: startOf(pool.pool) };
  }
  if (isLate) {
    const advice = `The oldest job has waited ${Math.round(pool.oldest_wait_seconds)} s: add a worker or slots.`;
    return { name, status: "degraded", says, advice, command: startOf(pool.pool) };
  }
  return { name, status: "ok", says, advice: "", command: null };
}

function startOf(pool: string): string[] {
  return ["worker", "start", "--pool", pool];
}

function many(value: number, one: string): string {
  return `${value} ${one}${value === 1 ? "" : "s"}`;
}
