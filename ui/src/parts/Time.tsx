import { useSyncExternalStore } from "react";
import { duration, exact, moment, relative } from "./format";

const TICK_MS = 1000;
let now = Date.now();
let timer: number | undefined;
const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  if (timer === undefined) now = Date.now(); // while nobody looked it stood still
  timer ??= window.setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const one of watchers) one();
  }, TICK_MS);
  return () => {
    watchers.delete(watcher);
    if (!watchers.size) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, once a second, for all that show it. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}

/** A moment of the API: "3 m ago", with the exact time as title. */
export function Time({ at, fallback = "–" }: { at: string | null | undefined; fallback?: string }) {
  const ms = moment(at);
  const text = useTicked((time) => (Number.isNaN(ms) ? fallback : relative(ms, time)));
  if (Number.isNaN(ms)) return <span className="muted">{fallback}</span>;
  return (
    <time dateTime={at ?? undefined} title={exact(ms)} className="nowrap">
      {text}
    </time>
  );
}

/** How long something took; with `since` and no `ms`, how long it has been going on, counted on. */
export function Duration({ ms, since }: { ms: number | null | undefined; since?: string | null }) {
  const began = moment(since);
  const isGoing = (ms === null || ms === undefined) && !Number.isNaN(began);
  const text = useTicked((time) =>
    isGoing ? duration(time - began) : ms === null || ms === undefined ? "–" : duration(ms),
  );
  return <span className={`nowrap ${isGoing ? "going" : ""}`}>{text}</span>;
}

// The text is what is compared: a row whose words do not change is not drawn again.
function useTicked(text: (time: number) => string): string {
  return useSyncExternalStore(watch, () => text(now));
}
