import { describe, expect, test } from "vitest";
import { csvOf, previewOf, wholeRows } from "./preview";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a stored result", () => {
  test("is JSON where it reads as JSON", () => {
    expect(previewOf(bytes('[{"a": 1}]'), "application/json", false)).toEqual({
      value: [{ a: 1 }],
      kind: "json",
      isCut: false,
    });
  });

  test("whose end was not read shows the rows that are whole", () => {
    const text = '[{"a": "x]}"}, {"a": [1, 2]}, {"a": "cut of';
    expect(wholeRows(text)).toEqual([{ a: "x]}" }, { a: [1, 2] }]);
    expect(previewOf(bytes(text), "application/json", true)).toMatchObject({ kind: "json", isCut: true });
  });

  test("of lines is a row each, the last one only if it is whole", () => {
    expect(previewOf(bytes('{"a":1}\n{"a":2}\n{"a'), "application/x-ndjson", true).value).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("of commas has its first row as names", () => {
    const text = 'id,name\r\n1,"a ""b"", c"\r\n2,"two\nlines"\r\n';
    expect(csvOf(text, false).value).toEqual([
      { id: "1", name: 'a "b", c' },
      { id: "2", name: "two\nlines" },
    ]);
  });

  test("that is no text shows its bytes", () => {
    const preview = previewOf(new Uint8Array([0xff, 0xfe, 0x00]), "application/octet-stream", false);
    expect(preview).toMatchObject({ kind: "bytes", value: "000000  ff fe 00" });
  });
});
