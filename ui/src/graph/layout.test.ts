import { expect, test } from "vitest";
import { kindsOf, layOut } from "./layout";
import type { GraphArc, GraphDocument, GraphStep } from "./model";

const LAYOUT_MS_MAX = 1000;

function step(name: string, kinds: string[] = ["noop"]): GraphStep {
  return {
    name,
    description: "",
    line: 1,
    tasks: kinds.map((kind) => ({ label: kind, kind })),
    loops: [],
    is_entry: false,
    is_end: false,
    is_join: false,
    is_inclusive: false,
    is_reached: true,
    has_admission: false,
    has_compensation: false,
    is_planner: false,
  };
}

function arc(source: string, target: string): GraphArc {
  return {
    source,
    target,
    order: 1,
    when: null,
    is_failure: false,
    is_fallback: false,
    can_fire: true,
    writes: [],
    line: 1,
  };
}

function net(steps: number, arcs: [number, number][]): GraphDocument {
  const names = Array.from({ length: steps }, (_, at) => `step_${at}`);
  return {
    name: "net",
    entry: "step_0",
    steps: names.map((name) => step(name)),
    arcs: arcs.map(([from, to]) => arc(names[from] as string, names[to] as string)),
  };
}

test("an arc leads down, a way back does not turn the net around", () => {
  const { spots } = layOut(
    net(3, [
      [0, 1],
      [1, 2],
      [2, 1],
    ]),
  );
  const heights = ["step_0", "step_1", "step_2"].map((name) => spots.get(name)?.y ?? Number.NaN);

  expect(heights).toEqual([...heights].sort((a, b) => a - b));
});

test("no two steps stand on each other, whatever their arcs", () => {
  const { spots } = layOut(
    net(
      40,
      Array.from({ length: 39 }, (_, at) => [Math.floor(at / 3), at + 1]),
    ),
  );
  const boxes = [...spots.values()];

  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      const isApart =
        one.x + one.width <= other.x ||
        other.x + other.width <= one.x ||
        one.y + one.height <= other.y ||
        other.y + other.height <= one.y;
      expect(isApart).toBe(true);
    }
  }
});

test("an arc to a step that is not there is left out, and a net without steps is empty", () => {
  const broken = {
    ...net(2, [[0, 1]]),
    arcs: [arc("step_0", "gone"), arc("step_0", "step_1"), arc("step_0", "step_1")],
  };

  expect(layOut(broken).spots.size).toBe(2);
  expect(layOut(net(0, [])).spots.size).toBe(0);
});

test("200 steps with 320 arcs are laid out within a second", () => {
  const chain = Array.from({ length: 199 }, (_, at): [number, number] => [at, at + 1]);
  const leaps = Array.from({ length: 121 }, (_, at): [number, number] => [at, (at * 7 + 11) % 200]);
  const tree = Array.from({ length: 199 }, (_, at): [number, number] => [Math.floor(at / 3), at + 1]);

  for (const arcs of [
    [...chain, ...leaps],
    [...tree, ...leaps],
  ]) {
    const began = performance.now();
    layOut(net(200, arcs));
    expect(performance.now() - began).toBeLessThan(LAYOUT_MS_MAX);
  }
});

test("what a step does is one line, however many tasks it has", () => {
  expect(kindsOf(step("a", ["http", "python"]))).toBe("http → python");
  expect(kindsOf(step("a", ["http", "python", "duckdb", "postgres", "noop"]))).toBe("http → python → duckdb → … 5");
});
