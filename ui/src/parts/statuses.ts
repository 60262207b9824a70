/** Each status there is: its word, its icon and its tone. A tone is a colour, and never alone. */
import type { IconName } from "./icons";

export type Tone = "ok" | "bad" | "warn" | "busy" | "wait" | "idle";
export interface StatusLook {
  word: string;
  icon: IconName;
  tone: Tone;
}

const LOOKS: Record<string, StatusLook> = {
  // executions, steps, runs, iterations, attempts
  success: { word: "success", icon: "check", tone: "ok" },
  ok: { word: "ok", icon: "check", tone: "ok" },
  done: { word: "done", icon: "check", tone: "ok" },
  failed: { word: "failed", icon: "cross", tone: "bad" },
  error: { word: "error", icon: "cross", tone: "bad" },
  incident: { word: "incident", icon: "alert", tone: "bad" },
  running: { word: "running", icon: "spin", tone: "busy" },
  in_flight: { word: "in flight", icon: "spin", tone: "busy" },
  waiting: { word: "waiting", icon: "wait", tone: "wait" },
  parked: { word: "parked", icon: "wait", tone: "wait" },
  cancelled: { word: "cancelled", icon: "stop", tone: "idle" },
  skipped: { word: "skipped", icon: "skip", tone: "idle" },
  not_run: { word: "not run", icon: "ring", tone: "idle" },
  not_started: { word: "not started", icon: "ring", tone: "idle" },
  scheduled: { word: "scheduled", icon: "clock", tone: "idle" },
  // jobs, workers, schedules, health
  ready: { word: "ready", icon: "clock", tone: "idle" },
  leased: { word: "leased", icon: "worker", tone: "busy" },
  active: { word: "active", icon: "check", tone: "ok" },
  idle: { word: "idle", icon: "ring", tone: "idle" },
  draining: { word: "draining", icon: "wait", tone: "warn" },
  lost: { word: "lost", icon: "alert", tone: "bad" },
  paused: { word: "paused", icon: "pause", tone: "warn" },
  warning: { word: "warning", icon: "alert", tone: "warn" },
  degraded: { word: "degraded", icon: "alert", tone: "warn" },
  down: { word: "down", icon: "cross", tone: "bad" },
  info: { word: "info", icon: "dot", tone: "idle" },
  debug: { word: "debug", icon: "dot", tone: "idle" },
};

/** How a status looks; one that is not known here is shown as its own word. */
export function lookOf(status: string): StatusLook {
  return LOOKS[status] ?? { word: status.replaceAll("_", " "), icon: "dot", tone: "idle" };
}

export const IS_LIVE = new Set(["running", "waiting", "incident"]);
