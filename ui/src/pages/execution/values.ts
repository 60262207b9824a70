/** Values that people type: JSON where it is JSON, text where it is not. Pure. */

/** What was typed, as a value: `3` is a number, `true` a boolean, `{"a": 1}` a mapping, `hello` and `"3"` are text. */
export function typed(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return "";
  try {
    return JSON.parse(trimmed);
  } catch {
    return text;
  }
}

/** A value as one would type it: text without quotes, unless it would be read as something else. */
export function untyped(value: unknown, isLong = false): string {
  if (typeof value !== "string") return JSON.stringify(value, null, isLong ? 2 : undefined) ?? "";
  return typed(value) === value ? value : JSON.stringify(value);
}

/** A value behind `--set name=`, which the command line reads as a YAML scalar; JSON is YAML. */
export function commandValue(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return /^[A-Za-z_][\w ./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Whether two values are the same JSON. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      isSame((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}

export interface Difference {
  /** Dotted: "orders[3].total"; "" is the value itself. */
  path: string;
  before: unknown;
  after: unknown;
  kind: "added" | "removed" | "changed";
}

const DIFFERENCES_MAX = 500;

/** Where two values differ, by path, deepest place that says it; bounded. */
export function differences(before: unknown, after: unknown, most = DIFFERENCES_MAX): Difference[] {
  const found: Difference[] = [];
  walk(before, after, "", found, most);
  return found;
}

function walk(before: unknown, after: unknown, path: string, found: Difference[], most: number): void {
  if (found.length >= most || isSame(before, after)) return;
  const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    found.push({ path, before, after, kind: kindOf(before, after) });
    return;
  }
  const old = before as Record<string, unknown>;
  const now = after as Record<string, unknown>;
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const place = Array.isArray(before) ? `${path}[${key}]` : path ? `${path}.${key}` : key;
    const a = Object.hasOwn(old, key) ? old[key] : undefined;
    const b = Object.hasOwn(now, key) ? now[key] : undefined;
    walk(a, b, place, found, most);
  }
}

function kindOf(before: unknown, after: unknown): Difference["kind"] {
  if (before === undefined) return "added";
  return after === undefined ? "removed" : "changed";
}
