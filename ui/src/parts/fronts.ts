/** Modal dialogs that are open, the front one last: what is outside of it is neither seen nor heard. */
import { useSyncExternalStore } from "react";

let open: readonly HTMLElement[] = [];
const watchers = new Set<() => void>();

function change(next: readonly HTMLElement[]): void {
  open = next;
  for (const watcher of watchers) watcher();
}

/** Notes that a dialog came to the front, until the function that it gives back is called. */
export function toFront(dialog: HTMLElement): () => void {
  change([...open, dialog]);
  return () => change(open.filter((one) => one !== dialog));
}

export function front(): HTMLElement | null {
  return open.at(-1) ?? null;
}

/** The element that everything can be seen in now. */
export function useFront(): HTMLElement | null {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, front);
}
