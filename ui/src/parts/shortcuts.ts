/** Keys that do something: `useShortcut("g e", "Go to executions", go)`. `?` lists those that are in force. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Shortcut {
  /** "?", "/", "mod+k", "g e": one after the other. `mod` is Ctrl, on a Mac ⌘. */
  keys: string;
  title: string;
  run: () => void;
  /** Works while a field has the focus. */
  isEverywhere?: boolean;
}

const NEXT_MS = 900; // for the second key of two
let shortcuts: readonly Shortcut[] = [];
let began = "";
let beganAt = 0;
const watchers = new Set<() => void>();

function change(next: readonly Shortcut[]): void {
  shortcuts = next;
  for (const watcher of watchers) watcher();
}

export function addShortcuts(given: readonly Shortcut[]): () => void {
  change([...shortcuts, ...given]);
  return () => change(shortcuts.filter((one) => !given.includes(one)));
}

export function keyOf(event: { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean }): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return `${event.ctrlKey || event.metaKey ? "mod+" : ""}${event.altKey ? "alt+" : ""}${key}`;
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null;
}

function hear(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const key = keyOf(event);
  const both = Date.now() - beganAt < NEXT_MS && began ? `${began} ${key}` : key;
  const usable = shortcuts.filter((one) => one.isEverywhere || !isField(event.target));
  const found = usable.findLast((one) => one.keys === both) ?? usable.findLast((one) => one.keys === key);
  const isModal = document.querySelector("dialog[open]") !== null;
  began = usable.some((one) => one.keys.startsWith(`${key} `)) ? key : "";
  beganAt = Date.now();
  if (!found || (isModal && !found.isEverywhere)) return;
  event.preventDefault();
  began = "";
  found.run();
}

/** Listens. Once, by the frame of all pages. */
export function useShortcutKeys(): void {
  useEffect(() => {
    window.addEventListener("keydown", hear);
    return () => window.removeEventListener("keydown", hear);
  }, []);
}

export function useShortcut(keys: string, title: string, run: () => void, isEverywhere = false): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(
    () => addShortcuts([{ keys, title, run: () => latest.current(), isEverywhere }]),
    [keys, title, isEverywhere],
  );
}

export function useShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => shortcuts,
  );
}
