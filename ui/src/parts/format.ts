/** Values as words. Pure, so that they can be tested without a page. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 0.4 ms · 12 ms · 3.2 s · 4 m 05 s · 2 h 07 m · 3 d 04 h */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 10 && ms !== Math.round(ms)) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE - 500) return `${Math.round(ms / SECOND)} s`;
  const seconds = Math.round(ms / SECOND);
  if (ms < HOUR - 500) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (ms < DAY - 30 * SECOND) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
  const hours = Math.round(ms / HOUR);
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** "just now", "12 s ago", "in 3 m", "4 h ago", "yesterday"-less: always a count, so that rows can be compared. */
export function relative(at: number, now: number): string {
  const away = now - at;
  const size = Math.abs(away);
  if (size < 2 * SECOND) return "now";
  const text = rough(size);
  return away > 0 ? `${text} ago` : `in ${text}`;
}

function rough(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

const EXACT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
  hourCycle: "h23",
});

export function exact(at: number): string {
  return EXACT.format(at);
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** 12:04:09 */
export function clock(at: number): string {
  return CLOCK.format(at);
}

/** A moment of the API in milliseconds; NaN if it is none. */
export function moment(text: string | null | undefined): number {
  return text ? Date.parse(text) : Number.NaN;
}

const COUNT = new Intl.NumberFormat("en", { useGrouping: true });

/** 12,345 */
export function count(value: number): string {
  return COUNT.format(value);
}

/** 1 run · 2 runs */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** 640 B · 12.4 kB · 3.1 MB */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = value;
  let unit = -1;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

/** Text cut to a length, with a mark where it was. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`;
}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One word of a command line, quoted for a POSIX shell where it must be. */
export function quoted(word: string): string {
  if (PLAIN.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** `noetl run orders --set 'name=a b'` */
export function commandLine(words: readonly string[]): string {
  return ["noetl", ...words].map(quoted).join(" ");
}

const OF_THIS_MACHINE = new Set(["explain", "worker", "server", "import"]); // verbs that ask no server

/** The same, asked of a server: one that has its store lets no other process of its home change it. */
export function commandLineAt(origin: string, words: readonly string[]): string {
  return commandLine(OF_THIS_MACHINE.has(words[0] ?? "") ? words : [...words, "--server", origin]);
}

/** A value in one line, as JSON; text without its quotes. */
export function inline(value: unknown, most = 120): string {
  if (typeof value === "string") return cut(value, most);
  if (value === undefined) return "";
  return cut(JSON.stringify(value) ?? "", most);
}
