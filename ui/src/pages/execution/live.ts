/**
 * What is laid over the graph: the server's marking of a moment, and on it the events that arrive after. Pure. A loop is
 * one entry with counts, whatever its length; an event costs the same at any size of the log.
 */
import type { Overlay } from "@/graph/model";
import type { EventDocument, Moment, TimelineRun } from "./asking";

export interface Loop {
  /** The run whose loop it is; a loop inside it has a run of its own. */
  run: number;
  total: number;
  done: number;
  failed: number;
  in_flight: number;
}

export interface Picture {
  seq: number;
  steps: Map<string, { status: string; runs: number; tokens: number; loop: Loop | null; open: number }>;
  taken: Set<string>;
}

type Step = Picture extends { steps: Map<string, infer S> } ? S : never;

const NOTHING: Step = { status: "not_run", runs: 0, tokens: 0, loop: null, open: 0 };

/** Of all runs, those that had been scheduled by a moment: of each step the first so many. */
export function runsBy(moment: Pick<Moment, "steps">, runs: readonly TimelineRun[]): TimelineRun[] {
  const left = new Map(moment.steps.map((row) => [row.step, row.runs]));
  return runs.filter((run) => {
    const more = left.get(run.step) ?? 0;
    left.set(run.step, more - 1);
    return more > 0;
  });
}

/** The picture of a moment. Runs know which way tokens came, and what loops that have ended did. */
export function pictureOf(moment: Moment, all: readonly TimelineRun[]): Picture {
  const runs = runsBy(moment, all);
  const picture: Picture = { seq: moment.seq, steps: new Map(), taken: takenBy(runs) };
  for (const row of moment.steps) picture.steps.set(row.step, { ...NOTHING, status: row.status, runs: row.runs });
  for (const run of runs) if (run.loop) change(picture, run.step, { loop: { run: run.run, ...run.loop } });
  for (const run of moment.marking.runs) {
    if (run.parent_run) continue; // a loop inside: its step's own run is among them too
    const loop = run.loop;
    const step = stepIn(picture, run.step);
    change(picture, run.step, {
      open: step.open + 1,
      status: "running",
      loop: loop
        ? { run: run.run, total: loop.count, done: loop.done, failed: loop.failed, in_flight: loop.in_flight }
        : null,
    });
  }
  for (const token of moment.marking.tokens) {
    if (token.source) picture.taken.add(`${token.source}→${token.step}`);
    const step = stepIn(picture, token.step);
    change(picture, token.step, {
      tokens: step.tokens + 1,
      status: token.is_waiting && !step.open ? "waiting" : step.status,
    });
  }
  return picture;
}

/** The arcs that tokens took, as the graph names them. */
export function takenBy(runs: readonly TimelineRun[]): Set<string> {
  const steps = new Map(runs.map((run) => [run.run, run.step]));
  const taken = new Set<string>();
  for (const run of runs) {
    for (const source of run.sources) if (steps.has(source)) taken.add(`${steps.get(source)}→${run.step}`);
  }
  return taken;
}

function stepIn(picture: Picture, name: string): Step {
  return picture.steps.get(name) ?? NOTHING;
}

function change(picture: Picture, name: string, changes: Partial<Step>): void {
  picture.steps.set(name, { ...stepIn(picture, name), ...changes });
}

/** The run that an event is about: its entity is "execution:run", "execution:run:iteration" and so on. */
function runOf(event: EventDocument): number {
  return Number(event.entity_id.split(":")[1] ?? 0);
}

function counted(picture: Picture, name: string, event: EventDocument, by: Partial<Loop>): void {
  const { loop } = stepIn(picture, name);
  if (!loop || loop.run !== runOf(event)) return;
  const next = { ...loop };
  for (const key of ["done", "failed", "in_flight"] as const) next[key] = Math.max(0, next[key] + (by[key] ?? 0));
  change(picture, name, { loop: next });
}

type Handler = (picture: Picture, step: string, event: EventDocument) => void;

function ended(status: string): Handler {
  return (picture, name) => {
    const step = stepIn(picture, name);
    const open = Math.max(0, step.open - 1);
    change(picture, name, { open, status: open ? "running" : status });
  };
}

const HANDLERS: Record<string, Handler> = {
  "step.scheduled": (picture, name, event) => {
    const step = stepIn(picture, name);
    const tokens = Array.isArray(event.payload.tokens) ? event.payload.tokens.length : 0;
    change(picture, name, {
      status: "running",
      runs: step.runs + 1,
      open: step.open + 1,
      tokens: Math.max(0, step.tokens - tokens),
    });
  },
  "step.done": ended("success"),
  "step.failed": ended("failed"),
  "step.skipped": (picture, name) => {
    const step = stepIn(picture, name);
    change(picture, name, {
      tokens: Math.max(0, step.tokens - 1),
      status: step.runs ? step.status : "skipped",
    });
  },
  "loop.started": (picture, name, event) => {
    const { loop } = stepIn(picture, name);
    // An inner loop begins while its step's own is under way: the node shows the outer one.
    if (loop && loop.done + loop.failed < loop.total) return;
    const total = Number(event.payload.count ?? 0);
    change(picture, name, { loop: { run: runOf(event), total, done: 0, failed: 0, in_flight: 0 } });
  },
  "loop.iteration.started": (picture, name, event) => counted(picture, name, event, { in_flight: 1 }),
  "loop.iteration.done": (picture, name, event) => counted(picture, name, event, { in_flight: -1, done: 1 }),
  "loop.iteration.failed": (picture, name, event) => counted(picture, name, event, { in_flight: -1, failed: 1 }),
  "loop.done": (picture, name, event) => {
    const { loop } = stepIn(picture, name);
    if (!loop || loop.run === runOf(event)) ended("success")(picture, name, event);
  },
  "next.evaluated": (picture, name, event) => {
    const fired = Array.isArray(event.payload.fired) ? (event.payload.fired as { step: string }[]) : [];
    for (const { step } of fired) {
      picture.taken.add(`${name}→${step}`);
      change(picture, step, { tokens: stepIn(picture, step).tokens + 1 });
    }
  },
};

/** The picture with more events; the one that was given stays as it is. */
export function withEvents(picture: Picture, events: readonly EventDocument[]): Picture {
  const next: Picture = { seq: picture.seq, steps: new Map(picture.steps), taken: new Set(picture.taken) };
  for (const event of events) {
    const seq = Number(event.event_id.slice(event.event_id.lastIndexOf("-") + 1));
    if (seq <= next.seq) continue;
    next.seq = seq;
    const step = event.step ?? (typeof event.payload.step === "string" ? event.payload.step : "");
    HANDLERS[event.name]?.(next, step, event);
  }
  return next;
}

/** As the graph wants it. */
export function overlayOf(picture: Picture): Map<string, Overlay> {
  const overlay = new Map<string, Overlay>();
  for (const [name, step] of picture.steps) {
    overlay.set(name, {
      status: step.tokens && !step.open && step.status !== "waiting" && !step.runs ? "scheduled" : step.status,
      runs: step.runs,
      tokens: step.tokens + step.open,
      loop: step.loop,
    });
  }
  return overlay;
}
