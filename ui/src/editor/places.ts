/** Places of a text: lines and columns of the API, offsets of the editor, and findings between them. Pure. */
import type { Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";
import type { Finding } from "@/api/problem";

export interface Place {
  line: number; // from 1, as everywhere in the API
  column: number;
}

export function placeOf(state: EditorState, offset: number): Place {
  const line = state.doc.lineAt(offset);
  return { line: line.number, column: offset - line.from + 1 };
}

export function offsetOf(state: EditorState, place: Place): number {
  const line = state.doc.line(Math.min(Math.max(1, place.line), state.doc.lines));
  return Math.min(line.to, line.from + Math.max(0, place.column - 1));
}

/** Findings where they stand: from their column to the end of that word. */
export function diagnosticsOf(state: EditorState, findings: readonly Finding[]): Diagnostic[] {
  return findings
    .map((one) => {
      const from = offsetOf(state, { line: one.line, column: one.column });
      const word = /^[^\s:,]*/.exec(state.sliceDoc(from, state.doc.lineAt(from).to))?.[0].length ?? 0;
      const text = [`${one.code}: ${one.message}`, one.why ? `why: ${one.why}` : "", one.fix ? `fix: ${one.fix}` : ""];
      return { from, to: from + Math.max(word, 1), severity: one.severity, message: text.filter(Boolean).join("\n") };
    })
    .map((one) => ({ ...one, to: Math.min(one.to, state.doc.length) }));
}
