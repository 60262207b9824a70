import { describe, expect, it } from "vitest";
import { countsOf, differing, pairsOf, rowsOf } from "./diff";

const DIFF = `--- p@1
+++ p@2
@@ -3,4 +3,5 @@
 same
--- looks like a header
-second
+first new
+second new
+third new
 end
@@ -20 +21 @@
-x
+y
… and more
`;

describe("the rows of a diff", () => {
  const rows = rowsOf(DIFF);

  it("have the numbers of their lines, and lines that look like headers are lines", () => {
    expect(rows.map((row) => [row.sort, row.old, row.new, row.text])).toEqual([
      ["hunk", null, null, "@@ -3,4 +3,5 @@"],
      ["same", 3, 3, "same"],
      ["gone", 4, null, "-- looks like a header"],
      ["gone", 5, null, "second"],
      ["new", null, 4, "first new"],
      ["new", null, 5, "second new"],
      ["new", null, 6, "third new"],
      ["same", 6, 7, "end"],
      ["hunk", null, null, "@@ -20 +21 @@"],
      ["gone", 20, null, "x"],
      ["new", null, 21, "y"],
      ["note", null, null, "… and more"],
    ]);
    expect(countsOf(rows)).toEqual({ gone: 3, come: 4 });
  });

  it("stand beside one another, what went beside what came", () => {
    const changes = pairsOf(rows).filter((pair) => pair.sort === "change");
    expect(changes.map((pair) => [pair.left?.text ?? null, pair.right?.text ?? null])).toEqual([
      ["-- looks like a header", "first new"],
      ["second", "second new"],
      [null, "third new"],
      ["x", "y"],
    ]);
  });

  it("are none where nothing differs", () => {
    expect(rowsOf("")).toEqual([]);
    expect(pairsOf([])).toEqual([]);
  });

  it("mark only what differs within a line", () => {
    expect(differing("  limit: 250", "  limit: 300")).toEqual(["  limit: ", "25", "0"]);
    expect(differing("aa", "aaa")).toEqual(["aa", "", ""]);
    expect(differing("", "x")).toEqual(["", "", ""]);
  });
});
