import { describe, expect, it } from "vitest";
import { barsOf, niceMost } from "./bars";

const hour = (success: number, failed = 0, cancelled = 0) => ({
  at: "2026-03-02T11:00:00.000Z",
  success,
  failed,
  cancelled,
});

describe("the bars of a day", () => {
  it("stand on one another and within the height", () => {
    const { bars, most } = barsOf([hour(6, 3, 1), hour(0)]);
    expect(most).toBe(10);
    expect(bars[0]?.parts).toEqual([
      { name: "success", from: 0, height: 0.6 },
      { name: "failed", from: 0.6, height: 0.3 },
      { name: "cancelled", from: 0.8999999999999999, height: 0.1 },
    ]);
    expect(bars[1]).toMatchObject({ total: 0, parts: [] });
  });

  it("show a single failure among many, and never stand out at the top", () => {
    const bar = barsOf([hour(9999, 1, 0)]).bars[0];
    expect(bar?.parts[1]?.height).toBeGreaterThan(0.02);
    const top = bar?.parts.at(-1);
    expect((top?.from ?? 0) + (top?.height ?? 0)).toBeLessThanOrEqual(1.000001);
  });

  it.each([
    [0, 1],
    [1, 1],
    [3, 5],
    [10, 10],
    [11, 20],
    [400, 500],
    [501, 1000],
  ])("are measured by a round number: %i by %i", (value, most) => expect(niceMost(value)).toBe(most));
});
