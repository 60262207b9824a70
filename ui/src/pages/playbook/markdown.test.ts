import { describe, expect, it } from "vitest";
import { blocksOf, inlineOf } from "./markdown";

const text = (value: string) => [{ kind: "text", text: value }];

describe("the Markdown of our pages", () => {
  it("has headings, paragraphs and code", () => {
    const blocks = blocksOf("# One\n\ntwo\nlines\n\n```yaml\na: 1\n\n# no heading\n```\nafter\n");
    expect(blocks).toEqual([
      { kind: "heading", level: 1, parts: text("One") },
      { kind: "paragraph", parts: text("two lines") },
      { kind: "code", text: "a: 1\n\n# no heading", language: "yaml" },
      { kind: "paragraph", parts: text("after") },
    ]);
  });

  it("has code that is indented, as `noetl explain` prints it", () => {
    expect(blocksOf("Wrong:\n\n    tool:\n      - name: a\n\n    more\n\nRight:")).toEqual([
      { kind: "paragraph", parts: text("Wrong:") },
      { kind: "code", text: "tool:\n  - name: a\n\nmore", language: "" },
      { kind: "paragraph", parts: text("Right:") },
    ]);
  });

  it("has lists, with what stands below an item", () => {
    const [list, after] = blocksOf("- one\n  goes on\n- two\n  - inner\n\n  ```\n  code\n  ```\n- three\n\nafter");
    expect(list).toMatchObject({ kind: "list", isNumbered: false });
    if (list?.kind !== "list") throw new Error("no list");
    expect(list.items.map((item) => item.parts)).toEqual([text("one goes on"), text("two"), text("three")]);
    expect(list.items[1]?.blocks.map((block) => block.kind)).toEqual(["list", "code"]);
    expect(after).toEqual({ kind: "paragraph", parts: text("after") });
    expect(blocksOf("1. a\n2. b")[0]).toMatchObject({ kind: "list", isNumbered: true });
  });

  it("has tables, whose cells may hold bars in code", () => {
    const [table] = blocksOf("| a | b |\n|---|:-:|\n| `x | y` | 1 \\| 2 |\n| <b>z</b> | |\n");
    if (table?.kind !== "table") throw new Error("no table");
    expect(table.head).toEqual([text("a"), text("b")]);
    expect(table.rows).toEqual([
      [[{ kind: "code", text: "x | y" }], text("1 | 2")],
      [text("<b>z</b>"), []],
    ]);
  });

  it("has code, strong words and links within a line; links are text", () => {
    expect(inlineOf("a `b*c*` **d `e`** *f* [g](../x.md) [h](https://h) [i](javascript:alert(1)) \\*j")).toEqual([
      { kind: "text", text: "a " },
      { kind: "code", text: "b*c*" },
      { kind: "text", text: " " },
      {
        kind: "strong",
        parts: [
          { kind: "text", text: "d " },
          { kind: "code", text: "e" },
        ],
      },
      { kind: "text", text: " " },
      { kind: "emphasis", parts: text("f") },
      { kind: "text", text: " " },
      { kind: "link", parts: text("g"), address: "" },
      { kind: "text", text: " " },
      { kind: "link", parts: text("h"), address: "https://h" },
      { kind: "text", text: " [i](javascript:alert(1)) *j" },
    ]);
  });

  it("leaves markup, open marks and templates as they are", () => {
    const odd = "<img src=x onerror=alert(1)> {{ a | b }} `open **open 2 * 3 * 4";
    expect(inlineOf(odd)).toEqual(text(odd));
    expect(blocksOf("```\nnever closed")).toEqual([{ kind: "code", text: "never closed", language: "" }]);
    expect(blocksOf("")).toEqual([]);
  });

  it("takes no long time over odd texts", () => {
    const began = performance.now();
    for (const odd of [
      "*".repeat(10_000),
      "`".repeat(10_000),
      "[".repeat(10_000),
      "- ".repeat(5_000),
      "**a".repeat(5_000),
    ]) {
      blocksOf(odd);
    }
    blocksOf(Array.from({ length: 500 }, (_, at) => `${" ".repeat(at * 2)}- x`).join("\n"));
    expect(performance.now() - began).toBeLessThan(3000);
  });
});
