import { describe, expect, it } from "vitest";
import { documentOf, everyWords, namesIn, type Schedule, sourceOf, starterOf, type Trigger } from "./documents";

const schedule: Schedule = {
  name: "nightly",
  description: "with: a colon",
  labels: {},
  path: "reports/daily",
  version: 2,
  payload: { region: "north", on: true },
  cron: "30 2 * * *",
  every_seconds: null,
  timezone: "Europe/Berlin",
  overlap: "queue",
  catch_up: "last",
  catch_up_max: 10,
  jitter_seconds: 0,
  start_at: null,
  end_at: null,
  state: "active",
  next_at: null,
  waiting: 0,
  last_execution_id: null,
  last_error: "",
  last_skipped_at: null,
  last_missed_at: null,
  counts: { started: 0, skipped: 0, missed: 0, failed: 0 },
  applied_at: "2026-03-01T12:00:00.000Z",
};

describe("who is in a text", () => {
  it("is found in blocks, in braces and between quotes, for one kind", () => {
    const text = `${starterOf("schedule", "a")}---\nkind: Schedule\nmetadata: { description: "x", name: "two" }\n---\n${starterOf("trigger", "a")}`;
    expect(namesIn(text, "schedule")).toEqual(["every_morning", "two"]);
    expect(namesIn(text, "trigger")).toEqual(["new_order"]);
  });

  it("is the name of the metadata and no other", () => {
    const text =
      "kind: Schedule\nmetadata:\n  # name: no\n  labels:\n    name: inner\n  name: 'outer' # yes\nspec:\n  name: x\n";
    expect(namesIn(text, "schedule")).toEqual(["outer"]);
    expect(namesIn("kind: Schedule\nspec: {name: x}\n", "schedule")).toEqual([""]);
    expect(namesIn("metadata: {name: x}", "schedule")).toEqual([]);
  });
});

describe("the document of a row", () => {
  it("says what is not usual, and values as they are", () => {
    expect(documentOf("schedule", schedule)).toBe(
      [
        "apiVersion: noetl.io/v2",
        "kind: Schedule",
        "metadata:",
        "  name: nightly",
        '  description: "with: a colon"',
        "spec:",
        '  playbook: {"path":"reports/daily","version":2}',
        '  payload: {"region":"north","on":true}',
        '  cron: "30 2 * * *"',
        "  timezone: Europe/Berlin",
        "  overlap: queue",
        "  catch_up: last",
        "",
      ].join("\n"),
    );
  });

  it("keeps what a webhook says is not there", () => {
    const webhook = { auth: "hmac", credential: "key", timestamp_header: null };
    const row = { ...schedule, webhook, nats: null, dedupe: { field: "after", header: null }, is_paused: true };
    const text = documentOf("trigger", row as unknown as Trigger);
    expect(text).toContain('webhook: {"auth":"hmac","credential":"key","timestamp_header":null}');
    expect(text).toContain('dedupe: {"field":"after"}');
    expect(text).toContain("paused: true");
    expect(sourceOf(row as unknown as Trigger)).toBe("webhook, signed");
  });

  it("leaves out what is usual, and what means nothing with a token", () => {
    const signing = { algorithm: "sha512", timestamp_header: null, tolerance_seconds: 9 };
    const usual = { header: "X-NoETL-Token", format: "json", headers: [], body_bytes_max: 262_144 };
    const webhook = { auth: "token", credential: "key", ...signing, ...usual };
    const row = { ...schedule, webhook, nats: null, dedupe: null, is_paused: false };
    expect(documentOf("trigger", row as unknown as Trigger)).toContain(
      'webhook: {"auth":"token","credential":"key"}\n',
    );
  });
});

it.each([
  [30, "30 s"],
  [90, "90 s"],
  [3600, "1 h"],
  [172_800, "2 d"],
])("%i seconds are %s", (seconds, words) => expect(everyWords(seconds)).toBe(words));
