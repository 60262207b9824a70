import { expect, test } from "vitest";
import { bytes, commandLine, commandLineAt, cut, duration, inline, plural, quoted, relative } from "./format";

test.each([
  [-5, "0 ms"],
  [0, "0 ms"],
  [0.42, "0.4 ms"],
  [12, "12 ms"],
  [999, "999 ms"],
  [999.7, "1.0 s"],
  [1500, "1.5 s"],
  [59_400, "59 s"],
  [59_900, "1 m 00 s"],
  [245_000, "4 m 05 s"],
  [3_599_900, "1 h 00 m"],
  [7_620_000, "2 h 07 m"],
  [86_399_000, "1 d 00 h"],
  [273_600_000, "3 d 04 h"],
])("%d ms is %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test("a moment is so long ago, or so far ahead", () => {
  const now = 1_000_000_000;
  const at = (seconds: number) => relative(now - seconds * 1000, now);

  expect([at(1), at(59), at(61), at(7200), at(200_000), at(-90)]).toEqual([
    "now",
    "59 s ago",
    "1 m ago",
    "2 h ago",
    "2 d ago",
    "in 1 m",
  ]);
});

test("a command line survives a shell", () => {
  expect(commandLine(["run", "shop/orders", "--set", "name=O'Brien; rm -rf /"])).toBe(
    "noetl run shop/orders --set 'name=O'\\''Brien; rm -rf /'",
  );
  expect(quoted("")).toBe("''");
  expect(quoted("$(id)")).toBe("'$(id)'");
  expect(quoted("a\nb")).toBe("'a\nb'");
});

test("counts, sizes and cuts", () => {
  expect([plural(1, "run"), plural(12_000, "run"), plural(2, "entry", "entries")]).toEqual([
    "1 run",
    "12,000 runs",
    "2 entries",
  ]);
  expect([bytes(999), bytes(1000), bytes(65_536), bytes(3_100_000)]).toEqual(["999 B", "1.0 kB", "66 kB", "3.1 MB"]);
  expect([cut("abcdef", 6), cut("abcdefg", 6)]).toEqual(["abcdef", "abcde…"]);
  expect([inline({ a: [1] }), inline("text"), inline(undefined), inline(null)]).toEqual([
    '{"a":[1]}',
    "text",
    "",
    "null",
  ]);
});

test("a command line names its server, unless it is about this machine", () => {
  expect(commandLineAt("http://127.0.0.1:8080", ["cancel", "7"])).toBe("noetl cancel 7 --server http://127.0.0.1:8080");
  expect(commandLineAt("http://127.0.0.1:8080", ["import", "FILE"])).toBe("noetl import FILE");
  expect(commandLineAt("http://127.0.0.1:8080", ["explain", "NL303"])).toBe("noetl explain NL303");
  expect(commandLineAt("http://127.0.0.1:8080", ["worker", "start", "--pool", "x"])).toBe(
    "noetl worker start --pool x",
  );
});
