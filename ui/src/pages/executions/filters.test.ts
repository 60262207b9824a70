import { describe, expect, it } from "vitest";
import {
  addressWords,
  askedOf,
  commandOf,
  type Filters,
  isWanted,
  lineOf,
  NONE,
  type Row,
  readAddress,
  readLine,
} from "./filters";

const NOW = Date.parse("2026-03-02T12:00:00Z");
const ROW: Row = {
  execution_id: "4097",
  path: "team/Orders",
  version: 3,
  status: "failed",
  created_at: "2026-03-02T11:00:00.000Z",
  duration_ms: 12,
  parent_execution_id: null,
};

describe("the query line", () => {
  it("is the same thing as the filters", () => {
    const line = "status:incident,failed path:team/* since:24h until:2026-03-01T12:00Z parent:17 is:root two words";
    const { filters, faults } = readLine(line);
    expect(faults).toEqual([]);
    expect(filters).toEqual({
      status: ["incident", "failed"],
      path: "team/*",
      since: "24h",
      until: "2026-03-01T12:00Z",
      parent: "17",
      isRoot: true,
      text: "two words",
    });
    expect(lineOf(filters)).toBe(line);
  });

  it.each<Partial<Filters>>([
    {},
    { status: ["running"] },
    { path: 'a "b" c\\d' },
    { path: "x", isRoot: false },
    { text: "status:failed" },
    { text: "orders of:today" },
  ])("survives being written and read: %j", (given) => {
    const filters = { ...NONE, ...given };
    expect(readLine(lineOf(filters))).toEqual({ filters, faults: [] });
    expect(readAddress(new URLSearchParams(addressWords(filters)).toString())).toEqual(filters);
  });

  it("says what it does not understand, and keeps the rest", () => {
    const { filters, faults } = readLine("status:faild,failed sinze:2h since:soon parent:abc is:new orders");
    expect(filters).toEqual({ ...NONE, status: ["failed"], text: "orders" });
    expect(faults).toHaveLength(5);
    expect(faults[0]).toContain("running, waiting, incident");
    expect(faults[1]).toContain("since:");
  });

  it("takes a key without a value, and an open quote, as unfinished", () => {
    expect(readLine("status: path:")).toEqual({ filters: NONE, faults: [] });
    expect(readLine('path:"a b').filters.path).toBe("a b");
  });

  it("gives up no time to backtracking", () => {
    const began = performance.now();
    readLine(`path:"${"\\".repeat(50_000)}`);
    readLine(`${'"'.repeat(20_000)}${":".repeat(20_000)}`);
    expect(performance.now() - began).toBeLessThan(500);
  });
});

describe("what the API is asked", () => {
  it("has moments where the line has times ago", () => {
    const asked = askedOf({ ...NONE, since: "24h", until: "2026-03-02", status: ["failed", "incident"] }, NOW);
    expect(asked.since).toBe("2026-03-01T12:00:00.000Z");
    expect(asked.until).toBe("2026-03-02T00:00:00.000Z");
    expect(asked.status).toBe("failed,incident");
    expect(asked.path).toBeUndefined();
  });
});

describe("a row that the bell brings", () => {
  it.each<[Partial<Filters>, boolean]>([
    [{}, true],
    [{ status: ["failed"] }, true],
    [{ status: ["running"] }, false],
    [{ path: "team/*" }, true],
    [{ path: "team" }, false],
    [{ text: "order" }, true],
    [{ text: "40" }, true],
    [{ text: "97" }, false],
    [{ since: "2h" }, true],
    [{ since: "30m" }, false],
    [{ until: "30m" }, true],
    [{ until: "2h" }, false],
    [{ isRoot: true }, true],
    [{ isRoot: false }, false],
    [{ parent: "1" }, false],
  ])("is compared with %j", (given, wanted) => {
    expect(isWanted(ROW, { ...NONE, ...given }, NOW)).toBe(wanted);
  });
});

describe("the list as a command line", () => {
  it("has the same filters", () => {
    const { filters } = readLine("status:failed,incident path:team/* since:24h is:root two words");
    expect(commandOf(filters)).toEqual(
      ["list", "--status", "incident,failed", "--path", "team/*", "--since", "24h", "--root"].concat(
        "--q",
        "two words",
      ),
    );
    expect(commandOf(NONE)).toEqual(["list"]);
  });

  it("is none where the command line has no word for it", () => {
    expect(commandOf({ ...NONE, parent: "7" })).toBeNull();
    expect(commandOf({ ...NONE, isRoot: false })).toBeNull();
  });
});
