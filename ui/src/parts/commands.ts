/** What Ctrl-K offers. A page adds its own while it is there: `useCommands([{ id, title, run }])`. */
import { useEffect, useSyncExternalStore } from "react";
import type { IconName } from "./icons";

export interface PaletteCommand {
  id: string;
  title: string;
  /** Said beside it: where it leads, what it is. */
  hint?: string;
  icon?: IconName;
  run: () => void;
}

let commands: readonly PaletteCommand[] = [];
const watchers = new Set<() => void>();

function change(next: readonly PaletteCommand[]): void {
  commands = next;
  for (const watcher of watchers) watcher();
}

/** Adds commands until the function that it gives back is called. */
export function registerCommands(given: readonly PaletteCommand[]): () => void {
  change([...commands, ...given]);
  return () => change(commands.filter((one) => !given.includes(one)));
}

/** The same for a component. The list must be kept (useMemo), else it is taken out and put in at each drawing. */
export function useCommands(given: readonly PaletteCommand[]): void {
  useEffect(() => registerCommands(given), [given]);
}

export function useAllCommands(): readonly PaletteCommand[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => commands,
  );
}

/** How well a text answers what was typed: higher is better, 0 is not at all. Letters in order, words' beginnings first. */
export function score(typed: string, text: string): number {
  const wanted = typed.toLowerCase().trim();
  const given = text.toLowerCase();
  if (!wanted) return 1;
  const at = given.indexOf(wanted);
  if (at === 0) return 100;
  if (at > 0) return /[\s/._-]/.test(given[at - 1] ?? "") ? 80 : 60;
  let place = 0;
  for (const letter of wanted.replaceAll(" ", "")) {
    place = given.indexOf(letter, place) + 1;
    if (!place) return 0;
  }
  return 20;
}
