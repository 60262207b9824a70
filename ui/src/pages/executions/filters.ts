/**
 * Which executions: chips, the query line and the address are three spellings of one thing, Filters. Pure.
 *
 *     status:failed,incident path:team/* since:24h is:root orders
 */
import type { Schemas } from "@/api/client";

export const STATUSES = ["running", "waiting", "incident", "success", "failed", "cancelled"] as const;
export type StatusName = (typeof STATUSES)[number];
export type Row = Schemas["ExecutionRow"];

export interface Filters {
  status: readonly StatusName[];
  path: string;
  /** A time ago ("24h") or a moment ("2026-03-01T12:00Z"), as it was written. */
  since: string;
  until: string;
  parent: string;
  /** true: those that no other called; false: those that one did. */
  isRoot: boolean | null;
  /** Text in the path, or the beginning of an id. */
  text: string;
}

export const NONE: Filters = { status: [], path: "", since: "", until: "", parent: "", isRoot: null, text: "" };

export interface Read {
  filters: Filters;
  /** What of the line is not understood, and what may stand there. */
  faults: string[];
}

const KEYS = ["status", "path", "since", "until", "parent", "is"] as const;
const WORD = /(?:[a-z]+:)?"(?:[^"\\]|\\.)*"?|\S+/gi;
const AGO = /^([1-9]\d{0,5})(m|h|d|w)$/;
const SECONDS: Record<string, number> = { m: 60, h: 3600, d: 86_400, w: 604_800 };
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** The filters of a line; what is not understood is said, and the rest counts. */
export function readLine(line: string): Read {
  const filters: { -readonly [K in keyof Filters]: Filters[K] } = { ...NONE };
  const faults: string[] = [];
  const words: string[] = [];
  for (const [word] of line.matchAll(WORD)) {
    const at = word.indexOf(":");
    const key = at > 0 ? word.slice(0, at).toLowerCase() : "";
    const value = unquoted(at > 0 ? word.slice(at + 1) : word);
    if (!key || word.startsWith('"')) words.push(unquoted(word));
    else if (!isKey(key)) faults.push(`"${key}:" is none of ${KEYS.map((one) => `${one}:`).join(" ")}`);
    else if (value) faults.push(...take(filters, key, value));
  }
  filters.text = words.join(" ");
  return { filters, faults };
}

function isKey(key: string): key is (typeof KEYS)[number] {
  return (KEYS as readonly string[]).includes(key);
}

function take(filters: { -readonly [K in keyof Filters]: Filters[K] }, key: string, value: string): string[] {
  if (key === "status") return takeStatus(filters, value);
  if (key === "is") return takeKind(filters, value);
  if (key === "since" || key === "until") {
    if (!isTime(value)) return [`"${value}" is no time: write 24h, 7d, or 2026-03-01T12:00Z`];
    filters[key] = value;
  } else if (key === "parent") {
    if (!/^[1-9]\d{0,18}$/.test(value)) return [`"${value}" is no execution: a parent is named by its number`];
    filters.parent = value;
  } else filters.path = value;
  return [];
}

function takeStatus(filters: { status: readonly StatusName[] }, value: string): string[] {
  const given = value.toLowerCase().split(",").filter(Boolean);
  const wrong = given.filter((one) => !(STATUSES as readonly string[]).includes(one));
  filters.status = STATUSES.filter((one) => given.includes(one) || filters.status.includes(one));
  return wrong.map((one) => `"${one}" is no status: ${STATUSES.join(", ")}`);
}

function takeKind(filters: { isRoot: boolean | null }, value: string): string[] {
  if (value !== "root" && value !== "child") return [`"is:${value}" is neither is:root nor is:child`];
  filters.isRoot = value === "root";
  return [];
}

function unquoted(word: string): string {
  if (!word.startsWith('"')) return word;
  return word.replace(/^"|(?<!\\)"$/g, "").replace(/\\(.)/g, "$1");
}

function quotedWord(value: string, mustBe = /[\s"]/): string {
  return mustBe.test(value) ? `"${value.replace(/(["\\])/g, "\\$1")}"` : value;
}

/** The line of filters: reading it gives the same filters again. */
export function lineOf(filters: Filters): string {
  const words: string[] = [];
  if (filters.status.length) words.push(`status:${filters.status.join(",")}`);
  if (filters.path) words.push(`path:${quotedWord(filters.path)}`);
  if (filters.since) words.push(`since:${filters.since}`);
  if (filters.until) words.push(`until:${filters.until}`);
  if (filters.parent) words.push(`parent:${filters.parent}`);
  if (filters.isRoot !== null) words.push(filters.isRoot ? "is:root" : "is:child");
  if (filters.text) words.push(quotedWord(filters.text, /[:"]/));
  return words.join(" ");
}

/** The filters of an address; what it has wrong is left out. */
export function readAddress(search: string): Filters {
  const asked = new URLSearchParams(search);
  const of = (name: string): string => asked.get(name) ?? "";
  const isRoot = of("is_root");
  const status = of("status").split(",");
  return {
    status: STATUSES.filter((one) => status.includes(one)),
    path: of("path"),
    since: isTime(of("since")) ? of("since") : "",
    until: isTime(of("until")) ? of("until") : "",
    parent: /^[1-9]\d{0,18}$/.test(of("parent")) ? of("parent") : "",
    isRoot: isRoot === "true" ? true : isRoot === "false" ? false : null,
    text: of("q"),
  };
}

/** The same, as the words of an address. */
export function addressWords(filters: Filters): Record<string, string> {
  const words: Record<string, string> = {};
  if (filters.status.length) words.status = filters.status.join(",");
  for (const name of ["path", "since", "until", "parent"] as const) if (filters[name]) words[name] = filters[name];
  if (filters.isRoot !== null) words.is_root = String(filters.isRoot);
  if (filters.text) words.q = filters.text;
  return words;
}

export function isTime(value: string): boolean {
  return AGO.test(value) || (MOMENT.test(value) && !Number.isNaN(Date.parse(value)));
}

/** The moment that a time means, in milliseconds; NaN if it is none. */
export function timeOf(value: string, now: number): number {
  const [, many, unit] = AGO.exec(value) ?? [];
  if (many && unit) return now - Number(many) * (SECONDS[unit] ?? 0) * 1000;
  return MOMENT.test(value) ? Date.parse(value) : Number.NaN;
}

/** What the API is asked. Times ago become moments now. */
export function askedOf(filters: Filters, now: number) {
  const at = (value: string): string | undefined => {
    const ms = value ? timeOf(value, now) : Number.NaN;
    return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
  };
  return {
    status: filters.status.join(",") || undefined,
    path: filters.path || undefined,
    since: at(filters.since),
    until: at(filters.until),
    parent: filters.parent || undefined,
    is_root: filters.isRoot ?? undefined,
    q: filters.text || undefined,
  };
}

/** Whether a row is one of those that are asked for: decided here for rows that the bell brings. */
export function isWanted(row: Row, filters: Filters, now: number): boolean {
  const created = Date.parse(row.created_at);
  if (filters.status.length && !filters.status.includes(row.status)) return false;
  if (filters.path.endsWith("*")) {
    if (!row.path.startsWith(filters.path.slice(0, -1))) return false;
  } else if (filters.path && row.path !== filters.path) return false;
  if (filters.since && created < timeOf(filters.since, now)) return false;
  if (filters.until && created > timeOf(filters.until, now)) return false;
  if (filters.parent && row.parent_execution_id !== filters.parent) return false;
  if (filters.isRoot !== null && (row.parent_execution_id === null) !== filters.isRoot) return false;
  const text = filters.text.toLowerCase();
  return !text || row.path.toLowerCase().includes(text) || row.execution_id.startsWith(text);
}

export function isNone(filters: Filters): boolean {
  return lineOf(filters) === "";
}

/** The same list as a command line; null where it has no word for one of the filters. */
export function commandOf(filters: Filters): string[] | null {
  if (filters.parent || filters.isRoot === false) return null;
  const words = ["list"];
  if (filters.status.length) words.push("--status", filters.status.join(","));
  for (const name of ["path", "since", "until"] as const) if (filters[name]) words.push(`--${name}`, filters[name]);
  if (filters.isRoot) words.push("--root");
  if (filters.text) words.push("--q", filters.text);
  return words;
}
