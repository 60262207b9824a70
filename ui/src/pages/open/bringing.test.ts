import { describe, expect, it } from "vitest";
import { BYTES_MAX, damageOf, faultOfFile } from "./bringing";

describe("a file", () => {
  it("that is empty or too large is not sent, and says what to do", () => {
    expect(faultOfFile({ name: "a.noetl", size: 0 })).toContain("noetl export");
    expect(faultOfFile({ name: "a.noetl", size: BYTES_MAX + 1 })).toContain("noetl import");
    expect(faultOfFile({ name: "a.noetl", size: BYTES_MAX })).toBe("");
  });

  it("that is damaged says at which line and why", () => {
    expect(damageOf("line 3 of the exported execution: it is\nno event")).toEqual({ line: 3, why: "it is\nno event" });
    expect(damageOf("this server is busy")).toBeNull();
  });
});
