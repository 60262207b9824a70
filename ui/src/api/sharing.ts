/**
 * One connection for all tabs: a browser has six for one server, and each stream takes one. The tab that holds a lock
 * follows and tells the others; when it closes or nobody looks at it any more, the next one takes over. Where a browser
 * has no locks (plain http off this machine), each tab has its own connection.
 */
import { type Following, type FollowState, follow, shown, whenHidden } from "./following";
import type { ServerEvent } from "./sse";

type Told = { kind: "events"; events: ServerEvent[] } | { kind: "state"; state: FollowState } | { kind: "ask" };

/** A name for what tabs with the same token share; nothing of the token can be read from it. */
export function sharedName(what: string, token: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < token.length; at += 1) sum = Math.imul(sum ^ token.charCodeAt(at), 0x01000193) >>> 0;
  return `noetl.${what}.${sum.toString(16)}`;
}

/** As `follow`, together with all tabs that give the same name. */
export function followTogether(name: string, given: Following): () => void {
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined") return follow(given);
  const channel = new BroadcastChannel(name);
  const ending = new AbortController();
  let own: FollowState | null = null; // of the connection that this tab has; null: another has it
  const post = (told: Told): void => {
    if (!ending.signal.aborted) channel.postMessage(told);
  };
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data.kind === "ask" && own) post({ kind: "state", state: own });
    if (own) return;
    if (data.kind === "events") given.onEvents(data.events);
    if (data.kind === "state") given.onState?.(data.state);
  };
  post({ kind: "ask" });
  void take();
  return () => {
    ending.abort();
    channel.close();
  };

  async function take(): Promise<void> {
    while (!ending.signal.aborted) {
      await shown(ending.signal);
      const leaving = new AbortController();
      const leave = (): void => leaving.abort();
      const unwatch = whenHidden(leave);
      ending.signal.addEventListener("abort", leave);
      if (ending.signal.aborted) leave();
      try {
        await navigator.locks.request(name, { signal: leaving.signal }, () => lead(leaving.signal));
      } catch {
        // Nobody looked at this tab while it waited for its turn. Any other reason holds for good: then it goes alone.
        if (!leaving.signal.aborted) await lead(ending.signal);
      }
      unwatch();
      ending.signal.removeEventListener("abort", leave);
    }
  }

  function lead(leaving: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (leaving.aborted) return resolve();
      const stop = follow({
        ...given,
        onEvents: (events) => {
          given.onEvents(events);
          post({ kind: "events", events });
        },
        onState: (state, problem) => {
          own = state;
          given.onState?.(state, problem);
          post({ kind: "state", state });
        },
      });
      leaving.addEventListener("abort", () => {
        stop();
        own = null;
        resolve();
      });
    });
  }
}
