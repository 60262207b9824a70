import { describe, expect, test } from "vitest";
import type { Mark } from "./asking";
import { changedPaths, isChanged, moveOf, nextStop } from "./travel";

const marks = [3, 20, 40].map((seq) => ({ seq, name: "step.started", step: "a", kind: "step", at: "" }) as Mark);

describe("keys", () => {
  test.each([
    ["ArrowRight", false, 10, 11],
    ["ArrowLeft", false, 1, 1],
    ["ArrowRight", true, 95, 100],
    ["ArrowLeft", true, 50, 40],
    ["PageDown", false, 10, 20],
    ["PageDown", false, 40, 100],
    ["PageUp", false, 20, 3],
    ["PageUp", false, 3, 1],
    ["Home", false, 50, 1],
    ["End", false, 50, 100],
  ])("%s (shift %s) at %i leads to %i", (key, isShift, from, to) => {
    expect(moveOf(key, isShift, from, 100, marks)).toBe(to);
  });

  test("another key means nothing", () => {
    expect(moveOf("a", false, 10, 100, marks)).toBeNull();
  });
});

test("play takes each event of a short log, and the marks of a long one", () => {
  expect(nextStop(marks, 5, 60)).toBe(6);
  expect(nextStop(marks, 5, 100_000)).toBe(20);
  expect(nextStop(marks, 40, 100_000)).toBe(100_000);
  expect(nextStop(marks, 60, 60)).toBeNull();
});

test("what lies in a changed value is changed, what only begins alike is not", () => {
  const changed = changedPaths(["ctx.orders", "limits.max"]);
  expect(isChanged("$.orders", changed)).toBe(true);
  expect(isChanged("$.orders[3].total", changed)).toBe(true);
  expect(isChanged("$.limits.max", changed)).toBe(true);
  expect(isChanged("$.limits", changed)).toBe(false);
  expect(isChanged("$.orders_old", changed)).toBe(false);
});
