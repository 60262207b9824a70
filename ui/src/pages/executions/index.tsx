/** Executions: which ones, live, and what is done to several at once. */
import "./executions.css";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useMay } from "@/api/identity";
import {
  Button,
  ButtonLink,
  type Column,
  Command,
  CommandLine,
  Duration,
  Empty,
  Failure,
  format,
  IS_LIVE,
  Loading,
  Page,
  Status,
  Table,
  Time,
  useCommands,
  useShortcut,
} from "@/parts";
import { executionAddress, executionsAddress } from "@/routes";
import { BulkDialog } from "./BulkDialog";
import { ACTIONS, type Action } from "./bulk";
import { FilterBar } from "./FilterBar";
import { addressWords, commandOf, type Filters, isNone, isWanted, NONE, type Row, readAddress } from "./filters";
import { useRows } from "./useRows";

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "id",
    title: "Id",
    width: "minmax(3rem, 5rem)",
    cell: (row) => <span className="mono">{row.execution_id}</span>,
  },
  {
    id: "path",
    title: "Playbook",
    width: "minmax(7rem, 3fr)",
    cell: (row) => (
      <span title={`${row.path}@${row.version}`}>
        {row.path}
        <span className="muted">@{row.version}</span>
      </span>
    ),
  },
  { id: "status", title: "Status", width: "7rem", cell: (row) => <Status status={row.status} /> },
  { id: "started", title: "Started", width: "6rem", cell: (row) => <Time at={row.created_at} />, isMinor: true },
  {
    id: "duration",
    title: "Took",
    width: "5.5rem",
    align: "end",
    isMinor: true,
    cell: (row) => <Duration ms={row.duration_ms} since={IS_LIVE.has(row.status) ? row.created_at : null} />,
  },
  {
    id: "parent",
    title: "Called by",
    width: "5.5rem",
    align: "end",
    isMinor: true,
    cell: (row) =>
      row.parent_execution_id ? (
        <span className="mono">{row.parent_execution_id}</span>
      ) : (
        <span className="muted">–</span>
      ),
  },
];

export default function ExecutionsPage() {
  const [filters, setFilters] = useFilters();
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [action, setAction] = useState<Action | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const mayMove = useStillness(place, chosen.size > 0);
  const list = useRows(filters, mayMove);
  const [current, setCurrent] = useKeys(list.rows, chosen, setChosen);
  const selected = list.rows.filter((row) => chosen.has(row.execution_id));
  const change = (next: Filters): void => {
    setChosen(new Set());
    setCurrent(null);
    setFilters(next);
  };
  const now = Date.now();
  const command = commandOf(filters);
  return (
    <Page title="Executions" name="Executions" actions={command ? <Command words={command} /> : null}>
      <FilterBar filters={filters} onChange={change} />
      <SelectionBar count={selected.length} onAct={setAction} onClear={() => setChosen(new Set())} />
      <div className="executions-list" ref={place}>
        {list.waiting.length ? (
          <button type="button" className="executions-new" onClick={list.take}>
            Show {format.count(list.waiting.length)} new
          </button>
        ) : null}
        {list.phase === "failed" ? (
          <Failure error={list.error} retry={list.again} />
        ) : list.phase === "asking" ? (
          <Loading what="Asking for executions" />
        ) : (
          <Table
            rows={list.rows}
            columns={COLUMNS}
            keyOf={(row) => row.execution_id}
            label="Executions, newest first"
            href={(row) => executionAddress(row.execution_id)}
            selection={{ chosen, onChange: setChosen }}
            height="max(20rem, calc(100dvh - 14.5rem))"
            onEnd={list.more}
            current={current}
            rowClass={(row) => (isWanted(row, filters, now) ? "" : "executions-gone")}
            empty={<Nothing filters={filters} onClear={() => change(NONE)} />}
            foot={
              list.next ? "More come as you scroll." : `${format.plural(list.rows.length, "execution")}, all there are.`
            }
          />
        )}
      </div>
      {action ? (
        <BulkDialog
          action={action}
          rows={selected}
          onClose={(isDone) => {
            setAction(null);
            if (isDone) setChosen(new Set());
          }}
        />
      ) : null}
    </Page>
  );
}

/** The filters that the address has; changing them changes the address. */
function useFilters(): [Filters, (filters: Filters) => void] {
  const search = useSearch();
  const [, go] = useLocation();
  const filters = useMemo(() => readAddress(search), [search]);
  return [filters, (next) => go(executionsAddress(addressWords(next)), { replace: true })];
}

/** Whether rows may come in at the top: the table stands at its top, nobody points at it and none is selected. */
function useStillness(place: { current: HTMLElement | null }, isSelecting: boolean): () => boolean {
  const state = useRef({ isPointing: false, isScrolled: false, isSelecting });
  state.current.isSelecting = isSelecting;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const point = (isPointing: boolean) => () => {
      state.current.isPointing = isPointing;
    };
    const enter = point(true);
    const leave = point(false);
    const scroll = (event: Event): void => {
      state.current.isScrolled = (event.target as HTMLElement).scrollTop > 4;
    };
    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("scroll", scroll, { capture: true, passive: true });
    return () => {
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("scroll", scroll, { capture: true });
    };
  }, [place]);
  return useCallback(() => Object.values(state.current).every((one) => !one), []);
}

/** j and k go through the rows, x selects, Enter opens. */
function useKeys(rows: readonly Row[], chosen: ReadonlySet<string>, setChosen: (chosen: Set<string>) => void) {
  const [current, setCurrent] = useState<string | null>(null);
  const [, go] = useLocation();
  const step = (by: number): void => {
    const at = rows.findIndex((row) => row.execution_id === current);
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next) setCurrent(next.execution_id);
  };
  useShortcut("j", "Next execution", () => step(1));
  useShortcut("k", "Execution before", () => step(-1));
  useShortcut("x", "Select the execution", () => {
    if (!current) return;
    const next = new Set(chosen);
    if (!next.delete(current)) next.add(current);
    setChosen(next);
  });
  useEnter(() => current && go(executionAddress(current)));
  return [current, setCurrent] as const;
}

// Enter on a link or button is theirs; it opens the current row only when nothing else would take it.
function useEnter(open: () => void): void {
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.key !== "Enter" || event.defaultPrevented || target.closest("a, button, input, textarea, dialog"))
        return;
      latest.current();
    };
    window.addEventListener("keydown", hear);
    return () => window.removeEventListener("keydown", hear);
  }, []);
}

function SelectionBar(props: { count: number; onAct: (action: Action) => void; onClear: () => void }) {
  const may = useMay()("runner");
  const { count, onAct } = props;
  useCommands(
    useMemo(
      () =>
        count === 0
          ? []
          : (Object.keys(ACTIONS) as Action[]).map((action) => ({
              id: `bulk ${action}`,
              title: `${ACTIONS[action].title} ${format.plural(count, "execution")}`,
              hint: "selected",
              run: () => onAct(action),
            })),
      [count, onAct],
    ),
  );
  if (count === 0) return null;
  return (
    <div className="executions-selection" role="status">
      <strong>{format.count(count)} selected</strong>
      <Button icon="stop" look="danger" size="s" may={may} onClick={() => onAct("cancel")}>
        Cancel…
      </Button>
      <Button icon="retry" size="s" may={may} onClick={() => onAct("rerun")}>
        Rerun…
      </Button>
      <Button icon="run" size="s" may={may} onClick={() => onAct("resume")}>
        Resume…
      </Button>
      <Button look="quiet" size="s" onClick={props.onClear}>
        Select none
      </Button>
    </div>
  );
}

function Nothing({ filters, onClear }: { filters: Filters; onClear: () => void }) {
  if (!isNone(filters)) {
    return (
      <Empty title="No execution is like this" icon="filter">
        <p>Take a filter away, or look at all of them. New ones that match show here by themselves.</p>
        <p className="executions-nothing">
          <Button onClick={onClear}>Clear all filters</Button>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has run yet" icon="runs">
      <p>Choose a playbook and run it; its execution shows here at once.</p>
      <p className="executions-nothing">
        <ButtonLink href="/playbooks" look="main" icon="playbook">
          Playbooks
        </ButtonLink>
      </p>
      <CommandLine words={["run", "hello.yaml"]} />
    </Empty>
  );
}
