/** Moving through the events: where a key leads, and which marks stand on the slider. Pure. */
import type { Mark } from "./asking";

const FAR = 10; // events that Shift and an arrow go

/** Where a key leads from an event; null: the key means nothing here. */
export function moveOf(
  key: string,
  isShift: boolean,
  seq: number,
  last: number,
  marks: readonly Mark[],
): number | null {
  const step = isShift ? FAR : 1;
  const to = new Map<string, number>([
    ["ArrowLeft", seq - step],
    ["ArrowDown", seq - step],
    ["ArrowRight", seq + step],
    ["ArrowUp", seq + step],
    ["PageUp", markBefore(marks, seq)],
    ["PageDown", markAfter(marks, seq, last)],
    ["Home", 1],
    ["End", last],
  ]);
  const found = to.get(key);
  return found === undefined ? null : within(found, last);
}

export function within(seq: number, last: number): number {
  return Math.min(Math.max(1, last), Math.max(1, Math.round(seq)));
}

export function markAfter(marks: readonly Mark[], seq: number, last: number): number {
  return marks.find((mark) => mark.seq > seq)?.seq ?? last;
}

export function markBefore(marks: readonly Mark[], seq: number): number {
  return marks.findLast((mark) => mark.seq < seq)?.seq ?? 1;
}

const PLAIN_MAX = 200; // of so many events each is played, of more the marks

/** The next stop of play; null: it is over. */
export function nextStop(marks: readonly Mark[], seq: number, last: number): number | null {
  if (seq >= last) return null;
  return last <= PLAIN_MAX ? seq + 1 : markAfter(marks, seq, last);
}

/** Which lines of a value changed: each changed path, as the tree of values names them ("$.orders[3].total"). */
export function changedPaths(paths: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const path of paths) found.add(`$.${path.replace(/^ctx\./, "")}`);
  return found;
}

/** Whether a line of the tree is, or lies in, something that changed. */
export function isChanged(line: string, changed: ReadonlySet<string>): boolean {
  if (changed.has(line)) return true;
  for (const path of changed) if (line.startsWith(path) && /^[.[]/.test(line.slice(path.length))) return true;
  return false;
}
