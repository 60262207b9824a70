import { expect, test } from "vitest";
import type { LogLine } from "./asking";
import { addToHistory, historyOf } from "./history";
import { filterOf, joined } from "./lines";

const line = (seq: number, at = 0): LogLine => ({ seq, line: at, text: `${seq}.${at}` }) as LogLine;
const texts = (lines: readonly LogLine[]) => lines.map((one) => one.text);

test("lines that come twice stand once", () => {
  const old = [line(1), line(2, 0), line(2, 1)];
  expect(texts(joined(old, [line(2, 1), line(2, 2), line(3)]))).toEqual(["1.0", "2.0", "2.1", "2.2", "3.0"]);
});

test("of too many the oldest go", () => {
  expect(texts(joined([line(1), line(2)], [line(3), line(4)], 3))).toEqual(["2.0", "3.0", "4.0"]);
});

test("filters are read from the address, others are left alone", () => {
  expect(filterOf(new URLSearchParams("step=price&level=error&seq=4&q="))).toEqual({ step: "price", level: "error" });
});

test("expressions are kept newest first, each once, and few", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  };
  for (const one of ["a", "b", "a"]) addToHistory("7", one, storage);
  expect(historyOf("7", storage)).toEqual(["a", "b"]);
  for (let at = 0; at < 50; at++) addToHistory("7", `x${at}`, storage);
  expect(historyOf("7", storage)).toHaveLength(20);
  kept.set("noetl.expressions.7", "broken");
  expect(historyOf("7", storage)).toEqual([]);
});
