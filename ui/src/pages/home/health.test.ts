import { describe, expect, it } from "vitest";
import { checkLines, poolLines } from "./health";
import { reasonOf } from "./reasons";

const pool = {
  pool: "gpu",
  ready: 0,
  leased: 2,
  parked: 1,
  oldest_wait_seconds: 0,
  workers: 1,
  reason: null,
};

describe("health", () => {
  it("has nothing to advise while all is well", () => {
    expect(poolLines([pool])).toEqual([
      { name: "pool gpu", status: "ok", says: "1 worker, 2 at work, 0 ready, 1 parked", advice: "", command: null },
    ]);
  });

  it("says what to do where jobs wait for nobody, in the server's words if it has some", () => {
    const [line] = poolLines([{ ...pool, workers: 0, ready: 3, reason: "no worker of pool gpu was seen" }]);
    expect(line).toMatchObject({ status: "down", advice: "no worker of pool gpu was seen" });
    expect(line?.command).toEqual(["worker", "start", "--pool", "gpu"]);
  });

  it("says that work is late, and nothing of pools without any", () => {
    expect(poolLines([{ ...pool, oldest_wait_seconds: 90 }])[0]?.status).toBe("degraded");
    expect(poolLines([{ ...pool, leased: 0, parked: 0 }])).toEqual([]);
  });

  it("advises on a part that is down", () => {
    const checks = [{ name: "store", is_ok: false, detail: "connection refused", seconds: 1 }];
    const [line] = checkLines({ is_ok: false, version: "1", now: "", checks });
    expect(line).toMatchObject({ status: "down", says: "connection refused", command: ["doctor"] });
    expect(line?.advice).toContain("NOETL_STORE_URL");
  });
});

describe("the reason of a failure", () => {
  it("is where and what", () => {
    const error = { kind: "http", message: "503 <b>", step: "fetch", task: "get" };
    expect(reasonOf(error)).toEqual({ where: "fetch / get", what: "503 <b>" });
    expect(reasonOf({ kind: "timeout" })).toEqual({ where: "", what: "timeout" });
    expect(reasonOf({ odd: 1 }).what).toBe('{"odd":1}');
    expect(reasonOf(null).what).toContain("events");
  });
});
