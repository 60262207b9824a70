/** Which step and task a line of a text belongs to, and where a step begins. Pure. */
import type { GraphDocument, GraphStep } from "@/graph/model";

export function stepAt(graph: GraphDocument | null, line: number): GraphStep | null {
  return graph?.steps.find((step) => isWithin(step, line)) ?? null;
}

/** The kind of the task that a line belongs to; of a step with one task, that one's. */
export function kindAt(graph: GraphDocument | null, line: number): string | null {
  const tasks = stepAt(graph, line)?.tasks ?? [];
  return (tasks.find((task) => isWithin(task, line)) ?? (tasks.length === 1 ? tasks[0] : undefined))?.kind ?? null;
}

function isWithin(part: { line?: number; end_line?: number }, line: number): boolean {
  const first = part.line ?? 0;
  return first > 0 && first <= line && line <= (part.end_line ?? first);
}

/** The column of the first letter of a line, from 1. */
export function columnOf(text: string, line: number): number {
  const written = text.split("\n", line)[line - 1] ?? "";
  return written.length - written.trimStart().length + 1;
}
