import { useMemo, useState } from "react";
import { inline } from "./format";
import { Json } from "./Json";
import { columnsOf, isTabular } from "./jsonLines";
import { type Column, Table } from "./Table";

type Row = Record<string, unknown>;

/** Rows of data as a table: each cell is text, cut to its room; the whole value is its title. */
export function DataTable({
  rows,
  label = "rows",
  height = "26rem",
}: {
  rows: readonly Row[];
  label?: string;
  height?: string;
}) {
  const columns = useMemo<Column<[number, Row]>[]>(() => {
    const at: Column<[number, Row]> = {
      id: "#",
      title: "#",
      width: "3.5rem",
      cell: ([index]) => <span className="muted">{index}</span>,
    };
    return [at, ...columnsOf(rows).map(columnOf)];
  }, [rows]);
  const numbered = useMemo(() => rows.map((row, index): [number, Row] => [index, row]), [rows]);
  return (
    <Table
      rows={numbered}
      columns={columns}
      keyOf={([index]) => String(index)}
      label={label}
      height={height}
      rowHeight={30}
    />
  );
}

function columnOf(name: string): Column<[number, Row]> {
  return {
    id: `.${name}`,
    title: name,
    width: "minmax(7rem, 1fr)",
    cell: ([, row]) => (
      <span className="cell-text" title={inline(row[name], 2000)}>
        {inline(row[name])}
      </span>
    ),
  };
}

/** A value as a table where it is one, else as a tree; a switch where both make sense. */
export function Data({ value, label }: { value: unknown; label?: string }) {
  const [isTree, setTree] = useState(false);
  if (!isTabular(value)) return <Json value={value} label={label} />;
  return (
    <div className="data">
      <div className="switch" role="group" aria-label="How to show it">
        <button type="button" aria-pressed={!isTree} onClick={() => setTree(false)}>
          Table
        </button>
        <button type="button" aria-pressed={isTree} onClick={() => setTree(true)}>
          JSON
        </button>
      </div>
      {isTree ? <Json value={value} label={label} /> : <DataTable rows={value} label={label} />}
    </div>
  );
}
