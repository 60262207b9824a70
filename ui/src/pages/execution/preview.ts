/** A stored result as something to look at: what its bytes say, as far as they were read. Pure. */

export interface Preview {
  value: unknown;
  kind: "json" | "lines" | "csv" | "text" | "bytes";
  /** Not all of it was read, or not all of what was read is shown. */
  isCut: boolean;
}

const ROWS_MAX = 2000;
const TEXT_MAX = 100_000;

export function previewOf(bytes: Uint8Array, media: string, isCut: boolean): Preview {
  const text = new TextDecoder("utf-8", { fatal: false }).decode(bytes);
  const kind = media.split(";")[0]?.trim() ?? "";
  if (kind === "application/x-ndjson") return linesOf(text, isCut);
  if (kind === "text/csv") return csvOf(text, isCut);
  if (kind === "application/octet-stream" && text.includes("\uFFFD"))
    return { value: hexOf(bytes), kind: "bytes", isCut };
  if (!isCut) {
    try {
      return { value: JSON.parse(text), kind: "json", isCut };
    } catch {
      // not JSON after all
    }
  } else if (/^\s*\[\s*\{/.test(text)) {
    const rows = wholeRows(text);
    if (rows.length) return { value: rows, kind: "json", isCut };
  }
  return { value: text.slice(0, TEXT_MAX), kind: "text", isCut: isCut || text.length > TEXT_MAX };
}

/** The rows of a JSON list that are whole, where its end is missing. */
export function wholeRows(text: string): unknown[] {
  let depth = 0;
  let isText = false;
  let end = 0;
  for (let at = text.indexOf("[") + 1; at < text.length; at++) {
    const letter = text[at];
    if (isText) {
      if (letter === "\\") at++;
      else if (letter === '"') isText = false;
    } else if (letter === '"') isText = true;
    else if (letter === "{" || letter === "[") depth++;
    else if (letter === "}" || letter === "]") {
      depth--;
      if (depth === 0) end = at + 1;
      if (depth < 0) break;
    }
  }
  if (!end) return [];
  try {
    return (JSON.parse(`${text.slice(0, end)}]`) as unknown[]).slice(0, ROWS_MAX);
  } catch {
    return [];
  }
}

function linesOf(text: string, isCut: boolean): Preview {
  const lines = text.split("\n");
  if (isCut) lines.pop();
  const rows: unknown[] = [];
  for (const line of lines.slice(0, ROWS_MAX)) {
    if (!line.trim()) continue;
    try {
      rows.push(JSON.parse(line));
    } catch {
      rows.push(line);
    }
  }
  return { value: rows, kind: "lines", isCut: isCut || lines.length > ROWS_MAX };
}

/** Comma-separated rows, quoted as RFC 4180 has it; the first names the columns. */
export function csvOf(text: string, isCut: boolean): Preview {
  const rows: string[][] = [[]];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length <= ROWS_MAX + 1; at++) {
    const letter = text[at];
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else isQuoted = false;
    } else if (letter === '"') isQuoted = true;
    else if (letter === "," || letter === "\n") {
      rows.at(-1)?.push(cell.replace(/\r$/, ""));
      cell = "";
      if (letter === "\n") rows.push([]);
    } else cell += letter;
  }
  if (cell && !isCut) rows.at(-1)?.push(cell);
  const [head = [], ...body] = rows;
  const whole = body.filter((row) => row.length === head.length || (!isCut && row.length > 0));
  const value = whole.map((row) => Object.fromEntries(head.map((name, at) => [name || String(at + 1), row[at] ?? ""])));
  return { value, kind: "csv", isCut };
}

function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, 1024); at += 16) {
    const row = [...bytes.slice(at, at + 16)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${row}`);
  }
  return lines.join("\n");
}
