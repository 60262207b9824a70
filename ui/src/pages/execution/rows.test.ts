import { expect, test } from "vitest";
import type { AttemptRow, IterationRow, TimelineRun } from "./asking";
import { type Branch, belowOf, rowsOf } from "./rows";

const run = (id: number, loop: object | null = null): TimelineRun => ({ run: id, step: `s${id}`, loop }) as TimelineRun;
const iteration = (at: number, inner: number | null = null): IterationRow =>
  ({ iteration: at, inner_run: inner }) as IterationRow;
const attempt = (seq: number): AttemptRow => ({ seq_started: seq }) as AttemptRow;

test("what is open stands below its run, and what is not here yet is asked for", () => {
  const open = new Map<string, Branch>([
    ["run 1", { below: { of: "iterations", loop: 1 }, iterations: [iteration(0), iteration(1)], next: 2 }],
    ["run 1 iteration 1", { below: { of: "attempts", run: 1, iteration: 1 }, attempts: [attempt(9)], next: null }],
    ["run 2", { below: { of: "attempts", run: 2, iteration: null }, next: undefined }],
  ]);
  const rows = rowsOf([run(1), run(2), run(3)], open, true);
  expect(rows.map((row) => [row.kind, row.level, row.key])).toEqual([
    ["run", 1, "run 1"],
    ["iteration", 2, "run 1 iteration 0"],
    ["iteration", 2, "run 1 iteration 1"],
    ["attempt", 3, "run 1 iteration 1 attempt 9"],
    ["more", 2, "run 1 more"],
    ["run", 1, "run 2"],
    ["more", 2, "run 2 more"],
    ["run", 1, "run 3"],
    ["more", 1, "more"],
  ]);
});

test("a run of which nothing was tried says so, and asks no more", () => {
  const none: Branch = { below: { of: "attempts", run: 1, iteration: null }, attempts: [], next: null };
  const rows = rowsOf([run(1)], new Map([["run 1", none]]), false);
  expect(rows[1]).toMatchObject({ kind: "more", of: "", text: "nothing was tried yet" });
});

test("a loop in a loop opens its own iterations, and those their attempts", () => {
  const open = new Map<string, Branch>([
    ["run 1", { below: { of: "iterations", loop: 1 }, iterations: [iteration(0, 2)], next: null }],
    ["run 1 iteration 0", { below: { of: "iterations", loop: 2 }, iterations: [iteration(0)], next: null }],
  ]);
  const rows = rowsOf([run(1, {})], open, false);
  expect(rows.map((row) => [row.level, row.key])).toEqual([
    [1, "run 1"],
    [2, "run 1 iteration 0"],
    [3, "run 2 iteration 0"],
  ]);
  expect(rows.map(belowOf)).toEqual([
    { of: "iterations", loop: 1 },
    { of: "iterations", loop: 2 },
    { of: "attempts", run: 2, iteration: 0 },
  ]);
});
