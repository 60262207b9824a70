/** A unified diff, as `diff -u` prints it, as rows: one below the other, or old beside new. Pure. */
export type Sort = "same" | "gone" | "new" | "hunk" | "note";

export interface DiffRow {
  sort: Sort;
  text: string;
  /** The line's number in the old and the new text; null where it has none. */
  old: number | null;
  new: number | null;
}

export interface Pair {
  sort: "same" | "change" | "hunk" | "note";
  left: DiffRow | null;
  right: DiffRow | null;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function rowsOf(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let at: { old: number; new: number } | null = null;
  for (const line of diff.split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      at = { old: Number(hunk[1]), new: Number(hunk[2]) };
      rows.push({ sort: "hunk", text: line, old: null, new: null });
    } else if (at && line) rows.push(rowOf(line, at)); // before the first hunk stand the names of the two
  }
  return rows;
}

function rowOf(line: string, at: { old: number; new: number }): DiffRow {
  const text = line.slice(1);
  if (line.startsWith("-")) return { sort: "gone", text, old: at.old++, new: null };
  if (line.startsWith("+")) return { sort: "new", text, old: null, new: at.new++ };
  if (line.startsWith(" ")) return { sort: "same", text, old: at.old++, new: at.new++ };
  return { sort: "note", text: line, old: null, new: null };
}

/** Old beside new: lines that went beside those that came in their place. */
export function pairsOf(rows: readonly DiffRow[]): Pair[] {
  const pairs: Pair[] = [];
  let gone: DiffRow[] = [];
  let come: DiffRow[] = [];
  const flush = (): void => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) {
      pairs.push({ sort: "change", left: gone[at] ?? null, right: come[at] ?? null });
    }
    gone = [];
    come = [];
  };
  for (const row of rows) {
    if (row.sort === "gone") {
      if (come.length) flush();
      gone.push(row);
    } else if (row.sort === "new") come.push(row);
    else {
      flush();
      pairs.push({ sort: row.sort, left: row, right: row });
    }
  }
  flush();
  return pairs;
}

/** What two lines share at both ends, so that only what differs between is marked: [before, differs, after]. */
export function differing(text: string, other: string): [string, string, string] {
  let begin = 0;
  while (begin < text.length && begin < other.length && text[begin] === other[begin]) begin += 1;
  let end = 0;
  const most = Math.min(text.length, other.length) - begin;
  while (end < most && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  return [text.slice(0, begin), text.slice(begin, text.length - end), text.slice(text.length - end)];
}

export function countsOf(rows: readonly DiffRow[]): { gone: number; come: number } {
  return {
    gone: rows.filter((row) => row.sort === "gone").length,
    come: rows.filter((row) => row.sort === "new").length,
  };
}
