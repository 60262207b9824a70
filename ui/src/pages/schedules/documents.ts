/** Schedules and triggers as the documents that describe them: one to start from, that of a row, and who is in a text. Pure. */
import type { Schemas } from "@/api/client";

export type Schedule = Schemas["ScheduleRow"];
export type Trigger = Schemas["TriggerRow"];
export type Kind = "schedule" | "trigger";

export const KINDS: Record<Kind, { title: string; many: string; document: string }> = {
  schedule: { title: "Schedule", many: "schedules", document: "Schedule" },
  trigger: { title: "Trigger", many: "triggers", document: "Trigger" },
};

/** Whom the documents of a text name, for one kind; "" where one of that kind says no name. */
export function namesIn(text: string, kind: Kind): string[] {
  return text
    .split(/^---(?:[ \t].*)?$/m)
    .filter((one) => new RegExp(`^kind:\\s*["']?${KINDS[kind].document}["']?\\s*(?:#.*)?$`, "m").test(one))
    .map(nameIn);
}

function nameIn(text: string): string {
  const flow = /^metadata:\s*\{([^}]*)\}/m.exec(text)?.[1];
  if (flow !== undefined) return bare(/(?:^|,)\s*["']?name["']?\s*:\s*([^,}]+)/.exec(flow)?.[1]);
  const block = /^metadata:[^\n{]*\n((?:[ \t]+.*\n?|[ \t]*#.*\n?|\n)*)/m.exec(text)?.[1] ?? "";
  const indent = /^([ \t]+)[^\s#]/m.exec(block)?.[1] ?? "";
  return bare(new RegExp(`^${indent}name:\\s*(.*)$`, "m").exec(block)?.[1]);
}

function bare(value: string | undefined): string {
  const text = (value ?? "").trim();
  const quoted = /^(["'])(.*?)\1/.exec(text);
  return quoted ? (quoted[2] ?? "") : text.replace(/\s+#.*$/, "");
}

export function starterOf(kind: Kind, path: string): string {
  return kind === "schedule" ? scheduleStarter(path) : triggerStarter(path);
}

function scheduleStarter(path: string): string {
  return `apiVersion: noetl.io/v2
kind: Schedule
metadata:
  name: every_morning
spec:
  playbook: { path: ${scalar(path)} }
  cron: "30 7 * * MON-FRI" # minute, hour, day, month, day of the week; or every: 15m
  timezone: UTC # a name such as Europe/Berlin
  overlap: skip # when the one before still runs: skip, queue, allow or cancel
  catch_up: last # after no server ran: none, last or all
  payload: {} # laid over the playbook's workload
`;
}

function triggerStarter(path: string): string {
  return `apiVersion: noetl.io/v2
kind: Trigger
metadata:
  name: new_order
spec:
  playbook: { path: ${scalar(path)} }
  # The secret is one of the keychain: noetl keychain set order_hook --kind bearer
  webhook: { auth: token, credential: order_hook }
  rate_per_minute: 60
`;
}

/** The document that a row came from, less what is usual: applying it changes nothing. */
export function documentOf(kind: Kind, row: Schedule | Trigger): string {
  const spec = kind === "schedule" ? scheduleSpec(row as Schedule) : triggerSpec(row as Trigger);
  const metadata = { name: row.name, description: row.description, labels: row.labels };
  return `apiVersion: noetl.io/v2\nkind: ${KINDS[kind].document}\nmetadata:\n${lines(metadata)}spec:\n${lines(spec)}`;
}

function startOf(row: Schedule | Trigger): Record<string, unknown> {
  return {
    playbook: { path: row.path, ...(row.version === null ? {} : { version: row.version }) },
    payload: row.payload,
  };
}

function scheduleSpec(row: Schedule): Record<string, unknown> {
  return {
    ...startOf(row),
    cron: row.cron,
    every: row.every_seconds === null ? null : everyWords(row.every_seconds).replace(" ", ""),
    timezone: row.timezone === "UTC" ? null : row.timezone,
    overlap: row.overlap,
    catch_up: row.catch_up,
    catch_up_max: row.catch_up_max === 10 ? null : row.catch_up_max,
    jitter: row.jitter_seconds || null,
    start_at: row.start_at,
    end_at: row.end_at,
  };
}

function triggerSpec(row: Trigger): Record<string, unknown> {
  return {
    ...startOf(row),
    event_key: row.event_key === "event" ? null : row.event_key,
    webhook: row.webhook && webhookOf(row.webhook),
    nats:
      row.nats &&
      withoutNothing(without(row.nats, { queue: `noetl-${row.name.replaceAll(".", "_")}`, format: "json" })),
    dedupe: row.dedupe && withoutNothing(row.dedupe),
    rate_per_minute: row.rate_per_minute,
    paused: row.is_paused || null,
  };
}

const SIGNING = ["algorithm", "timestamp_header", "tolerance_seconds"]; // mean nothing where a token is shown
const USUAL = {
  algorithm: "sha256",
  timestamp_header: "X-NoETL-Timestamp",
  tolerance_seconds: 300,
  format: "json",
  headers: [],
  body_bytes_max: 262_144,
};

function webhookOf(webhook: Record<string, unknown>): Record<string, unknown> {
  const isSigned = webhook.auth === "hmac";
  const said = Object.entries(webhook).filter(([key]) => isSigned || !SIGNING.includes(key));
  return without(Object.fromEntries(said), { ...USUAL, header: isSigned ? "X-NoETL-Signature" : "X-NoETL-Token" });
}

/** Less what is as usual. */
function without(values: Record<string, unknown>, usual: Record<string, unknown>): Record<string, unknown> {
  const isUsual = ([key, value]: [string, unknown]): boolean => JSON.stringify(value) === JSON.stringify(usual[key]);
  return Object.fromEntries(Object.entries(values).filter((one) => !isUsual(one)));
}

function withoutNothing(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** What is nothing is left out; the rest is a line each, deeper values as JSON, which YAML reads too. */
function lines(values: Record<string, unknown>): string {
  const isNothing = (value: unknown): boolean =>
    value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
  return Object.entries(values)
    .filter(([, value]) => !isNothing(value))
    .map(([key, value]) => `  ${key}: ${scalar(value)}\n`)
    .join("");
}

const PLAIN = /^[A-Za-z][\w./-]*$/;
const NOT_TEXT = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

function scalar(value: unknown): string {
  if (typeof value === "string" && PLAIN.test(value) && !NOT_TEXT.test(value)) return value;
  return JSON.stringify(value);
}

/** 90 → "90 s", 3600 → "1 h": in the largest unit that is exact, as a document may say it too. */
export function everyWords(seconds: number): string {
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
  ] as const;
  const [size, name] = units.find(([one]) => seconds % one === 0) ?? [1, "s"];
  return `${seconds / size} ${name}`;
}

/** When it is due, in few words. */
export function whenOf(row: Schedule): string {
  if (row.cron !== null) return `${row.cron} ${row.timezone}`;
  return row.every_seconds === null ? "never" : `every ${everyWords(row.every_seconds)}`;
}

/** What sets it off. */
export function sourceOf(row: Trigger): string {
  if (row.nats) return `NATS ${String(row.nats.subject ?? "")}`;
  return row.webhook?.auth === "hmac" ? "webhook, signed" : "webhook, by token";
}
