/**
 * A stream of server-sent events by fetch, because EventSource can send no token. It comes back by itself where it was
 * (Last-Event-ID), waits longer after each failure, rests while the page is hidden, and ends for good when the server
 * says 204 or refuses.
 */
import { ask } from "./client";
import { Problem } from "./problem";
import { EventReader, type ServerEvent } from "./sse";

export type FollowState = "connecting" | "live" | "reconnecting" | "ended" | "refused";

export interface Following {
  address: string;
  /** The last event that is here already. */
  lastId?: string;
  onEvents: (events: ServerEvent[]) => void;
  onState?: (state: FollowState, problem?: Problem) => void;
}

export const BACKOFF_MS = { first: 500, most: 15_000 };
const SILENCE_MS = 40_000; // the server says something every 15 s: after this long the connection is dead
const HIDDEN_MS = 5_000; // a page that nobody sees gives its connection back: a browser has six for one server

/** How long to wait before try number `failures` (1 is the first), with a share of chance so that pages do not come in step. */
export function waitOf(failures: number, chance: number = Math.random()): number {
  const full = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (failures - 1));
  return full / 2 + (full / 2) * chance;
}

/** Follows until the function that it gives back is called. */
export function follow(given: Following): () => void {
  const ending = new AbortController();
  void run(given, ending.signal);
  return () => ending.abort();
}

async function run(given: Following, ending: AbortSignal): Promise<void> {
  const tell = (state: FollowState, problem?: Problem): void => {
    if (!ending.aborted) given.onState?.(state, problem);
  };
  let lastId = given.lastId ?? "";
  let failures = 0;
  tell("connecting");
  while (!ending.aborted) {
    await shown(ending);
    if (ending.aborted) return;
    const reader = new EventReader(lastId);
    try {
      const isOver = await read(given, reader, ending, () => {
        failures = 0;
        tell("live");
      });
      if (isOver) return tell("ended");
      failures = Math.max(failures, 1);
    } catch (error) {
      if (ending.aborted) return;
      if (error instanceof Problem && error.status > 0 && !error.isPassing && error.status < 500)
        return tell("refused", error);
      failures += 1;
      tell("reconnecting");
    }
    lastId = reader.lastId;
    await pause(failures ? waitOf(failures) : 0, ending);
  }
}

/** One connection, to its end. True: there will be nothing more. */
async function read(given: Following, reader: EventReader, ending: AbortSignal, opened: () => void): Promise<boolean> {
  const cutting = new AbortController();
  const cut = (): void => cutting.abort();
  ending.addEventListener("abort", cut);
  const sleeping = whenHidden(cut);
  let silence: number | undefined;
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (reader.lastId) headers["Last-Event-ID"] = reader.lastId;
    const response = await ask("GET", given.address, { headers, signal: cutting.signal });
    if (response.status === 204 || !response.body) return true;
    opened();
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      window.clearTimeout(silence);
      silence = window.setTimeout(cut, SILENCE_MS);
      const { value, done } = await pieces.read();
      if (done || ending.aborted) return false;
      const events = reader.feed(value);
      if (events.length) given.onEvents(events);
    }
  } catch (error) {
    if (cutting.signal.aborted && !ending.aborted) return false; // silent or hidden: come back without a fuss
    throw error;
  } finally {
    window.clearTimeout(silence);
    sleeping();
    ending.removeEventListener("abort", cut);
    cutting.abort();
  }
}

/** Calls when nobody has looked at the page for a while, until the function that it gives back is called. */
export function whenHidden(cut: () => void): () => void {
  let timer: number | undefined;
  const look = (): void => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(cut, HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** When somebody looks at the page, or the signal ends the waiting. */
export function shown(ending: AbortSignal): Promise<void> {
  if (!document.hidden || ending.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !ending.aborted) return;
      document.removeEventListener("visibilitychange", look);
      ending.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    ending.addEventListener("abort", look);
  });
}

function pause(milliseconds: number, ending: AbortSignal): Promise<void> {
  if (!milliseconds || ending.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      window.clearTimeout(timer);
      ending.removeEventListener("abort", done);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = window.setTimeout(done, milliseconds);
    ending.addEventListener("abort", done);
    window.addEventListener("online", done);
  });
}
