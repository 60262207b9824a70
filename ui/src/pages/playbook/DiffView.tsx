/** What differs between two texts: old beside new where there is room, else one below the other. */
import { useState, useSyncExternalStore } from "react";
import { Button, Empty, format } from "@/parts";
import { countsOf, type DiffRow, differing, type Pair, pairsOf, rowsOf } from "./diff";

const WIDE = "(min-width: 1000px)";
const ROWS_SHOWN = 1500;

function useWide(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const query = window.matchMedia(WIDE);
      query.addEventListener("change", watcher);
      return () => query.removeEventListener("change", watcher);
    },
    () => window.matchMedia(WIDE).matches,
  );
}

export function DiffView({ diff, old, fresh }: { diff: string; old: number; fresh: number }) {
  const isWide = useWide();
  const [wanted, setWanted] = useState<boolean | null>(null);
  const [most, setMost] = useState(ROWS_SHOWN);
  const rows = rowsOf(diff);
  if (!rows.length) return <Empty title="The two texts are the same" icon="check" />;
  const isBeside = wanted ?? isWide;
  const { gone, come } = countsOf(rows);
  const label = `Changes from version ${old} to version ${fresh}`;
  return (
    <div className="playbook-diff">
      <div className="row">
        <span className="muted">
          {format.plural(gone, "line")} gone, {format.plural(come, "line")} new
        </span>
        <fieldset className="switch" aria-label="How to show it">
          <button type="button" aria-pressed={isBeside} onClick={() => setWanted(true)}>
            Side by side
          </button>
          <button type="button" aria-pressed={!isBeside} onClick={() => setWanted(false)}>
            Unified
          </button>
        </fieldset>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="playbook-diff-box" tabIndex={0} role="region" aria-label={label}>
        <table className={isBeside ? "playbook-diff-beside" : "playbook-diff-unified"}>
          <colgroup>
            {isBeside ? (
              <>
                <col className="playbook-diff-at" />
                <col />
                <col className="playbook-diff-at" />
                <col />
              </>
            ) : (
              <>
                <col className="playbook-diff-at" />
                <col className="playbook-diff-at" />
                <col />
              </>
            )}
          </colgroup>
          <thead>
            <tr>{headOf(isBeside, old, fresh)}</tr>
          </thead>
          <tbody>
            {isBeside
              ? pairsOf(rows)
                  .slice(0, most)
                  .map((pair, at) => <PairRow key={keyOf(at)} pair={pair} />)
              : rows.slice(0, most).map((row, at) => <UnifiedRow key={keyOf(at)} row={row} />)}
          </tbody>
        </table>
      </div>
      {rows.length > most ? <Button onClick={() => setMost(most + ROWS_SHOWN)}>Show more</Button> : null}
    </div>
  );
}

function keyOf(at: number): string {
  return `row ${at}`;
}

function headOf(isBeside: boolean, old: number, fresh: number) {
  const names = isBeside ? ["line", `version ${old}`, "line", `version ${fresh}`] : [`v${old}`, `v${fresh}`, "text"];
  return names.map((name, at) => (
    <th scope="col" key={keyOf(at)}>
      {name}
    </th>
  ));
}

function UnifiedRow({ row }: { row: DiffRow }) {
  if (row.sort === "hunk" || row.sort === "note") return <BreakRow text={row.text} columns={3} />;
  return (
    <tr className={`playbook-diff-${row.sort}`}>
      <td className="playbook-diff-number">{row.old}</td>
      <td className="playbook-diff-number">{row.new}</td>
      <td>
        <Mark sort={row.sort} />
        {row.text}
      </td>
    </tr>
  );
}

function PairRow({ pair }: { pair: Pair }) {
  if (pair.sort === "hunk" || pair.sort === "note") return <BreakRow text={pair.left?.text ?? ""} columns={4} />;
  const isChange = pair.sort === "change";
  return (
    <tr>
      <Side row={pair.left} number={pair.left?.old ?? null} other={isChange ? pair.right : null} />
      <Side row={pair.right} number={pair.right?.new ?? null} other={isChange ? pair.left : null} />
    </tr>
  );
}

function BreakRow({ text, columns }: { text: string; columns: number }) {
  return (
    <tr className="playbook-diff-break">
      <td colSpan={columns}>{text}</td>
    </tr>
  );
}

function Side({ row, number, other }: { row: DiffRow | null; number: number | null; other: DiffRow | null }) {
  const sort = row ? row.sort : "none";
  return (
    <>
      <td className={`playbook-diff-number playbook-diff-${sort}`}>{number}</td>
      <td className={`playbook-diff-${sort}`}>{row ? <Line row={row} other={other} /> : null}</td>
    </>
  );
}

function Line({ row, other }: { row: DiffRow; other: DiffRow | null }) {
  const [before, differs, after] = other ? differing(row.text, other.text) : [row.text, "", ""];
  const isMarked = differs !== "" && (before.trim() !== "" || after.trim() !== "");
  return (
    <>
      <Mark sort={row.sort} />
      {before}
      {isMarked ? <mark>{differs}</mark> : differs}
      {after}
    </>
  );
}

/** The sign of a line: what went and what came is not told by colour alone. */
function Mark({ sort }: { sort: DiffRow["sort"] }) {
  return <span className="playbook-diff-mark">{sort === "gone" ? "−" : sort === "new" ? "+" : " "}</span>;
}
