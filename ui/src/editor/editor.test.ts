import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Finding } from "@/api/problem";
import { diagnosticsOf, offsetOf, placeOf } from "./places";

const state = EditorState.create({ doc: "a: 1\n  kind: htpp\n" });
const finding: Finding = {
  code: "NL301",
  rule: "x",
  severity: "error",
  path: "",
  line: 2,
  column: 9,
  message: "no such kind",
  fix: "http?",
};

test("places count from 1 and lead back to where they came from", () => {
  expect(placeOf(state, 0)).toEqual({ line: 1, column: 1 });
  for (let at = 0; at < state.doc.length; at += 1) expect(offsetOf(state, placeOf(state, at))).toBe(at);
});

test("a place beyond the text is its nearest end", () => {
  expect(offsetOf(state, { line: 99, column: 99 })).toBe(state.doc.length);
  expect(offsetOf(state, { line: 0, column: -3 })).toBe(0);
  expect(offsetOf(state, { line: 1, column: 99 })).toBe(4);
});

test("a finding marks the word that it is about, with its code, and how to mend it", () => {
  const [one] = diagnosticsOf(state, [finding]);

  expect(state.sliceDoc(one?.from, one?.to)).toBe("htpp");
  expect(one?.message).toBe("NL301: no such kind\nfix: http?");
});

test("a finding at the end of the text still has a place", () => {
  const [one] = diagnosticsOf(state, [{ ...finding, line: 50, column: 1 }]);

  expect(one).toMatchObject({ from: state.doc.length, to: state.doc.length });
});
