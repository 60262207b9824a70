/** What a rerun asks for, out of what a person typed. Pure. */
import { isSame, typed, untyped } from "./values";

export type From = { from: "beginning" } | { from: "step"; step: string } | { from: "event"; at: number };

export interface Free {
  id: number;
  name: string;
  text: string;
}

export const LONG = 4000; // characters: what is longer is changed by naming a place in it

/** The values one may change: of the workload, and past the beginning of ctx. */
export function namesOf(
  workload: Record<string, unknown>,
  ctx: Record<string, unknown>,
  from: From["from"],
): { name: string; value: unknown }[] {
  const rows = Object.entries(workload).map(([key, value]) => ({ name: `workload.${key}`, value }));
  if (from === "beginning") return rows;
  return [...Object.entries(ctx).map(([key, value]) => ({ name: `ctx.${key}`, value })), ...rows];
}

const NAME = /^[^.\s]+(\.[^.\s]+)*$/;

export function faultOf(row: Free, from: From["from"]): string {
  if (!row.name && !row.text) return "";
  if (!NAME.test(row.name)) return "a dotted name: ctx.limit, workload.orders.url";
  if (from === "beginning" && row.name.startsWith("ctx.")) return "ctx is empty at the beginning";
  return "";
}

/** What differs from what there is, by name. */
export function setOf(
  rows: readonly { name: string; value: unknown }[],
  edited: Readonly<Record<string, string>>,
  free: readonly Free[],
  from: From["from"],
): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const { name, value } of rows) {
    const text = edited[name];
    if (text === undefined || text === untyped(value, true)) continue;
    const next = typed(text);
    if (!isSame(next, value)) set[name] = next;
  }
  for (const row of free) if (row.name && !faultOf(row, from)) set[row.name] = typed(row.text);
  return set;
}

/** The same as words of a command line. */
export function wordsOf(
  id: string,
  from: From,
  set: Readonly<Record<string, unknown>>,
  hasText: boolean,
  shownValue: (value: unknown) => string,
): string[] {
  const words = ["rerun", id];
  if (from.from === "step") words.push("--from", from.step);
  if (from.from === "event") words.push("--at", String(from.at));
  for (const [name, value] of Object.entries(set)) words.push("--set", `${name}=${shownValue(value)}`);
  if (hasText) words.push("--playbook", "playbook.yaml");
  return words;
}
