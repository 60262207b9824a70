import { describe, expect, it } from "vitest";
import type { GraphDocument } from "@/graph/model";
import { columnOf, kindAt, stepAt } from "./places";

const step = (name: string, line: number, end_line: number, tasks: GraphDocument["steps"][number]["tasks"]) =>
  ({ name, line, end_line, tasks }) as GraphDocument["steps"][number];
const GRAPH: GraphDocument = {
  name: "p",
  entry: "a",
  arcs: [],
  steps: [
    step("a", 3, 9, [
      { label: "x", kind: "http", line: 5, end_line: 6 },
      { label: "y", kind: "python", line: 7, end_line: 9 },
    ]),
    step("b", 10, 14, [{ label: "z", kind: "shell", line: 12, end_line: 14 }]),
    step("planned", 0, 0, []),
  ],
};

describe("places of a text", () => {
  it("belong to the step and task that stand there", () => {
    expect([1, 3, 9, 10, 15, 0].map((line) => stepAt(GRAPH, line)?.name ?? null)).toEqual([
      null,
      "a",
      "a",
      "b",
      null,
      null,
    ]);
    expect([4, 5, 8, 10].map((line) => kindAt(GRAPH, line))).toEqual([null, "http", "python", "shell"]);
    expect(stepAt(null, 3)).toBeNull();
  });

  it("begin where their first letter is", () => {
    expect(columnOf("a:\n  - step: x\n", 2)).toBe(3);
    expect(columnOf("a", 9)).toBe(1);
  });
});
