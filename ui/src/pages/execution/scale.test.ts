import { describe, expect, test } from "vitest";
import type { AttemptRow, TimelineRun } from "./asking";
import {
  busyOf,
  criticalLinks,
  idle,
  moved,
  retried,
  scaleOf,
  seen,
  spanOf,
  ticks,
  tickWords,
  union,
  WHOLE,
  zoomed,
} from "./scale";

function run(id: number, from: number, to: number | null, more: Partial<TimelineRun> = {}): TimelineRun {
  return {
    run: id,
    step: `step ${id}`,
    status: to === null ? "running" : "success",
    scheduled_ms: from,
    started_ms: from,
    ended_ms: to,
    loop: null,
    attempts: 1,
    retries: 0,
    error: null,
    is_critical: false,
    compensates: null,
    sources: [],
    ...more,
  };
}

describe("idle time", () => {
  test("stretches that touch are one", () => {
    expect(
      union([
        { from: 5, to: 9 },
        { from: 0, to: 5 },
        { from: 12, to: 13 },
      ]),
    ).toEqual([
      { from: 0, to: 9 },
      { from: 12, to: 13 },
    ]);
  });

  test("a long wait between two runs is folded, a short one is not", () => {
    const spans = [
      { from: 0, to: 2000 },
      { from: 62_000, to: 64_000 },
      { from: 64_500, to: 66_000 },
    ];
    expect(idle(spans, 0, 66_000)).toEqual([{ from: 2000, to: 62_000 }]);
  });

  test("a wait before the first run is folded too", () => {
    expect(idle([{ from: 60_000, to: 61_000 }], 0, 61_000)).toEqual([{ from: 0, to: 60_000 }]);
  });

  test("less than a second is never folded", () => {
    const spans = [
      { from: 0, to: 10 },
      { from: 900, to: 910 },
    ];
    expect(idle(spans, 0, 910)).toEqual([]);
  });
});

describe("the scale", () => {
  const spans = [
    { from: 0, to: 10_000 },
    { from: 3_610_000, to: 3_620_000 },
  ];

  test("gives what ran nearly all of the width, whatever lay between", () => {
    const scale = scaleOf(spans);
    expect(scale.gaps).toHaveLength(1);
    expect(scale.at(10_000)).toBeCloseTo(0.485);
    expect(scale.at(3_610_000)).toBeCloseTo(0.515);
    expect(scale.at(3_620_000)).toBeCloseTo(1);
  });

  test("goes there and back", () => {
    const scale = scaleOf(spans);
    for (const ms of [0, 4000, 10_000, 1_000_000, 3_615_000, 3_620_000]) expect(scale.ms(scale.at(ms))).toBeCloseTo(ms);
  });

  test("without folding time is even", () => {
    const scale = scaleOf(spans, false);
    expect(scale.gaps).toEqual([]);
    expect(scale.at(1_810_000)).toBeCloseTo(0.5);
  });

  test("nothing at all is still a scale", () => {
    const scale = scaleOf([]);
    expect(scale.at(0)).toBe(0);
    expect(Number.isFinite(scale.ms(0.5))).toBe(true);
  });

  test("a run that goes on reaches to now", () => {
    expect(spanOf(run(1, 50, null), 400)).toEqual({ from: 50, to: 400 });
  });
});

describe("the view", () => {
  test("zooms around a place, which stays where it is", () => {
    const view = zoomed(WHOLE, 0.5, 0.25);
    expect(view.to - view.from).toBeCloseTo(0.5);
    expect(seen(view, 0.25)).toBeCloseTo(0.25);
  });

  test("never leaves the whole", () => {
    expect(moved({ from: 0.6, to: 0.9 }, 2)).toEqual({ from: 0.7, to: 1 });
    const out = zoomed(zoomed(WHOLE, 0.1, 0.95), 100);
    expect(out.from).toBeCloseTo(0);
    expect(out.to).toBeCloseTo(1);
  });

  test("marks are round, few, and none stands in a folded gap", () => {
    const scale = scaleOf([
      { from: 0, to: 10_000 },
      { from: 3_610_000, to: 3_620_000 },
    ]);
    const found = ticks(scale, WHOLE);
    expect(found.length).toBeGreaterThan(3);
    expect(found.length).toBeLessThan(20);
    expect(found.some(({ ms }) => ms > 10_000 && ms < 3_610_000)).toBe(false);
    expect(found.every(({ ms }) => ms % 1000 === 0)).toBe(true);
  });

  test("a mark says as much as tells it from the next", () => {
    expect(tickWords(500, 500)).toBe("500 ms");
    expect(tickWords(94_200, 100)).toBe("1:34.2");
    expect(tickWords(94_000, 1000)).toBe("1:34");
    expect(tickWords(7_205_000, 1000)).toBe("2:00:05");
    expect(tickWords(12_500, 500)).toBe("12.5 s");
  });
});

test("the critical path joins each run with the last of those it waited for", () => {
  const runs = [
    run(1, 0, 10, { is_critical: true }),
    run(2, 10, 20, { is_critical: true, sources: [1] }),
    run(3, 10, 50, { sources: [1] }),
    run(4, 50, 60, { is_critical: true, sources: [2, 1, 3] }),
  ];
  expect(criticalLinks(runs).map(([a, b]) => [a.run, b.run])).toEqual([
    [1, 2],
    [2, 4],
  ]);
});

describe("waits before a retry", () => {
  const attempt = (ended: number | null, delay: number | null, more: Partial<AttemptRow> = {}): AttemptRow =>
    ({ ended_ms: ended, delay_seconds: delay, do: delay === null ? "fail" : "retry", ...more }) as AttemptRow;

  test("are idle time", () => {
    const tried = run(1, 100, 60_300, { retries: 2 });
    const busy = busyOf(tried, [attempt(200, 30), attempt(30_250, 30), attempt(60_300, null)], 0);
    expect(busy).toEqual([
      { from: 100, to: 200 },
      { from: 30_200, to: 30_250 },
      { from: 60_250, to: 60_300 },
    ]);
    expect(scaleOf(busy).gaps.map(({ from, to }) => [from, to])).toEqual([
      [200, 30_200],
      [30_250, 60_250],
    ]);
  });

  test("reach no further than the run, or than now", () => {
    expect(busyOf(run(1, 0, null, { retries: 1 }), [attempt(50, 60)], 1000)).toEqual([
      { from: 0, to: 50 },
      { from: 1000, to: 1000 },
    ]);
  });

  test("a run of which no attempt is known was busy all the time", () => {
    expect(busyOf(run(1, 0, 900), [], 0)).toEqual([{ from: 0, to: 900 }]);
  });

  test("are asked for of long runs that were tried again, and of no loop", () => {
    const loop = { total: 2 } as unknown as TimelineRun["loop"];
    const runs = [
      run(1, 0, 5000, { retries: 1 }),
      run(2, 0, 9000, { retries: 3 }),
      run(3, 0, 9000),
      run(4, 0, 500, { retries: 1 }),
      run(5, 0, 9000, { retries: 1, loop }),
    ];
    expect(retried(runs, 0).map((one) => one.run)).toEqual([2, 1]);
  });
});
