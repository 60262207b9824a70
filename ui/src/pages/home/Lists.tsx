/** What is under way, what failed and why, and what is due next. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "@/api/client";
import { Asked, Duration, Empty, format, Section, Status, Time } from "@/parts";
import { executionAddress, executionsAddress, playbookAddress } from "@/routes";
import { reasonOf } from "./reasons";

const SHOWN = 8;
const DAY_MS = 24 * 3_600_000;
type Row = Schemas["ExecutionRow"];

export function UnderWay() {
  const query = useQuery({
    queryKey: ["executions", "under way"],
    queryFn: ({ signal }) =>
      api.get("/api/v1/executions", { query: { status: "running,waiting,incident", limit: SHOWN }, signal }),
  });
  return (
    <Section
      title="Under way"
      actions={<Link href={executionsAddress({ status: "running,waiting,incident" })}>All of them</Link>}
    >
      <Asked query={query}>
        {(page) => (
          <Rows
            rows={page.executions}
            empty={
              <Empty title="Nothing runs now" icon="check">
                <Link href="/playbooks">Choose a playbook</Link> to run one.
              </Empty>
            }
          >
            {(row) => <Duration ms={row.duration_ms} since={row.created_at} />}
          </Rows>
        )}
      </Asked>
    </Section>
  );
}

export function Failed() {
  const query = useQuery({
    queryKey: ["executions", "failed"],
    queryFn: ({ signal }) => {
      const since = new Date(Date.now() - DAY_MS).toISOString();
      return api.get("/api/v1/executions", { query: { status: "failed,incident", since, limit: SHOWN }, signal });
    },
  });
  return (
    <Section
      title="Failed in the last day"
      actions={<Link href={executionsAddress({ status: "failed,incident", since: "24h" })}>All of them</Link>}
    >
      <Asked query={query}>
        {(page) => (
          <Rows
            rows={page.executions}
            why
            empty={
              <Empty title="Nothing failed" icon="check">
                What fails shows here with its reason.
              </Empty>
            }
          >
            {(row) => <Time at={row.created_at} />}
          </Rows>
        )}
      </Asked>
    </Section>
  );
}

function Rows(props: { rows: readonly Row[]; empty: ReactNode; why?: boolean; children: (row: Row) => ReactNode }) {
  if (!props.rows.length) return <>{props.empty}</>;
  return (
    <ul className="home-rows">
      {props.rows.map((row) => (
        <li key={row.execution_id} className="home-row">
          <Link href={executionAddress(row.execution_id)} className="home-row-link">
            <span className="home-row-path">{row.path}</span> <span className="muted mono">{row.execution_id}</span>
          </Link>
          <Status status={row.status} plain />
          <span className="home-row-end">{props.children(row)}</span>
          {props.why ? <Why row={row} /> : null}
        </li>
      ))}
    </ul>
  );
}

/** The reason of a failure. What has ended does not change: it is asked for once, whatever the bell says. */
function Why({ row }: { row: Row }) {
  const { data } = useQuery({
    queryKey: ["why it failed", row.execution_id, row.status],
    queryFn: ({ signal }) =>
      api.get("/api/v1/executions/{execution_id}", { path: { execution_id: row.execution_id }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!data) return <p className="home-why" aria-busy="true" />;
  const { where, what } = reasonOf(data.error);
  return (
    <p className="home-why" title={what}>
      {where ? <strong>{where}: </strong> : null}
      {what}
    </p>
  );
}

export function NextSchedules({ schedules }: { schedules: readonly Schemas["ComingSchedule"][] }) {
  return (
    <Section title="Next" actions={<Link href="/schedules">Schedules</Link>}>
      {schedules.length ? (
        <ul className="home-rows">
          {schedules.map((one) => (
            <li key={one.name} className="home-row">
              <span className="home-row-link">
                {one.name}{" "}
                <Link className="muted" href={playbookAddress(one.path)}>
                  {one.path}
                </Link>
              </span>
              {one.state === "waiting" ? <Status status="waiting" plain /> : null}
              <span className="home-row-end">
                <Time at={one.next_at} />
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="Nothing is due" icon="clock">
          A schedule starts a playbook by itself, by cron or every so often: <Link href="/schedules">make one</Link>.
        </Empty>
      )}
    </Section>
  );
}

/** Counts, each a way to the executions that it counts. */
export function Tiles({ overview }: { overview: Schemas["Overview"] }) {
  const tiles = [
    ["running", "running now", overview.running, { status: "running" }],
    ["waiting", "waiting", overview.waiting, { status: "waiting" }],
    ["incident", "need somebody", overview.incident, { status: "incident" }],
    ["failed", "failed in a day", overview.failed_day, { status: "failed", since: "24h" }],
    ["success", "succeeded in a day", overview.success_day, { status: "success", since: "24h" }],
  ] as const;
  return (
    <ul className="home-tiles">
      {tiles.map(([status, words, value, query]) => (
        <li key={status}>
          <Link href={executionsAddress(query)} className={`home-tile ${value ? "" : "home-tile-none"}`}>
            <span className="home-tile-value">{format.count(value)}</span>
            <Status status={status} plain word={words} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
