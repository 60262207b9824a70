import { describe, expect, it } from "vitest";
import { type Job, keyOf, placeOf, readWanted, since, stateOf, type Worker, wantedAddress } from "./jobs";

const job: Job = {
  execution_id: "7",
  path: "a",
  step: "fetch",
  run: 3,
  iteration: 0,
  pool: "default",
  priority: 0,
  state: "leased",
  worker: "w",
  age_seconds: 4,
  due_in_seconds: null,
  lease_age_seconds: 1,
  lease_left_seconds: 29,
  deliveries: 1,
};

describe("which jobs", () => {
  it("is the same in the address and out of it", () => {
    const wanted = { pool: "a b", worker: "w/1", state: "leased" } as const;
    expect(readWanted(wantedAddress(wanted).split("?")[1] ?? "")).toEqual(wanted);
    expect(wantedAddress({ pool: "", worker: "", state: "" })).toBe("/workers");
  });

  it("leaves out a state that there is not", () => expect(readWanted("state=gone&pool=x").state).toBe(""));
});

describe("a job", () => {
  it("is named by its step and iteration, the first one too", () => {
    expect(placeOf(job)).toBe("fetch · iteration 0");
    expect(placeOf({ ...job, step: null, iteration: null })).toBe("a step that ended");
    expect(keyOf(job)).not.toBe(keyOf({ ...job, iteration: null }));
  });

  it("counts from when it was told", () => {
    expect(since(4, Date.parse("2026-03-01T12:00:04.000Z"))).toBe("2026-03-01T12:00:00.000Z");
    expect(since(-4, 0)).toBe("1970-01-01T00:00:04.000Z");
    expect(since(null, 0)).toBe("");
  });
});

it("a worker that was silent for long is lost", () => {
  const worker = { seen_at: "2026-03-01T12:00:00.000Z", jobs: 1 } as Worker;
  const told = Date.parse(worker.seen_at);
  expect(stateOf(worker, told + 5000)).toBe("active");
  expect(stateOf({ ...worker, jobs: 0 }, told)).toBe("idle");
  expect(stateOf(worker, told + 90_000)).toBe("lost");
});
