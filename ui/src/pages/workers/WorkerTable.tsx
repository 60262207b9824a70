/** The workers that were seen: where each is, what it can do, how much of it is in use. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "@/api/client";
import { Asked, type Column, CommandLine, Empty, format, Section, Status, Table } from "@/parts";
import { stateOf, type Worker, wantedAddress } from "./jobs";

export function WorkerTable() {
  const query = useQuery({
    queryKey: ["workforce", "workers"],
    queryFn: ({ signal }) => api.get("/api/v1/workers", { signal }),
  });
  const columns = useMemo(() => columnsAt(query.dataUpdatedAt), [query.dataUpdatedAt]);
  return (
    <Section title="Workers" plain>
      <Asked query={query} what="Asking for workers">
        {({ workers }) => (
          <Table
            rows={workers}
            columns={columns}
            keyOf={(row) => row.worker}
            label="Workers"
            rowHeight={52}
            height="24rem"
            href={(row) => wantedAddress({ worker: row.worker })}
            empty={
              <Empty title="No worker is there" icon="worker">
                <p>Nothing runs until one is: start one, or a server without --no-workers.</p>
                <CommandLine words={["worker", "start"]} />
              </Empty>
            }
          />
        )}
      </Asked>
    </Section>
  );
}

function columnsAt(toldAt: number): readonly Column<Worker>[] {
  return [
    {
      id: "worker",
      title: "Worker",
      width: "minmax(8rem, 2fr)",
      cell: (row) => (
        <span className="workers-two" title={row.worker}>
          <strong>{row.worker}</strong>
          <span className="muted">
            {row.host} · pid {row.pid}
          </span>
        </span>
      ),
    },
    { id: "state", title: "State", width: "5.5rem", cell: (row) => <Status status={stateOf(row, toldAt)} /> },
    { id: "pool", title: "Pool", width: "minmax(5rem, 1fr)", isMinor: true, cell: (row) => row.pool },
    { id: "slots", title: "Slots in use", width: "6rem", cell: (row) => <Slots row={row} /> },
    {
      id: "kinds",
      title: "Kinds",
      width: "minmax(7rem, 2fr)",
      isMinor: true,
      cell: (row) => (
        <span className="muted" title={row.kinds.join(", ")}>
          {row.kinds.join(", ")}
        </span>
      ),
    },
    { id: "version", title: "Version", width: "5rem", isMinor: true, cell: (row) => row.version },
    {
      id: "seen",
      title: "Last seen",
      width: "5rem",
      isMinor: true,
      // As it was when it was told: a worker that falls silent rings the bell, one that goes on as before does not.
      cell: (row) => (
        <span title={format.exact(Date.parse(row.seen_at))}>{format.relative(Date.parse(row.seen_at), toldAt)}</span>
      ),
    },
  ];
}

function Slots({ row }: { row: Worker }) {
  return (
    <span className="workers-slots">
      <meter min={0} max={Math.max(1, row.slots)} value={row.jobs} aria-label={`Slots of ${row.worker} in use`} />
      <span>
        {row.jobs} / {row.slots}
      </span>
    </span>
  );
}
