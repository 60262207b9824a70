import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addressOf, api, ask } from "./client";
import { waitOf } from "./following";
import { isAtLeast } from "./identity";
import { Problem } from "./problem";
import { tokenIn } from "./session";

const kept = new Map<string, string>();
beforeEach(() => {
  kept.clear();
  vi.stubGlobal("sessionStorage", {
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
});
afterEach(() => vi.unstubAllGlobals());

function answering(status: number, body: string, media = "application/json") {
  const fetched = vi.fn<typeof fetch>(
    async () => new Response(body || null, { status, headers: { "content-type": media } }),
  );
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

test("an address has its words filled in and encoded, and a query without what is not said", () => {
  expect(addressOf("/api/v1/schedules/{name}/pause", { name: "a/b ?c" })).toBe("/api/v1/schedules/a%2Fb%20%3Fc/pause");
  expect(addressOf("/x", {}, { a: 1, b: null, c: undefined, d: "", e: false, f: "x y&z" })).toBe(
    "/x?a=1&e=false&f=x+y%26z",
  );
});

test("a refusal is a problem with its code, its words and whether it may pass", async () => {
  const body = JSON.stringify({ code: "wrong-state", detail: "it has ended", trace_id: "t1" });
  answering(409, body, "application/problem+json");

  const error = await api.any("post", "/api/v1/x", { body: {} }).catch((one: unknown) => one);

  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({
    status: 409,
    code: "wrong-state",
    detail: "it has ended",
    traceId: "t1",
    isPassing: false,
  });
});

test("an answer of something in between is a problem too", async () => {
  answering(502, "<html>Bad gateway</html>", "text/html");

  await expect(ask("GET", "/x")).rejects.toMatchObject({ status: 502, code: "http-502" });
});

test("a server that does not answer is a problem that may pass, and giving up is none", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("failed");
  });
  await expect(ask("GET", "/x")).rejects.toMatchObject({ status: 0, isPassing: true });

  await expect(ask("GET", "/x", { signal: AbortSignal.abort() })).rejects.toBeInstanceOf(TypeError);
});

test("a body is JSON unless it is text, and no answer is undefined", async () => {
  const fetched = answering(204, "");
  expect(await api.any("put", "/x", { body: { a: 1 } })).toBeUndefined();
  await api.any("post", "/x", { body: "a: 1", headers: { "Content-Type": "application/yaml" } });

  const sent = fetched.mock.calls.map(([, init]) => [init?.body, new Headers(init?.headers).get("content-type")]);
  expect(sent).toEqual([
    ['{"a":1}', "application/json"],
    ["a: 1", "application/yaml"],
  ]);
});

test("a token is read from a fragment and from nothing else", () => {
  expect(tokenIn("#token=noetl_a%2Bb")).toBe("noetl_a+b");
  expect(tokenIn("#main")).toBe("");
  expect(tokenIn("")).toBe("");
});

test("each role may what those before it may", () => {
  expect(isAtLeast("admin", "viewer")).toBe(true);
  expect(isAtLeast("runner", "author")).toBe(false);
  expect(isAtLeast("worker", "viewer")).toBe(false);
  expect(isAtLeast(undefined, "viewer")).toBe(false);
});

test("each try waits longer than the one before, up to a bound, and never nothing", () => {
  const waits = [1, 2, 3, 4, 10, 50].map((failures) => waitOf(failures, 1));

  expect(waits).toEqual([500, 1000, 2000, 4000, 15_000, 15_000]);
  expect(waitOf(1, 0)).toBe(250);
});
