import { describe, expect, it } from "vitest";
import { changeOf, isEcho, tell } from "./echoes";

describe("what comes back to the editor", () => {
  it("is an echo while newer letters are on their way", () => {
    const echoes = { told: [] };
    tell(echoes, "p");
    tell(echoes, "py");
    expect(isEcho(echoes, "p")).toBe(true);
    expect(isEcho(echoes, "py")).toBe(true);
    expect(isEcho(echoes, "py")).toBe(false);
  });

  it("counts once when several were told together, and what else comes is no echo", () => {
    const echoes = { told: [] };
    for (const text of ["a", "ab", "abc"]) tell(echoes, text);
    expect(isEcho(echoes, "abc")).toBe(true);
    expect(isEcho(echoes, "ab")).toBe(false);
    expect(isEcho(echoes, "other")).toBe(false);
  });

  it("does not gather for ever where nobody listens", () => {
    const echoes: { told: string[] } = { told: [] };
    for (let at = 0; at < 1000; at += 1) tell(echoes, String(at));
    expect(echoes.told.length).toBeLessThan(50);
  });
});

describe("a change", () => {
  it.each([
    ["a: 1\nb: 2\n", "a: 1\nb: 3\n", { from: 8, to: 9, insert: "3" }],
    ["aa", "aaa", { from: 2, to: 2, insert: "a" }],
    ["aaa", "aa", { from: 2, to: 3, insert: "" }],
    ["", "x", { from: 0, to: 0, insert: "x" }],
    ["same", "same", { from: 4, to: 4, insert: "" }],
  ])("from %j to %j is the smallest", (text, wanted, change) => {
    expect(changeOf(text, wanted)).toEqual(change);
    expect(text.slice(0, change.from) + change.insert + text.slice(change.to)).toBe(wanted);
  });
});
