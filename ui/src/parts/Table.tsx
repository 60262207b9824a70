/**
 * Rows, virtualised: a hundred thousand of them cost what fits on the screen. Columns are tracks of a grid. A row that
 * has an address (`href`) is a link as a whole; the first cell holds the real one, so that keyboard and readers have it.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";

export interface Column<Row> {
  id: string;
  title: ReactNode;
  /** A track of the grid: "8rem", "minmax(10rem, 2fr)". */
  width: string;
  cell: (row: Row, index: number) => ReactNode;
  align?: "end";
  /** Left out where the window is narrow. */
  isMinor?: boolean;
}

export interface Selection {
  chosen: ReadonlySet<string>;
  onChange: (chosen: Set<string>) => void;
}

interface TableProps<Row> {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  label: string;
  href?: (row: Row) => string | null;
  onRow?: (row: Row) => void;
  selection?: Selection;
  rowHeight?: number;
  /** The most the table takes before it scrolls by itself; "fill" takes what its parent has. */
  height?: string;
  /** The last rows came into sight: there may be more to ask for. */
  onEnd?: () => void;
  /** Follows the end while it is in sight: for logs. */
  isFollowing?: boolean;
  rowClass?: (row: Row) => string;
  /** The key of the row that the keyboard is at: it is marked, and kept in sight. */
  current?: string | null;
  empty?: ReactNode;
  foot?: ReactNode;
}

const OVERSCAN = 12;
const NEAR_END = 20;

export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, keyOf, rowHeight = 36, onEnd, isFollowing } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    getItemKey: (index) => keyOf(rows[index] as Row),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= rows.length - NEAR_END) onEnd?.();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    if (isFollowing && rows.length) virtual.scrollToIndex(rows.length - 1, { align: "end" });
  }, [isFollowing, rows.length, virtual]);
  const { current } = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: moves when the row that is meant changes, not when rows come
  useEffect(() => {
    const at = current ? rows.findIndex((row) => keyOf(row) === current) : -1;
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [current]);
  const tracks = (props.selection ? ["2rem"] : []).concat(columns.map((one) => one.width)).join(" ");
  const minor = (props.selection ? ["2rem"] : []).concat(columns.filter((one) => !one.isMinor).map((one) => one.width));
  const style = {
    "--columns": tracks,
    "--columns-narrow": minor.join(" "),
    maxHeight: props.height === "fill" ? undefined : (props.height ?? "70vh"),
  } as CSSProperties;
  if (!rows.length && props.empty) return <>{props.empty}</>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={`table ${props.height === "fill" ? "table-fill" : ""}`} style={style} ref={scroller} tabIndex={0}>
      <div role="table" aria-label={props.label} aria-rowcount={rows.length + 1}>
        <div role="row" aria-rowindex={1} className="table-head" tabIndex={-1}>
          {props.selection ? <SelectAll rows={rows} keyOf={keyOf} selection={props.selection} /> : null}
          {columns.map((one) => (
            <div role="columnheader" key={one.id} className={cellClass(one)} tabIndex={-1}>
              {one.title}
            </div>
          ))}
        </div>
        <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <TableRow
              key={item.key}
              {...props}
              row={rows[item.index] as Row}
              index={item.index}
              style={{ transform: `translateY(${item.start}px)`, height: item.size }}
            />
          ))}
        </div>
      </div>
      {props.foot ? <div className="table-foot">{props.foot}</div> : null}
    </div>
  );
}

function TableRow<Row>(props: TableProps<Row> & { row: Row; index: number; style: CSSProperties }) {
  const { row, index, columns } = props;
  const key = props.keyOf(row);
  const href = props.href?.(row) ?? null;
  const isChosen = props.selection?.chosen.has(key) ?? false;
  const open = props.onRow ? () => props.onRow?.(row) : undefined;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the first cell holds a button or link that the keyboard reaches
    <div
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-current={key === props.current || undefined}
      className={`table-row ${isChosen ? "is-chosen" : ""} ${href || open ? "is-open" : ""} ${props.rowClass?.(row) ?? ""}`}
      style={props.style}
      onClick={open}
    >
      {props.selection ? <SelectOne id={key} selection={props.selection} /> : null}
      {columns.map((one, at) => (
        <div role="cell" key={one.id} className={cellClass(one)}>
          {at === 0 && href ? (
            <Link href={href} className="table-link">
              {one.cell(row, index)}
            </Link>
          ) : at === 0 && open ? (
            <button type="button" className="table-link">
              {one.cell(row, index)}
            </button>
          ) : (
            one.cell(row, index)
          )}
        </div>
      ))}
    </div>
  );
}

function cellClass<Row>(column: Column<Row>): string {
  return `cell ${column.align === "end" ? "cell-end" : ""} ${column.isMinor ? "cell-minor" : ""}`;
}

function SelectOne({ id, selection }: { id: string; selection: Selection }) {
  const change = (): void => {
    const next = new Set(selection.chosen);
    if (!next.delete(id)) next.add(id);
    selection.onChange(next);
  };
  return (
    <div role="cell" className="cell cell-select">
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={selection.chosen.has(id)}
        onChange={change}
        onClick={(event) => event.stopPropagation()}
      />
    </div>
  );
}

function SelectAll<Row>(props: { rows: readonly Row[]; keyOf: (row: Row) => string; selection: Selection }) {
  const { rows, keyOf, selection } = props;
  const isAll = rows.length > 0 && rows.every((row) => selection.chosen.has(keyOf(row)));
  return (
    <div role="columnheader" className="cell cell-select" tabIndex={-1}>
      <input
        type="checkbox"
        aria-label="Select all rows that are loaded"
        checked={isAll}
        onChange={() => selection.onChange(isAll ? new Set() : new Set(rows.map(keyOf)))}
      />
    </div>
  );
}
