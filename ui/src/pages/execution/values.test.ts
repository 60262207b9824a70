import { describe, expect, test } from "vitest";
import { commandValue, differences, isSame, typed, untyped } from "./values";

describe("typed values", () => {
  test.each([
    ["3", 3],
    ["true", true],
    ["null", null],
    ['{"a": [1]}', { a: [1] }],
    ["hello", "hello"],
    ['"3"', "3"],
    ["", ""],
    ["{broken", "{broken"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"],
  ])("%s", (text, value) => {
    expect(typed(text)).toEqual(value);
  });

  test.each([[3], ["3"], ["hello"], ["true"], [true], [null], [{ a: "b" }], [""], ["a\nb"]])(
    "%j comes back as it was",
    (value) => {
      expect(typed(untyped(value, true))).toEqual(value);
    },
  );

  test.each([
    ["text", "text"],
    ["no", '"no"'],
    ["3", '"3"'],
    [3, "3"],
    [{ a: 1 }, '{"a":1}'],
  ])("%j on a command line is %s", (value, words) => {
    expect(commandValue(value)).toBe(words);
  });
});

describe("differences", () => {
  test("are found at the deepest place that says it", () => {
    const before = { orders: [{ id: 1, total: 3 }, { id: 2 }], divisor: 0, gone: true };
    const after = { orders: [{ id: 1, total: 4 }, { id: 2 }, { id: 3 }], divisor: 4, mean: 21 };
    expect(differences(before, after)).toEqual([
      { path: "orders[0].total", before: 3, after: 4, kind: "changed" },
      { path: "orders[2]", before: undefined, after: { id: 3 }, kind: "added" },
      { path: "divisor", before: 0, after: 4, kind: "changed" },
      { path: "gone", before: true, after: undefined, kind: "removed" },
      { path: "mean", before: undefined, after: 21, kind: "added" },
    ]);
  });

  test("another sort of value is one difference", () => {
    expect(differences([1], { 0: 1 })).toEqual([{ path: "", before: [1], after: { 0: 1 }, kind: "changed" }]);
  });

  test("are bounded", () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, at]));
    expect(differences({}, many, 10)).toHaveLength(10);
  });

  test("the order of keys is none", () => {
    expect(isSame({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 })).toBe(true);
    expect(isSame({ a: undefined }, { b: undefined })).toBe(false);
  });
});
