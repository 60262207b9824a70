/** The kinds of credentials, as a form asks for them, and what playbooks wait for. Pure. */
import type { Schemas } from "@/api/client";
import kinds from "./kinds.json"; // as src/noetl/keychain/kinds.py has them; a test compares

export type Stored = Schemas["UsedCredential"];
export type Missing = Schemas["MissingCredential"];

export interface Kind {
  kind: string;
  /** Ways to give it: all fields of one of these. */
  needs: string[][];
  may_have: string[];
  secret: string[];
  is_open: boolean;
}

export const KINDS: readonly Kind[] = kinds;
const IN_FILES = new Set(["creds", "service_account_key"]); // several lines, which a line of a form would lose

export interface Asked {
  name: string;
  isNeeded: boolean;
  isSecret: boolean;
  isFile: boolean;
}

export function kindNamed(name: string): Kind {
  return KINDS.find((one) => one.kind === name) ?? (KINDS[0] as Kind);
}

/** The fields of one way to give a kind, needed ones first. */
export function fieldsOf(kind: Kind, way: number): Asked[] {
  const needed = kind.needs[way] ?? kind.needs[0] ?? [];
  const others = kind.may_have.filter((name) => !needed.includes(name) && !isOfAnotherWay(kind, way, name));
  const of = (isNeeded: boolean) => (name: string) => ({
    name,
    isNeeded,
    isSecret: kind.secret.includes(name),
    isFile: IN_FILES.has(name),
  });
  return [...needed.map(of(true)), ...others.map(of(false))];
}

// With a whole address nothing else is asked for: it has its own port and options.
function isOfAnotherWay(kind: Kind, way: number, name: string): boolean {
  return kind.needs.length > 1 && kind.needs[way]?.length === 1 && kind.may_have.includes(name);
}

/** The same on the command line, which asks for each field unseen: no value ever stands in a line. */
export function setWords(name: string, kind: string): string[] {
  return ["keychain", "set", name, "--kind", kind];
}

/** The variable that is read where nothing is stored. */
export function variableOf(name: string): string {
  return `NOETL_SECRET_${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}

export function faultOfName(name: string): string {
  if (!name) return "A credential has a name: the one that playbooks declare under keychain.";
  if (name.trim() !== name || name.length > 200) return "A name has 1 to 200 characters, and no space around it.";
  return "";
}

/** What was proved, in one sentence. */
export function proofWords(proof: Schemas["Proof"]): string {
  const tried = proof.tried.length ? ` (${proof.tried.join(", ")})` : "";
  if (proof.is_ok) return `It works${tried}.`;
  const how = proof.is_unreachable ? "The service did not answer" : "It does not work";
  return `${how}${tried}: ${proof.error ?? "no reason was given"}`;
}
