/** Short words about what was just done. `toast("Cancelled")`, `toast.failed(error)`. Readers hear them. */
import { useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { Link } from "wouter";
import { wordsOf } from "@/api/problem";
import { Button } from "./Button";
import { useFront } from "./fronts";
import { Icon } from "./icons";

interface Toast {
  id: number;
  text: string;
  tone: "ok" | "bad";
  link?: { href: string; text: string };
}

const SHOWN_MS = { ok: 5000, bad: 12_000 };
const MOST = 4;
let shown: readonly Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function change(toasts: readonly Toast[]): void {
  shown = toasts;
  for (const watcher of watchers) watcher();
}

function remove(id: number): void {
  change(shown.filter((one) => one.id !== id));
}

function add(text: string, tone: Toast["tone"], link?: Toast["link"]): void {
  const id = next++;
  change([...shown.slice(1 - MOST), { id, text, tone, link }]);
  window.setTimeout(() => remove(id), SHOWN_MS[tone]);
}

export const toast = Object.assign((text: string, link?: Toast["link"]) => add(text, "ok", link), {
  failed: (error: unknown) => add(wordsOf(error), "bad"),
});

export function Toasts() {
  const toasts = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => shown,
  );
  const front = useFront();
  // The page behind a modal dialog is out of reach, for eyes and readers: so they stand inside the front one.
  return createPortal(
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((one) => (
        <div key={one.id} className={`toast toast-${one.tone}`}>
          <Icon name={one.tone === "ok" ? "check" : "alert"} />
          <span className="toast-text">{one.text}</span>
          {one.link ? <Link href={one.link.href}>{one.link.text}</Link> : null}
          <Button icon="cross" look="quiet" size="s" aria-label="Dismiss" onClick={() => remove(one.id)} />
        </div>
      ))}
    </div>,
    front ?? document.body,
  );
}
