/** Triggers by name: what sets each off, and what came of it. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { api } from "@/api/client";
import { Asked, type Column, format, Status, Table, Time } from "@/parts";
import { sourceOf, type Trigger } from "./documents";
import { Nothing } from "./Nothing";
import { placeAddress } from "./place";
import { Last } from "./ScheduleList";

const ROW = 56;

const COLUMNS: readonly Column<Trigger>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(9rem, 2fr)",
    cell: (row) => (
      <span className="schedules-two" title={row.description || row.name}>
        <strong>{row.name}</strong>
        <span className="muted">{sourceOf(row)}</span>
      </span>
    ),
  },
  { id: "path", title: "Playbook", width: "minmax(7rem, 1.5fr)", isMinor: true, cell: (row) => row.path },
  {
    id: "hook",
    title: "Where requests go",
    width: "minmax(7rem, 2fr)",
    isMinor: true,
    cell: (row) =>
      row.hook ? (
        <span className="mono" title={hookOf(row.hook)}>
          {row.hook}
        </span>
      ) : (
        <span className="muted">a NATS subject</span>
      ),
  },
  {
    id: "state",
    title: "State",
    width: "6rem",
    cell: (row) => <Status status={row.is_paused ? "paused" : "active"} />,
  },
  {
    id: "counts",
    title: "Counts",
    width: "minmax(6.5rem, 1fr)",
    cell: (row) => <Counts row={row} />,
  },
  {
    id: "last",
    title: "Last",
    width: "5.5rem",
    isMinor: true,
    cell: (row) => (
      <span className="schedules-two">
        <Last id={row.last_execution_id} />
        <Time at={row.last_started_at} fallback="" />
      </span>
    ),
  },
];

/** The whole address: whoever sends it a request is elsewhere. */
export function hookOf(hook: string): string {
  return new URL(hook, window.location.origin).href;
}

function Counts({ row }: { row: Trigger }) {
  const { started, repeated, refused } = row.counts;
  const odd = [repeated && `${format.count(repeated)} repeated`, refused && `${format.count(refused)} refused`];
  return (
    <span className="schedules-two" title={row.last_error}>
      <span>{format.count(started)} started</span>
      <span className={refused ? "schedules-error" : "muted"}>{odd.filter(Boolean).join(", ")}</span>
    </span>
  );
}

export function TriggerList({ onNew }: { onNew: () => void }) {
  const query = useInfiniteQuery({
    queryKey: ["triggers", "all"],
    queryFn: ({ pageParam, signal }) =>
      api.get("/api/v1/triggers", { query: { cursor: pageParam || undefined }, signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  return (
    <Asked query={query} what="Asking for triggers">
      {(data) => (
        <Table
          rows={data.pages.flatMap((page) => page.triggers)}
          columns={COLUMNS}
          keyOf={(row) => row.name}
          label="Triggers by name"
          rowHeight={ROW}
          height="max(20rem, calc(100dvh - 15rem))"
          href={(row) => placeAddress({ kind: "trigger", shown: row.name })}
          onEnd={() => query.hasNextPage && !query.isFetchingNextPage && void query.fetchNextPage()}
          empty={<Nothing kind="trigger" onNew={onNew} />}
        />
      )}
    </Asked>
  );
}
