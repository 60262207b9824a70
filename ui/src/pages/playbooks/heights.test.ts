import { describe, expect, it } from "vitest";
import { heightsOf, wordsOf } from "./heights";

const run = (duration_ms: number | null, status: "success" | "running" = "success") => ({
  execution_id: "7",
  path: "p",
  version: 2,
  status,
  created_at: "2026-03-02T12:00:00.000Z",
  duration_ms,
  parent_execution_id: null,
});
const NOW = Date.parse("2026-03-02T12:00:04.000Z");

describe("the bars of the last runs", () => {
  it("are as high as they took long, and none is nothing", () => {
    const [none, some, most] = heightsOf([run(0), run(1000), run(4000)], NOW);
    expect(none).toBeCloseTo(0.14);
    expect(some).toBeCloseTo(0.57);
    expect(most).toBe(1);
  });

  it("count on while a run goes", () => {
    expect(heightsOf([run(null, "running"), run(1000)], NOW)[0]).toBe(1);
    expect(wordsOf(run(null, "running"), NOW)).toContain("running, for 4.0 s");
    expect(wordsOf(run(4000), NOW)).toContain("7: success, 4.0 s, began");
  });

  it("of nothing are nothing", () => expect(heightsOf([], NOW)).toEqual([]));
});
