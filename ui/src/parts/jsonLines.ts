/** A value as lines of a tree: what is folded away or beyond a bound is not walked. Pure. */
export interface Line {
  /** Where in the value: "$", "$.orders", "$.orders[3]". */
  path: string;
  depth: number;
  /** The key or index it stands under; null for the value itself. */
  name: string | null;
  kind: "object" | "array" | "string" | "number" | "boolean" | "null" | "more";
  /** The value as text; of an object or array how many it holds. */
  text: string;
  isOpen: boolean;
  /** Whether it can be opened. */
  isBranch: boolean;
}

export const CHILDREN_MAX = 200; // shown of one object or array before "more"
export const TEXT_MAX = 2000; // characters of one string
const LINES_MAX = 5000;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function under(path: string, name: string | number): string {
  if (typeof name === "number") return `${path}[${name}]`;
  return IDENTIFIER.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** The lines that are in sight. `isOpen` decides for each branch; `most` how many children of a branch are shown. */
export function linesOf(
  value: unknown,
  isOpen: (path: string, depth: number) => boolean,
  most: (path: string) => number = () => CHILDREN_MAX,
): Line[] {
  const lines: Line[] = [];
  const walk = (one: unknown, path: string, name: string | null, depth: number): void => {
    if (lines.length >= LINES_MAX) return;
    const line = lineOf(one, path, name, depth);
    lines.push(line);
    if (!line.isBranch || !isOpen(path, depth)) return;
    line.isOpen = true;
    const entries: [string | number, unknown][] = Array.isArray(one)
      ? one.slice(0, most(path)).map((child, at) => [at, child])
      : Object.entries(one as object).slice(0, most(path));
    for (const [key, child] of entries) walk(child, under(path, key), String(key), depth + 1);
    const left = sizeOf(one) - entries.length;
    if (left > 0) {
      lines.push({
        path,
        depth: depth + 1,
        name: null,
        kind: "more",
        text: String(left),
        isOpen: false,
        isBranch: false,
      });
    }
  };
  walk(value, "$", null, 0);
  return lines;
}

function sizeOf(value: unknown): number {
  return Array.isArray(value) ? value.length : Object.keys(value as object).length;
}

function lineOf(value: unknown, path: string, name: string | null, depth: number): Line {
  const line = { path, depth, name, isOpen: false, isBranch: false };
  if (value === null || value === undefined) return { ...line, kind: "null", text: "null" };
  if (Array.isArray(value)) return { ...line, kind: "array", text: `[${value.length}]`, isBranch: value.length > 0 };
  if (typeof value === "object") {
    const size = sizeOf(value);
    return { ...line, kind: "object", text: `{${size}}`, isBranch: size > 0 };
  }
  if (typeof value === "string") {
    const shown = value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value;
    return { ...line, kind: "string", text: JSON.stringify(shown) };
  }
  return { ...line, kind: typeof value === "number" ? "number" : "boolean", text: String(value) };
}

/** Whether a value is best shown as a table: several objects that share keys. */
export function isTabular(value: unknown): value is Record<string, unknown>[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((one) => one !== null && typeof one === "object" && !Array.isArray(one));
}

/** The columns of such a table, in the order in which the rows bring them. */
export function columnsOf(rows: readonly Record<string, unknown>[], most = 40, looked = 200): string[] {
  const found = new Set<string>();
  for (const row of rows.slice(0, looked)) for (const key of Object.keys(row)) found.add(key);
  return [...found].slice(0, most);
}
