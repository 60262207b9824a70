import { describe, expect, it } from "vitest";
import type { Row } from "./filters";
import { byNewest, heard, merged, taken } from "./rows";

const row = (id: string, status: Row["status"] = "running"): Row => ({
  execution_id: id,
  path: "p",
  version: 1,
  status,
  created_at: "2026-03-02T11:00:00.000Z",
  duration_ms: null,
  parent_execution_id: null,
});

describe("live rows", () => {
  const live = { rows: [row("12"), row("9")], waiting: [] };

  it("change in their place", () => {
    const next = heard(live, row("9", "success"), false);
    expect(next.rows.map((one) => one.status)).toEqual(["running", "success"]);
    expect(next.waiting).toEqual([]);
  });

  it("wait to be shown when they are new, and change while they wait", () => {
    let next = heard(live, row("13"), true);
    next = heard(next, row("14"), true);
    next = heard(next, row("13", "success"), true);
    expect(next.rows).toBe(live.rows);
    expect(next.waiting.map((one) => [one.execution_id, one.status])).toEqual([
      ["14", "running"],
      ["13", "success"],
    ]);
    expect(taken(next).rows.map((one) => one.execution_id)).toEqual(["14", "13", "12", "9"]);
    expect(taken(next).waiting).toEqual([]);
  });

  it("are not counted when they are not asked for, or no longer", () => {
    expect(heard(live, row("13"), false)).toBe(live);
    expect(heard(heard(live, row("13"), true), row("13", "failed"), false).waiting).toEqual([]);
  });

  it("stand once, newest first, whatever page brought them", () => {
    const rows = merged([row("100", "success"), row("12")], [row("12"), row("9"), row("100")]);
    expect(rows.map((one) => one.execution_id)).toEqual(["100", "12", "9"]);
    expect(rows[0]?.status).toBe("success");
  });

  it("are ordered as numbers, beyond what a number holds", () => {
    const ids = ["9007199254740993", "9007199254740992", "10"].map((id) => row(id));
    expect([...ids].reverse().sort(byNewest)).toEqual(ids);
  });
});
