import { describe, expect, test } from "vitest";
import type { EventDocument } from "./asking";
import { isFork, partingOf, stepPairs } from "./divergence";

function event(execution: number, seq: number, more: Partial<EventDocument> = {}): EventDocument {
  return {
    event_id: `${execution}-${seq}`,
    execution_id: String(execution),
    timestamp: `2026-01-0${execution}T00:00:00.000Z`,
    source: "server",
    name: "step.scheduled",
    entity_type: "step",
    entity_id: `${execution}:${seq}`,
    status: "in_progress",
    step: "start",
    step_run_id: `${execution}:${seq}`,
    payload: {},
    ...more,
  } as EventDocument;
}

describe("where two logs part", () => {
  test("ids, times and measurements are no difference", () => {
    const output = (ms: number) => ({ output: { data: 1, meta: { duration_ms: ms } }, trace_id: String(ms) });
    const one = [event(1, 1), event(1, 2, { name: "task.done", payload: output(3) })];
    const other = [event(2, 1), event(2, 2, { name: "task.done", payload: output(5) })];
    expect(partingOf(one, other)).toBeNull();
  });

  test("a value that differs is, and is named", () => {
    const one = [event(1, 1), event(1, 2, { payload: { output: { data: 1 } } })];
    const other = [event(2, 1), event(2, 2, { payload: { output: { data: 2 } } })];
    const parting = partingOf(one, other);
    expect(parting?.at).toBe(1);
    expect(parting?.differences).toEqual([{ path: "payload.output.data", before: 1, after: 2, kind: "changed" }]);
  });

  test("events of different sorts are not compared value by value", () => {
    const parting = partingOf([event(1, 1)], [event(2, 1, { name: "step.failed" })]);
    expect(parting?.differences).toEqual([]);
  });

  test("a log that ends first parts there", () => {
    const parting = partingOf([event(1, 1)], [event(2, 1), event(2, 2)]);
    expect(parting).toMatchObject({ at: 1, before: null });
    expect(parting?.after?.event_id).toBe("2-2");
  });

  test("a fork of the other one is known as such", () => {
    const forked = event(9, 2, { name: "execution.forked", payload: { source_execution_id: 1, source_seq: 1 } });
    const parting = partingOf([event(1, 1), event(1, 2)], [event(9, 1), forked]);
    expect(parting && isFork(parting, "1")).toBe(true);
    expect(parting && isFork(parting, "2")).toBe(false);
  });
});

test("steps of both are summed up side by side", () => {
  const run = (step: string, status: string, from: number, to: number | null, attempts = 1) => ({
    step,
    status,
    attempts,
    scheduled_ms: from,
    started_ms: from,
    ended_ms: to,
  });
  const pairs = stepPairs(
    [run("a", "success", 0, 10), run("b", "failed", 10, 40, 3)],
    [run("a", "success", 0, 10), run("b", "success", 10, 20), run("c", "success", 20, 25), run("c", "success", 25, 30)],
  );
  expect(pairs).toEqual([
    {
      step: "a",
      one: { status: "success", runs: 1, attempts: 1, ms: 10 },
      other: { status: "success", runs: 1, attempts: 1, ms: 10 },
    },
    {
      step: "b",
      one: { status: "failed", runs: 1, attempts: 3, ms: 30 },
      other: { status: "success", runs: 1, attempts: 1, ms: 10 },
    },
    { step: "c", one: null, other: { status: "success", runs: 2, attempts: 2, ms: 10 } },
  ]);
});
