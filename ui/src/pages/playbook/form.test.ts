import { describe, expect, it } from "vitest";
import { fieldsOf, filled, OTHERS, runWords } from "./form";

const WORKLOAD = {
  day: "2026-03-01",
  note: "two\nlines",
  limit: 250,
  is_dry: false,
  regions: ["eu", "us"],
  target: { table: "orders" },
  key: null,
};

describe("the run form", () => {
  const fields = fieldsOf(WORKLOAD);

  it("has a field for each name, of the type that its default has", () => {
    expect(fields.map((field) => [field.name, field.kind])).toEqual([
      ["day", "text"],
      ["note", "lines"],
      ["limit", "number"],
      ["is_dry", "switch"],
      ["regions", "data"],
      ["target", "data"],
      ["key", "data"],
    ]);
    expect(fields[2]?.shown).toBe("250");
    expect(JSON.parse(fields[4]?.shown ?? "")).toEqual(["eu", "us"]);
    expect(fields[6]?.shown).toBe("null");
  });

  it("sends what was changed, as values, and nothing else", () => {
    const typed = {
      day: "2026-03-02",
      limit: "0.5",
      is_dry: "true",
      regions: '["us"]',
      target: '{ "table":"orders" }',
    };
    expect(filled(fields, typed)).toEqual({
      payload: { day: "2026-03-02", limit: 0.5, is_dry: true, regions: ["us"] },
      faults: {},
    });
    expect(filled(fields, {})).toEqual({ payload: {}, faults: {} });
    expect(filled(fields, { limit: "250.0" }).payload).toEqual({});
  });

  it("says what is wrong with a field, beside it", () => {
    const { faults } = filled(fields, { limit: "many", regions: "[", target: "{a: 1}" }, "[1]");
    expect(Object.keys(faults)).toEqual(["limit", "regions", "target", OTHERS]);
    expect(filled(fields, { limit: "" }).faults.limit).toContain("number");
    expect(filled(fields, { limit: "9007199254740993" }).faults.limit).toContain("command line");
  });

  it("takes further values as a mapping", () => {
    expect(filled(fields, { day: "x" }, '{"extra": {"a": 1}}').payload).toEqual({ day: "x", extra: { a: 1 } });
  });

  it("keeps names that objects have of their own as plain names", () => {
    const odd = fieldsOf(JSON.parse('{"__proto__": 1, "constructor": "a"}') as Record<string, unknown>);
    expect(odd.map((field) => field.name)).toEqual(["__proto__", "constructor"]);
    expect(filled(odd, { constructor: "b" } as Record<string, string>).payload.constructor).toBe("b");
  });
});

describe("the run as a command line", () => {
  it("sets each value so that it is read as what it is", () => {
    const payload = { a: "plain", b: "true", c: "12", d: "", e: " x", f: 3, g: [1, "x"], h: null, i: "https://x/y?z" };
    expect(runWords("team/p", null, payload)).toEqual([
      "run",
      "team/p",
      ...["a=plain", 'b="true"', 'c="12"', 'd=""', 'e=" x"', "f=3", 'g=[1,"x"]', "h=null", "i=https://x/y?z"].flatMap(
        (one) => ["--set", one],
      ),
    ]);
  });

  it("names the version that is asked for, and sends odd names as one payload", () => {
    expect(runWords("p", 3, {})).toEqual(["run", "p@3"]);
    expect(runWords("p", null, { "a.b": 1 })).toEqual(["run", "p", "--payload", '{"a.b":1}']);
  });
});
