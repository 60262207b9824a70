import { expect, test } from "vitest";
import { columnsOf, isTabular, linesOf, TEXT_MAX, under } from "./jsonLines";

const all = () => true;

test("a value is a line for each of its parts, those that are closed left out", () => {
  const lines = linesOf({ a: 1, b: { c: [true, null] } }, (_, depth) => depth < 2);

  expect(lines.map((line) => [line.path, line.text])).toEqual([
    ["$", "{2}"],
    ["$.a", "1"],
    ["$.b", "{1}"],
    ["$.b.c", "[2]"],
  ]);
});

test("markup is text like any other", () => {
  expect(linesOf("<img onerror=x>", all)[0]?.text).toBe('"<img onerror=x>"');
});

test("a long list says how many more there are, and more of it can be had", () => {
  const value = Array.from({ length: 450 }, (_, at) => at);

  expect(linesOf(value, all).at(-1)).toMatchObject({ kind: "more", text: "250" });
  expect(linesOf(value, all, () => 1000)).toHaveLength(451);
});

test("what is huge stays bounded", () => {
  const wide = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => ({ a: 1 })));

  expect(linesOf(wide, all).length).toBeLessThanOrEqual(5001);
  expect(linesOf("x".repeat(1_000_000), all)[0]?.text.length).toBe(TEXT_MAX + 3);
});

test("a key that is no word is written in brackets", () => {
  expect(under("$", "a b")).toBe('$["a b"]');
  expect(under("$.x", 3)).toBe("$.x[3]");
});

test("rows are a table when every one is an object", () => {
  expect(isTabular([{ a: 1 }, { b: 2 }])).toBe(true);
  expect(isTabular([{ a: 1 }, 2])).toBe(false);
  expect(isTabular([])).toBe(false);
  expect(isTabular({ a: 1 })).toBe(false);
  expect(columnsOf([{ a: 1 }, { b: 2, a: 3 }])).toEqual(["a", "b"]);
});
