/** The error of an execution in a line: where it failed, and what it said. Pure. */
export interface Reason {
  where: string;
  what: string;
}

export function reasonOf(error: Record<string, unknown> | null): Reason {
  if (!error) return { where: "", what: "no reason is recorded; its events have more" };
  const word = (name: string): string => (typeof error[name] === "string" ? (error[name] as string) : "");
  const where = [word("step"), word("task")].filter(Boolean).join(" / ");
  return { where, what: word("message") || word("reason") || word("kind") || JSON.stringify(error) };
}
