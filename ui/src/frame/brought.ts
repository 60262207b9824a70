/** A file that was dropped anywhere on the pages, until the page that opens files takes it. */
let waiting: File | null = null;
const watchers = new Set<() => void>();

export function bring(file: File): void {
  waiting = file;
  for (const watcher of watchers) watcher();
}

/** The file that waits, once. */
export function takeBrought(): File | null {
  const file = waiting;
  waiting = null;
  return file;
}

export function watchBrought(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
