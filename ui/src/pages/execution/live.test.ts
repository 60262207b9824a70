import { describe, expect, test } from "vitest";
import type { EventDocument, Moment, TimelineRun } from "./asking";
import { overlayOf, pictureOf, runsBy, withEvents } from "./live";

function moment(more: Partial<Moment> = {}): Moment {
  return {
    seq: 10,
    last_seq: 10,
    at: "2026-01-01T00:00:00.000Z",
    status: "running",
    event: {} as Moment["event"],
    marking: { tokens: [], runs: [], omitted_tokens: 0, omitted_runs: 0 },
    steps: [
      { step: "start", runs: 1, status: "success" },
      { step: "each", runs: 0, status: "not_run" },
      { step: "end", runs: 0, status: "not_run" },
    ],
    ctx: {},
    workload: {},
    changes: [],
    inputs: null,
    inputs_note: "",
    verdicts: [],
    ...more,
  } as Moment;
}

let seq = 10;
function event(name: string, step: string, entity: string, payload: Record<string, unknown> = {}): EventDocument {
  seq += 1;
  return { event_id: `1-${seq}`, name, step, entity_id: `1:${entity}`, payload } as unknown as EventDocument;
}

const run = (id: number, step: string, more: Partial<TimelineRun> = {}): TimelineRun =>
  ({ run: id, step, sources: [], loop: null, ...more }) as TimelineRun;

describe("the picture", () => {
  test("of a moment: what ran, what waits, which way tokens came", () => {
    const waiting = moment({
      marking: {
        tokens: [{ token: 2, step: "each", source: "start", is_waiting: true, is_for_signal: true }],
        runs: [],
        omitted_tokens: 0,
        omitted_runs: 0,
      },
    });
    const picture = pictureOf(waiting, [run(1, "start")]);
    const overlay = overlayOf(picture);
    expect(overlay.get("start")?.status).toBe("success");
    expect(overlay.get("each")).toMatchObject({ status: "waiting", tokens: 1 });
    expect(overlay.get("end")?.status).toBe("not_run");
    expect([...picture.taken]).toEqual(["start→each"]);
  });

  test("knows of a run only what had happened by then", () => {
    const loop = { total: 8, done: 8, failed: 0, in_flight: 0 };
    const all = [run(1, "start"), run(2, "each", { sources: [1], loop }), run(3, "start")];
    expect(runsBy(moment(), all).map((one) => one.run)).toEqual([1]);
    expect(overlayOf(pictureOf(moment(), all)).get("each")?.loop).toBeNull();
  });

  test("goes on with events: a loop is one node that counts", () => {
    seq = 10;
    const started = withEvents(pictureOf(moment(), []), [
      event("next.evaluated", "start", "1", { fired: [{ arc: 0, step: "each" }] }),
      event("step.scheduled", "each", "2", { tokens: [2] }),
      event("loop.started", "each", "2", { count: 3 }),
      event("loop.iteration.started", "each", "2:0"),
      event("loop.iteration.started", "each", "2:1"),
      event("loop.iteration.done", "each", "2:0"),
      event("loop.iteration.failed", "each", "2:1"),
      event("loop.iteration.started", "each", "2:2"),
    ]);
    expect(started.taken.has("start→each")).toBe(true);
    expect(overlayOf(started).get("each")).toEqual({
      status: "running",
      runs: 1,
      tokens: 1,
      loop: { run: 2, total: 3, done: 1, failed: 1, in_flight: 1 },
    });
    const done = withEvents(started, [
      event("loop.iteration.done", "each", "2:2"),
      event("loop.done", "each", "2"),
      event("next.evaluated", "each", "2", { fired: [{ arc: 0, step: "end" }] }),
    ]);
    expect(overlayOf(done).get("each")).toMatchObject({
      status: "success",
      tokens: 0,
      loop: { done: 2, in_flight: 0 },
    });
    expect(overlayOf(done).get("end")).toMatchObject({ status: "scheduled", tokens: 1 });
  });

  test("what an inner loop does is not counted as its step's own", () => {
    seq = 10;
    const picture = withEvents(pictureOf(moment(), []), [
      event("step.scheduled", "each", "2", { tokens: [] }),
      event("loop.started", "each", "2", { count: 2 }),
      event("loop.iteration.started", "each", "2:0"),
      event("loop.started", "each", "3", { count: 50 }),
      event("loop.iteration.started", "each", "3:0"),
      event("loop.iteration.done", "each", "3:0"),
      event("loop.done", "each", "3"),
    ]);
    expect(overlayOf(picture).get("each")).toMatchObject({
      status: "running",
      loop: { total: 2, done: 0, in_flight: 1 },
    });
  });

  test("an event that is in it already changes nothing", () => {
    seq = 8;
    const old = [event("step.scheduled", "each", "2"), event("step.done", "each", "2")];
    const picture = pictureOf(moment(), []);
    expect(overlayOf(withEvents(picture, old))).toEqual(overlayOf(picture));
  });
});
