/**
 * Who one is: a token, in this tab's session storage and nowhere else. It arrives in the address's fragment (which no
 * server ever sees and which is taken off at once), from the login page, or from another open tab of these pages.
 */
const KEY = "noetl.token";
const CHANNEL = "noetl.session";
const ANSWER_MS = 200; // how long other tabs have to answer

type Told = { ask: true } | { token: string } | { left: true };

let token = "";
const listeners = new Set<() => void>();
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(CHANNEL);

export function tokenIn(fragment: string): string {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("token")?.trim() ?? "";
}

/** Finds the token there is. To be awaited once, before anything is asked. */
export async function openSession(): Promise<void> {
  const given = tokenIn(window.location.hash);
  if (given) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  token = given || sessionStorage.getItem(KEY) || "";
  channel?.addEventListener("message", hear);
  if (!token) await askOtherTabs();
  if (token) sessionStorage.setItem(KEY, token);
}

function hear(event: MessageEvent<Told>): void {
  if ("ask" in event.data && token) channel?.postMessage({ token } satisfies Told);
  if ("left" in event.data) changeTo("");
}

function askOtherTabs(): Promise<void> {
  if (!channel) return Promise.resolve();
  return new Promise((resolve) => {
    const ends = window.setTimeout(done, ANSWER_MS);
    function done(): void {
      window.clearTimeout(ends);
      channel?.removeEventListener("message", take);
      resolve();
    }
    function take(event: MessageEvent<Told>): void {
      if (!("token" in event.data)) return;
      token = event.data.token;
      done();
    }
    channel.addEventListener("message", take);
    channel.postMessage({ ask: true } satisfies Told);
  });
}

function changeTo(next: string): void {
  if (next === token) return;
  token = next;
  if (next) sessionStorage.setItem(KEY, next);
  else sessionStorage.removeItem(KEY);
  for (const tell of listeners) tell();
}

export const session = {
  token: (): string => token,
  enter: (given: string): void => changeTo(given.trim()),
  /** Forgets the token in this tab, because the server does not know it any more. */
  drop: (): void => changeTo(""),
  /** Forgets it in every tab: a person leaves. */
  leave: (): void => {
    changeTo("");
    channel?.postMessage({ left: true } satisfies Told);
  },
  subscribe: (tell: () => void): (() => void) => {
    listeners.add(tell);
    return () => listeners.delete(tell);
  },
};
