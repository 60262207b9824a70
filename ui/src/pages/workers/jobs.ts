/** Jobs as a page shows them: which ones, and moments in place of seconds, so that ages are counted on. Pure. */
import type { Schemas } from "@/api/client";

export type Job = Schemas["QueuedJob"];
export type Pool = Schemas["PoolRow"];
export type Worker = Schemas["WorkerRow"];

export const STATES = ["leased", "ready", "parked"] as const;

export interface Wanted {
  pool: string;
  worker: string;
  state: "" | (typeof STATES)[number];
}

export function readWanted(search: string): Wanted {
  const asked = new URLSearchParams(search);
  const state = STATES.find((one) => one === asked.get("state")) ?? "";
  return { pool: asked.get("pool") ?? "", worker: asked.get("worker") ?? "", state };
}

export function wantedAddress(wanted: Partial<Wanted>): string {
  const words = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
  const text = words.toString();
  return text ? `/workers?${text}` : "/workers";
}

/** The moment so many seconds before what was told then; "" if there is none. */
export function since(seconds: number | null, toldAt: number): string {
  return seconds === null ? "" : new Date(toldAt - seconds * 1000).toISOString();
}

export function keyOf(job: Job): string {
  return `${job.execution_id}/${job.run}/${job.iteration ?? ""}`;
}

/** What a job is of: `fetch #3 · iteration 7`. */
export function placeOf(job: Job): string {
  const step = job.step ?? "a step that ended";
  return job.iteration === null ? step : `${step} · iteration ${job.iteration}`;
}

const SILENT_SECONDS = 60; // a worker reports every few seconds

/** How a worker is, by what was told then. */
export function stateOf(worker: Worker, toldAt: number): "active" | "idle" | "lost" {
  if (toldAt - Date.parse(worker.seen_at) > SILENT_SECONDS * 1000) return "lost";
  return worker.jobs ? "active" : "idle";
}

export function startWords(pool: string): string[] {
  return ["worker", "start", "--pool", pool];
}
