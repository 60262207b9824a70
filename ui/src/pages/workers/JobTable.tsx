/** Jobs one by one: who holds what, since when and for how long yet, and what waits. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useLocation, useSearch } from "wouter";
import { api } from "@/api/client";
import { Asked, Button, type Column, Command, Duration, Empty, format, Section, Status, Table, Time } from "@/parts";
import { executionAddress } from "@/routes";
import { type Job, keyOf, placeOf, readWanted, STATES, since, type Wanted, wantedAddress } from "./jobs";
import { usePools } from "./Pools";

const ROWS_MAX = 500;

export function JobTable() {
  const search = useSearch();
  const wanted = useMemo(() => readWanted(search), [search]);
  const query = useQuery({
    queryKey: ["workforce", "jobs", wanted],
    queryFn: ({ signal }) =>
      api.get("/api/v1/jobs", {
        query: {
          pool: wanted.pool || undefined,
          worker: wanted.worker || undefined,
          state: wanted.state || undefined,
          limit: ROWS_MAX,
        },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  const columns = useMemo(() => columnsAt(query.dataUpdatedAt), [query.dataUpdatedAt]);
  return (
    <Section
      title="Jobs"
      plain
      actions={<Command words={["list", "--status", "running"]} label="Executions as a command line" />}
    >
      <Filters wanted={wanted} />
      <Asked query={query} what="Asking for jobs">
        {({ jobs, is_cut }) => (
          <Table
            rows={jobs}
            columns={columns}
            keyOf={keyOf}
            label="Jobs: leased ones, then ready ones, then parked ones"
            rowHeight={52}
            height="36rem"
            href={(row) => executionAddress(row.execution_id)}
            empty={<Nothing wanted={wanted} />}
            foot={
              is_cut
                ? `The first ${format.count(jobs.length)}; there are more. Choose a pool, a worker or a state to see the others.`
                : `${format.plural(jobs.length, "job")}, all there are.`
            }
          />
        )}
      </Asked>
    </Section>
  );
}

function Filters({ wanted }: { wanted: Wanted }) {
  const [, go] = useLocation();
  const { data } = usePools();
  const change = (next: Partial<Wanted>): void => go(wantedAddress({ ...wanted, ...next }), { replace: true });
  const names = [...new Set([...(data?.pools ?? []).map((one) => one.pool), wanted.pool])].filter(Boolean);
  return (
    <fieldset className="workers-filters" aria-label="Which jobs">
      {STATES.map((state) => (
        <button
          type="button"
          key={state}
          className="chip"
          aria-pressed={wanted.state === state}
          onClick={() => change({ state: wanted.state === state ? "" : state })}
        >
          {state}
        </button>
      ))}
      <span className="workers-gap" />
      {names.map((pool) => (
        <button
          type="button"
          key={`pool ${pool}`}
          className="chip"
          aria-pressed={wanted.pool === pool}
          onClick={() => change({ pool: wanted.pool === pool ? "" : pool })}
        >
          pool {pool}
        </button>
      ))}
      {wanted.worker ? (
        <button type="button" className="chip" aria-pressed onClick={() => change({ worker: "" })}>
          worker {wanted.worker}
        </button>
      ) : null}
      {wanted.pool || wanted.worker || wanted.state ? (
        <Button look="quiet" size="s" onClick={() => go("/workers", { replace: true })}>
          All jobs
        </Button>
      ) : null}
    </fieldset>
  );
}

function Nothing({ wanted }: { wanted: Wanted }) {
  const [, go] = useLocation();
  if (wanted.pool || wanted.worker || wanted.state) {
    return (
      <Empty title="No job is like this now" icon="filter">
        <Button onClick={() => go("/workers", { replace: true })}>All jobs</Button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing is to be done" icon="check">
      What an execution asks of workers shows here while it waits or runs.
    </Empty>
  );
}

function columnsAt(toldAt: number): readonly Column<Job>[] {
  return [
    {
      id: "job",
      title: "Job",
      width: "minmax(9rem, 3fr)",
      cell: (job) => (
        <span className="workers-two" title={`${job.path}, ${placeOf(job)}, run ${job.run}`}>
          <strong>{placeOf(job)}</strong>
          <span className="muted">
            <span className="mono">{job.execution_id}</span> {job.path}
          </span>
        </span>
      ),
    },
    { id: "state", title: "State", width: "5.5rem", cell: (job) => <Status status={job.state} /> },
    { id: "pool", title: "Pool", width: "minmax(4rem, 1fr)", isMinor: true, cell: (job) => job.pool },
    {
      id: "worker",
      title: "Held by",
      width: "minmax(6rem, 1.5fr)",
      isMinor: true,
      cell: (job) =>
        job.worker ? <span title={job.worker}>{job.worker}</span> : <span className="muted">nobody</span>,
    },
    { id: "age", title: "Age", width: "5rem", cell: (job) => <Age job={job} toldAt={toldAt} /> },
    {
      id: "heard",
      title: "Heard of",
      width: "4.5rem",
      isMinor: true,
      cell: (job) => <Time at={since(job.lease_age_seconds, toldAt)} />,
    },
    {
      id: "lease",
      title: "Lease ends",
      width: "5.5rem",
      isMinor: true,
      cell: (job) => <Time at={job.lease_left_seconds === null ? "" : since(-job.lease_left_seconds, toldAt)} />,
    },
    {
      id: "deliveries",
      title: "Deliveries",
      width: "5rem",
      align: "end",
      isMinor: true,
      cell: (job) => job.deliveries,
    },
  ];
}

/** How long it is ready or held; of one that waits for a time, when that is. */
function Age({ job, toldAt }: { job: Job; toldAt: number }) {
  if (job.due_in_seconds !== null) return <Time at={since(-job.due_in_seconds, toldAt)} />;
  if (job.state === "parked") return <span className="muted">waits</span>;
  return <Duration ms={null} since={since(job.age_seconds, toldAt)} />;
}
