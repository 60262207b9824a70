/** Light or dark: what the system prefers, until somebody chooses. */
import { useSyncExternalStore } from "react";

export type Choice = "system" | "light" | "dark";
const KEY = "noetl.theme";
const system = typeof window === "undefined" ? null : window.matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

export function chosenTheme(): Choice {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

// Asked of the system here only: who reads it between a change and its event takes the event away from all.
let dark = false;

export function isDark(): boolean {
  return dark;
}

function apply(): void {
  const choice = chosenTheme();
  dark = choice === "dark" || (choice === "system" && (system?.matches ?? false));
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const watcher of watchers) watcher();
}

/** Once, before anything is drawn. */
export function openTheme(): void {
  system?.addEventListener("change", apply);
  window.addEventListener("storage", (event) => event.key === KEY && apply());
  apply();
}

export function chooseTheme(choice: Choice): void {
  if (choice === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, choice);
  apply();
}

/** Whether it is dark now, for what draws by itself (charts, the editor). */
export function useDark(): boolean {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, isDark);
}
