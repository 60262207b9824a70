import { describe, expect, it } from "vitest";
import { applies, parts, wordsOf } from "./bulk";
import type { Row } from "./filters";

const row = (status: Row["status"]): Row => ({
  execution_id: "1",
  path: "p",
  version: 1,
  status,
  created_at: "2026-03-02T11:00:00.000Z",
  duration_ms: null,
  parent_execution_id: null,
});

describe("several at once", () => {
  it("leaves out what an action would be refused for", () => {
    expect(applies("cancel", row("running"))).toBe(true);
    expect(applies("cancel", row("success"))).toBe(false);
    expect(applies("resume", row("incident"))).toBe(true);
    expect(applies("resume", row("failed"))).toBe(false);
    expect(applies("rerun", row("failed"))).toBe(true);
    expect(applies("rerun", row("incident"))).toBe(true);
    expect(applies("rerun", row("running"))).toBe(false);
  });

  it("is a command line for each", () => {
    const plain = { reason: "", fromFailed: false };
    expect(wordsOf("cancel", "7", plain)).toEqual(["cancel", "7"]);
    expect(wordsOf("cancel", "7", { ...plain, reason: "wrong file" })).toEqual([
      "cancel",
      "7",
      "--reason",
      "wrong file",
    ]);
    expect(wordsOf("rerun", "7", { ...plain, fromFailed: true })).toEqual(["rerun", "7", "--from-failed"]);
    expect(wordsOf("resume", "7", { reason: "x", fromFailed: true })).toEqual(["resume", "7"]);
  });

  it("goes in requests that are not too large", () => {
    expect(parts([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
    expect(parts([], 2)).toEqual([]);
  });
});
