/**
 * Where things stand on the timeline. Pure. Time is bent: a stretch in which nothing ran is folded to a narrow band, so
 * that a run which waited a night for a signal still shows its seconds. Places are shares of the width, from 0 to 1.
 */
import { duration } from "@/parts/format";
import type { AttemptRow, TimelineRun } from "./asking";

export interface Span {
  from: number;
  to: number;
}

export interface Gap extends Span {
  /** Where its band stands. */
  left: number;
  right: number;
}

export interface Scale {
  from: number;
  to: number;
  gaps: Gap[];
  /** The place of a moment. */
  at: (ms: number) => number;
  /** The moment of a place. */
  ms: (place: number) => number;
}

const BAND = 0.03; // the width of a folded gap
const BANDS_MAX = 8; // the widest gaps are folded, the rest are drawn as long as they were
const FOLD_SHARE = 0.08; // a gap is folded if it takes more than this of all
const FOLD_MS = 1000; // and is longer than this

/** When a run was busy, or would have been: from its schedule to its end, or to now. */
export function spanOf(run: Pick<TimelineRun, "scheduled_ms" | "started_ms" | "ended_ms">, now: number): Span {
  const from = run.started_ms ?? run.scheduled_ms;
  return { from, to: Math.max(from, run.ended_ms ?? now) };
}

/** The runs whose attempts tell of waits that may be worth folding, the longest of them. */
export function retried(runs: readonly TimelineRun[], now: number): TimelineRun[] {
  const length = (run: TimelineRun): number => spanOf(run, now).to - spanOf(run, now).from;
  return runs
    .filter((run) => run.retries > 0 && !run.loop && length(run) > FOLD_MS)
    .sort((a, b) => length(b) - length(a))
    .slice(0, BANDS_MAX);
}

/**
 * When a run was busy, by its attempts: a wait before the next attempt is idle time, as one between two runs is. Of a
 * run that goes on, what came after the last attempt that is known counts as busy, unless that one asked for a wait.
 */
export function busyOf(run: TimelineRun, attempts: readonly AttemptRow[], now: number): Span[] {
  const whole = spanOf(run, now);
  if (!attempts.length) return [whole];
  let at = whole.from;
  const busy: Span[] = [];
  for (const one of attempts) {
    const wait = (one.delay_seconds ?? 0) * 1000;
    if (one.ended_ms === null || one.do !== "retry" || wait <= 0) continue;
    busy.push({ from: at, to: Math.max(at, one.ended_ms) });
    at = Math.min(whole.to, Math.max(at, one.ended_ms + wait));
  }
  return [...busy, { from: at, to: Math.max(at, whole.to) }];
}

/** Stretches joined where they touch, in order. */
export function union(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else joined.push({ ...span });
  }
  return joined;
}

/** The stretches between them, the widest first, that are worth folding. */
export function idle(spans: readonly Span[], from: number, to: number): Span[] {
  const busy = union(spans);
  const between: Span[] = [];
  let at = from;
  for (const span of busy) {
    if (span.from > at) between.push({ from: at, to: span.from });
    at = Math.max(at, span.to);
  }
  if (to > at) between.push({ from: at, to });
  const least = Math.max(FOLD_MS, (to - from) * FOLD_SHARE);
  return between
    .filter((gap) => gap.to - gap.from > least)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, BANDS_MAX)
    .sort((a, b) => a.from - b.from);
}

interface Piece extends Span {
  left: number;
  right: number;
}

/** A scale over everything, with idle stretches folded. */
export function scaleOf(spans: readonly Span[], isFolding = true): Scale {
  const from = 0;
  const to = Math.max(1, ...ends(spans));
  const folded = isFolding ? idle(spans, from, to) : [];
  const kept = to - from - folded.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const share = (1 - BAND * folded.length) / Math.max(kept, 1e-9);
  const pieces: Piece[] = [];
  const gaps: Gap[] = [];
  let time = from;
  let place = 0;
  const add = (until: number, width: number): Piece => {
    const piece = { from: time, to: until, left: place, right: place + width };
    pieces.push(piece);
    time = until;
    place += width;
    return piece;
  };
  for (const gap of folded) {
    if (gap.from > time) add(gap.from, (gap.from - time) * share);
    gaps.push(add(gap.to, BAND));
  }
  if (to > time || !pieces.length) add(to, (to - time) * share);
  return { from, to, gaps, at: (ms) => placeIn(pieces, ms), ms: (at) => timeIn(pieces, at) };
}

function ends(spans: readonly Span[]): number[] {
  return [spans.reduce((most, span) => Math.max(most, span.to), 0)];
}

function placeIn(pieces: readonly Piece[], ms: number): number {
  for (const piece of pieces) {
    if (ms <= piece.to || piece === pieces.at(-1)) {
      const share = piece.to > piece.from ? (ms - piece.from) / (piece.to - piece.from) : 0;
      return piece.left + Math.min(1, Math.max(0, share)) * (piece.right - piece.left);
    }
  }
  return 0;
}

function timeIn(pieces: readonly Piece[], place: number): number {
  for (const piece of pieces) {
    if (place <= piece.right || piece === pieces.at(-1)) {
      const share = piece.right > piece.left ? (place - piece.left) / (piece.right - piece.left) : 0;
      return piece.from + Math.min(1, Math.max(0, share)) * (piece.to - piece.from);
    }
  }
  return 0;
}

export interface View {
  from: number;
  to: number;
}
export const WHOLE: View = { from: 0, to: 1 };
const NARROWEST = 1e-5;

/** A view that is `by` times as wide, around a place; it stays within the whole. */
export function zoomed(view: View, by: number, around = (view.from + view.to) / 2): View {
  const width = Math.min(1, Math.max(NARROWEST, (view.to - view.from) * by));
  const share = (around - view.from) / (view.to - view.from);
  return moved({ from: around - share * width, to: around + (1 - share) * width }, 0);
}

/** A view moved by a share of its own width; it stays within the whole. */
export function moved(view: View, by: number): View {
  const width = view.to - view.from;
  const from = Math.min(1 - width, Math.max(0, view.from + by * width));
  return { from, to: from + width };
}

/** A place as seen through a view, as a share of what is seen; may lie outside 0 to 1. */
export function seen(view: View, place: number): number {
  return (place - view.from) / (view.to - view.from);
}

/** A share as a length of CSS. */
export const percent = (share: number): string => `${(share * 100).toFixed(4)}%`;

const STEPS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1e3,
  2e3,
  5e3,
  10e3,
  15e3,
  30e3,
  60e3,
  120e3,
  300e3,
  600e3,
  900e3,
  1800e3,
  3600e3,
  7200e3,
  14400e3,
  43200e3,
  86400e3,
  7 * 86400e3,
  30 * 86400e3,
];

export interface Tick {
  ms: number;
  words: string;
}

/** Moments worth a mark on the axis: round ones, about `wanted` of them, none in a folded gap. */
export function ticks(scale: Scale, view: View, wanted = 8): Tick[] {
  const from = scale.ms(view.from);
  const to = scale.ms(view.to);
  const shown = scale.gaps.reduce((sum, gap) => sum - overlap(gap, { from, to }), to - from);
  const step = STEPS_MS.find((one) => shown / one <= wanted) ?? (STEPS_MS.at(-1) as number);
  const found: Tick[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (let ms = Math.ceil(from / step) * step; ms <= to && found.length < wanted * 4; ms += step) {
    const gap = scale.gaps.find((one) => ms > one.from && ms < one.to);
    if (gap) {
      ms = Math.floor(gap.to / step) * step;
      continue;
    }
    const place = seen(view, scale.at(ms));
    if (place - last < 0.5 / wanted) continue; // two marks would stand in each other
    last = place;
    found.push({ ms, words: tickWords(ms, step) });
  }
  return found;
}

/** A moment as finely as the axis is divided: "400 ms", "2.5 s", "1:34.2", "2:00:05". */
export function tickWords(ms: number, step: number): string {
  if (ms < 10_000) return duration(ms);
  const decimals = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  const seconds = (ms % 60_000) / 1000;
  const minutes = Math.floor(ms / 60_000);
  if (!minutes) return `${seconds.toFixed(decimals)} s`;
  const rest = seconds.toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

function overlap(one: Span, other: Span): number {
  return Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));
}

/** The links of the critical path: each run with the run of it that it waited for. */
export function criticalLinks(runs: readonly TimelineRun[]): [TimelineRun, TimelineRun][] {
  const critical = runs.filter((run) => run.is_critical);
  const byRun = new Map(critical.map((run) => [run.run, run]));
  const links: [TimelineRun, TimelineRun][] = [];
  for (const run of critical) {
    const sources = run.sources.map((source) => byRun.get(source)).filter((source) => source !== undefined);
    const latest = sources.sort((a, b) => (b.ended_ms ?? 0) - (a.ended_ms ?? 0))[0];
    if (latest) links.push([latest, run]);
  }
  return links;
}
