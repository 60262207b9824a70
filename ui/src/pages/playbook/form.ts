/**
 * The run form of a playbook: a field for each name of its workload, of the type that the default has. Pure.
 * What a field holds is text (or a switch); what is sent is a value. Only what was changed is sent.
 */
const SHORT_MAX = 60; // characters of data that stand in one line
export type Kind = "text" | "lines" | "number" | "switch" | "data";

export interface FormField {
  name: string;
  kind: Kind;
  value: unknown; // the default
  /** The default as the field shows it. */
  shown: string;
}

export type Typed = Readonly<Record<string, string>>;

export interface Filled {
  /** What was changed: the payload. */
  payload: Record<string, unknown>;
  faults: Record<string, string>;
}

export function fieldsOf(workload: Readonly<Record<string, unknown>>): FormField[] {
  return Object.entries(workload).map(([name, value]) => {
    const kind = kindOf(value);
    return { name, kind, value, shown: shownOf(kind, value) };
  });
}

function kindOf(value: unknown): Kind {
  if (typeof value === "boolean") return "switch";
  if (typeof value === "number") return "number";
  if (typeof value === "string") return value.includes("\n") ? "lines" : "text";
  return "data"; // lists, mappings, and null, which says nothing of its type
}

export function shownOf(kind: Kind, value: unknown): string {
  if (kind !== "data") return String(value);
  const short = JSON.stringify(value ?? null);
  return short.length <= SHORT_MAX ? short : JSON.stringify(value, null, 2);
}

/** The payload that the fields hold, and what is wrong with them. */
export function filled(fields: readonly FormField[], typed: Typed, others = ""): Filled {
  const changed: [string, unknown][] = [];
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = Object.hasOwn(typed, field.name) ? typed[field.name] : undefined;
    if (text === undefined || text === field.shown) continue;
    const read = readValue(field.kind, text);
    if ("fault" in read) faults[field.name] = read.fault;
    else if (!isSame(read.value, field.value)) changed.push([field.name, read.value]);
  }
  return { payload: { ...Object.fromEntries(changed), ...takeOthers(others, faults) }, faults };
}

export const OTHERS = " others"; // no name of a workload begins with a space

function takeOthers(text: string, faults: Record<string, string>): Record<string, unknown> {
  if (!text.trim()) return {};
  const read = readValue("data", text);
  if ("fault" in read) faults[OTHERS] = read.fault;
  else if (read.value === null || typeof read.value !== "object" || Array.isArray(read.value)) {
    faults[OTHERS] = 'This must be a JSON mapping, as {"name": 1}.';
  } else return read.value as Record<string, unknown>;
  return {};
}

type ReadValue = { value: unknown } | { fault: string };

export function readValue(kind: Kind, text: string): ReadValue {
  if (kind === "switch") return { value: text === "true" };
  if (kind === "number") return numberOf(text);
  if (kind === "data") return dataOf(text);
  return { value: text };
}

function numberOf(text: string): ReadValue {
  const value = Number(text);
  if (!text.trim() || !Number.isFinite(value)) return { fault: "This must be a number, as 12 or 0.5." };
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return { fault: "A browser cannot hold so large a number exactly: give it on the command line." };
  }
  return { value };
}

function dataOf(text: string): ReadValue {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const AS_IT_STANDS = /^[A-Za-z_/][^\n]*$/;
const WORDS = /^(?:true|false|null|yes|no|on|off|nan|inf|infinity|\.inf|\.nan)$/i;
const SETTABLE = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `noetl run` with these values. A name that --set would read as a path goes as a whole payload. */
export function runWords(path: string, version: number | null, payload: Readonly<Record<string, unknown>>): string[] {
  const words = ["run", version === null ? path : `${path}@${version}`];
  const names = Object.keys(payload);
  if (!names.every((name) => SETTABLE.test(name))) return [...words, "--payload", JSON.stringify(payload)];
  for (const name of names) words.push("--set", `${name}=${written(payload[name])}`);
  return words;
}

/** A value as --set reads it: text as it stands where that is read as text, all else as JSON. */
function written(value: unknown): string {
  const isPlain = typeof value === "string" && AS_IT_STANDS.test(value) && !WORDS.test(value) && value === value.trim();
  return isPlain ? value : (JSON.stringify(value) ?? "null");
}
