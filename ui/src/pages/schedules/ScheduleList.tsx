/** Schedules by name: how each stands, when it is due, what became of it. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "@/api/client";
import { useMay } from "@/api/identity";
import { Asked, Button, type Column, format, Status, Table, Time } from "@/parts";
import { executionAddress } from "@/routes";
import { TOLD, useDeed } from "./deeds";
import { type Schedule, whenOf } from "./documents";
import { Nothing } from "./Nothing";
import { placeAddress } from "./place";

const ROW = 56;

const COLUMNS: readonly Column<Schedule>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(8rem, 2fr)",
    cell: (row) => (
      <span className="schedules-two" title={row.description || row.name}>
        <strong>{row.name}</strong>
        <span className="muted mono">{whenOf(row)}</span>
      </span>
    ),
  },
  { id: "path", title: "Playbook", width: "minmax(7rem, 2fr)", isMinor: true, cell: (row) => row.path },
  { id: "state", title: "State", width: "6rem", cell: (row) => <Status status={row.state} /> },
  { id: "next", title: "Next", width: "4.5rem", cell: (row) => <Time at={row.next_at} /> },
  {
    id: "last",
    title: "Last",
    width: "4rem",
    isMinor: true,
    cell: (row) => <Last id={row.last_execution_id} />,
  },
  {
    id: "counts",
    title: "Counts",
    width: "minmax(7.5rem, 1fr)",
    isMinor: true,
    cell: (row) => <Counts row={row} />,
  },
  {
    id: "actions",
    title: <span className="hidden-words">Actions</span>,
    width: "4.5rem",
    isMinor: true,
    cell: (row) => <Quick row={row} />,
  },
];

export function ScheduleList({ onNew }: { onNew: () => void }) {
  const query = useInfiniteQuery({
    queryKey: ["schedules", "all"],
    queryFn: ({ pageParam, signal }) =>
      api.get("/api/v1/schedules", { query: { cursor: pageParam || undefined }, signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  return (
    <Asked query={query} what="Asking for schedules">
      {(data) => (
        <Table
          rows={data.pages.flatMap((page) => page.schedules)}
          columns={COLUMNS}
          keyOf={(row) => row.name}
          label="Schedules by name"
          rowHeight={ROW}
          height="max(20rem, calc(100dvh - 15rem))"
          href={(row) => placeAddress({ kind: "schedule", shown: row.name })}
          onEnd={() => query.hasNextPage && !query.isFetchingNextPage && void query.fetchNextPage()}
          empty={<Nothing kind="schedule" onNew={onNew} />}
        />
      )}
    </Asked>
  );
}

export function Last({ id }: { id: string | null }) {
  if (id === null) return <span className="muted">–</span>;
  return (
    <Link href={executionAddress(id)} className="mono" title={`Execution ${id}`}>
      {id}
    </Link>
  );
}

function Counts({ row }: { row: Schedule }) {
  const { started, ...others } = row.counts;
  const odd = Object.entries(others).filter(([, count]) => count > 0);
  const words = odd.map(([name, count]) => `${format.count(count)} ${name}`).join(", ");
  return (
    <span className="schedules-two" title={row.last_error || words}>
      <span>{format.count(started)} started</span>
      {row.last_error ? (
        <span className="schedules-error">{row.last_error}</span>
      ) : (
        <span className="muted">{words}</span>
      )}
    </span>
  );
}

/** What is wanted most often, without opening it. */
function Quick({ row }: { row: Schedule }) {
  const may = useMay()("runner");
  const deed = useDeed();
  const rests = row.state === "paused";
  const move = rests ? "Resume" : "Pause";
  return (
    <span className="schedules-quick">
      <Button
        icon={rests ? "skip" : "pause"}
        look="quiet"
        size="s"
        may={may}
        busy={deed.isPending}
        disabled={row.state === "ended"}
        aria-label={`${move} ${row.name}`}
        title={move}
        onClick={() => deed.mutate({ deed: rests ? "resume" : "pause", row }, TOLD)}
      />
      <Button
        icon="run"
        look="quiet"
        size="s"
        may={may}
        busy={deed.isPending}
        aria-label={`Run ${row.name} now`}
        title="Run now"
        onClick={() => deed.mutate({ deed: "run", row }, TOLD)}
      />
    </span>
  );
}
