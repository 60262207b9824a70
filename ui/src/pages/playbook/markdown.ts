/**
 * The Markdown of our own pages as blocks: headings, paragraphs, lists, code, tables. Pure, and no markup comes out of
 * it: what is not one of these is text. Links are text; an address of the web stands behind it.
 */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; parts: Inline[] }
  | { kind: "emphasis"; parts: Inline[] }
  | { kind: "link"; parts: Inline[]; address: string };

export type Block =
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "paragraph" | "quote"; parts: Inline[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "list"; isNumbered: boolean; items: Item[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

export interface Item {
  parts: Inline[];
  blocks: Block[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const CELLS = /^\s*\|.*\|\s*$/;
const TABLE_RULE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;
const INDENTED = /^(?: {4}|\t)/;
const NESTED_MAX = 8;

export function blocksOf(markdown: string, depth = 0): Block[] {
  const lines = markdown.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (!line.trim()) at += 1;
    else at = takeBlock(lines, at, blocks, depth);
  }
  return blocks;
}

/** Reads the block that begins at a line; gives the line after it. */
function takeBlock(lines: string[], at: number, blocks: Block[], depth: number): number {
  const line = lines[at] ?? "";
  const fence = FENCE.exec(line);
  if (fence) return takeFence(lines, at, fence, blocks);
  const heading = HEADING.exec(line);
  if (heading) {
    blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, parts: inlineOf(heading[2] ?? "") });
    return at + 1;
  }
  if (RULE.test(line)) {
    blocks.push({ kind: "rule" });
    return at + 1;
  }
  if (CELLS.test(line) && TABLE_RULE.test(lines[at + 1] ?? "")) return takeTable(lines, at, blocks);
  if (ITEM.test(line) && depth < NESTED_MAX) return takeList(lines, at, blocks, depth);
  if (INDENTED.test(line)) return takeIndented(lines, at, blocks);
  return takeParagraph(lines, at, blocks);
}

function takeFence(lines: string[], at: number, fence: RegExpExecArray, blocks: Block[]): number {
  const mark = fence[1] ?? "```";
  let end = at + 1;
  while (end < lines.length && !(lines[end] ?? "").trim().startsWith(mark)) end += 1;
  blocks.push({ kind: "code", text: lines.slice(at + 1, end).join("\n"), language: fence[2] ?? "" });
  return end + 1;
}

function takeIndented(lines: string[], at: number, blocks: Block[]): number {
  let end = at;
  while (end < lines.length && (INDENTED.test(lines[end] ?? "") || !(lines[end] ?? "").trim())) end += 1;
  const text = lines.slice(at, end).map((line) => line.replace(INDENTED, ""));
  blocks.push({ kind: "code", text: text.join("\n").trimEnd(), language: "" });
  return end;
}

function takeTable(lines: string[], at: number, blocks: Block[]): number {
  let end = at + 2;
  while (end < lines.length && CELLS.test(lines[end] ?? "")) end += 1;
  const rows = lines.slice(at + 2, end).map(cellsOf);
  blocks.push({ kind: "table", head: cellsOf(lines[at] ?? ""), rows });
  return end;
}

/** The cells of a row; a bar within code, or after a backslash, is none between cells. */
function cellsOf(line: string): Inline[][] {
  const cells: string[] = [];
  let cell = "";
  let isCode = false;
  const inner = line.trim().slice(1, -1);
  for (let at = 0; at < inner.length; at += 1) {
    const letter = inner[at] ?? "";
    if (letter === "\\" && inner[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (letter === "|" && !isCode) {
      cells.push(cell);
      cell = "";
    } else {
      if (letter === "`") isCode = !isCode;
      cell += letter;
    }
  }
  return [...cells, cell].map((one) => inlineOf(one.trim()));
}

function takeList(lines: string[], at: number, blocks: Block[], depth: number): number {
  const indent = indentOf(lines[at] ?? "");
  const isNumbered = /^\s*\d/.test(lines[at] ?? "");
  const items: Item[] = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next] ?? "");
    if (!item || indentOf(lines[next] ?? "") !== indent || /^\d/.test(item[2] ?? "") !== isNumbered) break;
    const end = endOfItem(lines, next, indent);
    const [first, ...rest] = [item[3] ?? "", ...lines.slice(next + 1, end)];
    items.push(itemOf(first, rest, indent + 2, depth));
    next = end;
  }
  blocks.push({ kind: "list", isNumbered, items });
  return next;
}

/** An item goes on while lines are indented below it, or run on from it. */
function endOfItem(lines: string[], at: number, indent: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end] ?? "";
    if (!line.trim()) {
      const following = lines[end + 1] ?? "";
      if (!following.trim() || indentOf(following) <= indent) break;
    } else if (indentOf(line) <= indent && (ITEM.test(line) || startsBlock(line) || !(lines[end - 1] ?? "").trim()))
      break;
    end += 1;
  }
  while (end < lines.length && !(lines[end] ?? "").trim() && isItemAt(lines[end + 1], indent)) end += 1;
  return end;
}

function isItemAt(line: string | undefined, indent: number): boolean {
  return line !== undefined && ITEM.test(line) && indentOf(line) === indent;
}

function itemOf(first: string, rest: string[], indent: number, depth: number): Item {
  const words = [first];
  let at = 0;
  while (at < rest.length && (rest[at] ?? "").trim() && !startsBlock(rest[at] ?? "") && !ITEM.test(rest[at] ?? "")) {
    words.push((rest[at] ?? "").trim());
    at += 1;
  }
  const below = rest.slice(at).map((line) => line.slice(Math.min(indentOf(line), indent)));
  return { parts: inlineOf(words.join(" ")), blocks: blocksOf(below.join("\n"), depth + 1) };
}

function startsBlock(line: string): boolean {
  return FENCE.test(line.trimStart()) || HEADING.test(line) || CELLS.test(line);
}

function takeParagraph(lines: string[], at: number, blocks: Block[]): number {
  const words: string[] = [];
  const isQuote = /^\s*>/.test(lines[at] ?? "");
  let end = at;
  while (end < lines.length) {
    const line = lines[end] ?? "";
    if (!line.trim() || (end > at && (startsBlock(line) || ITEM.test(line) || RULE.test(line)))) break;
    words.push(line.trim().replace(isQuote ? /^>\s?/ : /^(?!)/, ""));
    end += 1;
  }
  blocks.push({ kind: isQuote ? "quote" : "paragraph", parts: inlineOf(words.join(" ")) });
  return end;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

const MARKS =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^*]+(?:\*[^*]+)*)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*|\[([^\][]*)\]\(([^()\s]*)\)|\\([\\`*_[\]{}()#+.!|<>-])/;
const INLINE_MAX = 20_000; // characters of one paragraph that are looked at for marks
const INLINE_DEPTH = 4;

export function inlineOf(text: string, depth = 0): Inline[] {
  if (text.length > INLINE_MAX || depth > INLINE_DEPTH) return text ? [{ kind: "text", text }] : [];
  const parts: Inline[] = [];
  let rest = text;
  while (rest) {
    const found = MARKS.exec(rest);
    if (!found) break;
    if (found.index) addText(parts, rest.slice(0, found.index));
    const made = partOf(found, depth);
    if (made.kind === "text") addText(parts, made.text);
    else parts.push(made);
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) addText(parts, rest);
  return parts;
}

function addText(parts: Inline[], text: string): void {
  const last = parts.at(-1);
  if (last?.kind === "text") last.text += text;
  else parts.push({ kind: "text", text });
}

function partOf(found: RegExpExecArray, depth: number): Inline {
  const [, , code, strong, emphasis, words, address, escaped] = found;
  if (code !== undefined) return { kind: "code", text: code.length > 2 ? code.replace(/^ (.*) $/, "$1") : code };
  if (strong !== undefined) return { kind: "strong", parts: inlineOf(strong, depth + 1) };
  if (emphasis !== undefined) return { kind: "emphasis", parts: inlineOf(emphasis, depth + 1) };
  if (words !== undefined) return { kind: "link", parts: inlineOf(words, depth + 1), address: webOf(address ?? "") };
  return { kind: "text", text: escaped ?? "" };
}

/** An address of the web; whatever else a link leads to is not shown. */
function webOf(address: string): string {
  return /^https?:\/\//.test(address) ? address : "";
}
