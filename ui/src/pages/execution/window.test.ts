import { expect, test } from "vitest";
import { rangeOf, scrollFor } from "./window";

test("what is in sight and a little around it is drawn", () => {
  expect(rangeOf({ first: 500, count: 20 }, 100_000, 10)).toEqual({ first: 490, end: 530 });
  expect(rangeOf({ first: 0, count: 20 }, 5, 10)).toEqual({ first: 0, end: 5 });
  expect(rangeOf({ first: 90, count: 20 }, 50, 10)).toEqual({ first: 49, end: 50 });
  expect(rangeOf({ first: 0, count: 20 }, 0, 10)).toEqual({ first: 0, end: 0 });
});

test("a row comes into sight by the shortest way", () => {
  expect(scrollFor(5, 20, 0, 400)).toBeNull();
  expect(scrollFor(2, 20, 100, 400)).toBe(40);
  expect(scrollFor(30, 20, 0, 400)).toBe(220);
  expect(scrollFor(30, 20, 0, 400, 32)).toBe(252);
});
