/** Two executions side by side: status, steps, values, and the first event where they part. */
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { Asked, Button, Data, Duration, Empty, Field, format, Section, Status, Table } from "@/parts";
import { executionAddress } from "@/routes";
import { type Shown, useRuns, useShown, useTimeline } from "./asking";
import { DifferenceTable } from "./DifferenceTable";
import { type StepPair, stepPairs } from "./divergence";
import type { TabProps } from "./index";
import { Part } from "./Parting";
import { differences } from "./values";

export default function CompareTab({ shown }: TabProps) {
  const [search, setSearch] = useSearchParams();
  const other = search.get("with") ?? "";
  const [typed, setTyped] = useState(other);
  return (
    <div className="execution-part">
      <form
        className="execution-bar"
        onSubmit={(event) => {
          event.preventDefault();
          setSearch({ with: typed.trim() });
        }}
      >
        <Field label="Compare with execution" id="compare-with">
          <input
            id="compare-with"
            inputMode="numeric"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </Field>
        <Button type="submit" disabled={!/^[1-9]\d*$/.test(typed.trim())}>
          Compare
        </Button>
      </form>
      {/^[1-9]\d*$/.test(other) ? (
        <Both key={other} one={shown} other={other} />
      ) : (
        <Empty title="Compare with which execution?" icon="fork">
          Write its number above. A rerun links to the execution that it came from.
        </Empty>
      )}
    </div>
  );
}

function Both({ one, other }: { one: Shown; other: string }) {
  const query = useShown(other);
  return (
    <Asked query={query} what={`Opening execution ${other}`}>
      {(found) => (
        <>
          <Summary one={one} other={found} />
          <Part one={one} other={found} />
          <Steps one={one} other={found} />
          <Section title="ctx">
            <Differences before={found.ctx} after={one.ctx} one={one} other={found} what="ctx" />
          </Section>
          <Section title="Output">
            <Differences before={found.output?.data} after={one.output?.data} one={one} other={found} what="output" />
          </Section>
        </>
      )}
    </Asked>
  );
}

function Summary({ one, other }: { one: Shown; other: Shown }) {
  return (
    <div className="execution-both">
      {[other, one].map((shown, at) => (
        <section
          key={shown.execution_id}
          className="card execution-side"
          aria-label={at ? "This execution" : "The other execution"}
        >
          <p className="muted">{at ? "this one" : "compared with"}</p>
          <p className="execution-lead">
            <Link href={executionAddress(shown.execution_id)}>
              <strong className="mono">{shown.execution_id}</strong>
            </Link>
            <Status status={shown.status} />
          </p>
          <p className="execution-lead">
            <span>
              {shown.path}@{shown.version}
            </span>
            <Duration ms={shown.duration_ms} since={shown.created_at} />
            <span>{format.plural(shown.events, "event")}</span>
          </p>
          {shown.error ? (
            <p className="execution-bad">{format.cut(String((shown.error as { message?: string }).message), 300)}</p>
          ) : null}
        </section>
      ))}
    </div>
  );
}

function Steps({ one, other }: { one: Shown; other: Shown }) {
  const a = useTimeline(one.execution_id);
  const b = useTimeline(other.execution_id);
  const pairs = stepPairs(useRuns(b), useRuns(a));
  const isCut = a.hasNextPage || b.hasNextPage;
  return (
    <Section title="Steps">
      <Asked query={a} what="Laying the runs out">
        {() => (
          <Asked query={b} what="Laying the runs out">
            {() => (
              <Table
                rows={pairs}
                columns={COLUMNS}
                keyOf={(row) => row.step}
                label="Steps of both executions"
                height="26rem"
                rowClass={(row) => (row.one?.status !== row.other?.status ? "execution-differs" : "")}
                empty={<p className="muted">No step ran in either.</p>}
                foot={isCut ? "Only the first runs of each are summed up." : undefined}
              />
            )}
          </Asked>
        )}
      </Asked>
    </Section>
  );
}

type Side = StepPair["one"];
const STATUS = (side: Side) => (side ? <Status status={side.status} plain /> : <span className="muted">not run</span>);
const TOOK = (side: Side) => (side ? format.duration(side.ms) : "");
const TRIES = (side: Side) => (side ? format.count(side.attempts) : "");

/** The first is the other execution: what was before stands left. */
const COLUMNS = [
  { id: "step", title: "Step", width: "minmax(8rem, 1.5fr)", cell: (row: StepPair) => row.step },
  { id: "s1", title: "Before", width: "minmax(6rem, 1fr)", cell: (row: StepPair) => STATUS(row.one) },
  { id: "s2", title: "Now", width: "minmax(6rem, 1fr)", cell: (row: StepPair) => STATUS(row.other) },
  {
    id: "t1",
    title: "Took before",
    width: "6rem",
    align: "end" as const,
    cell: (row: StepPair) => TOOK(row.one),
    isMinor: true,
  },
  {
    id: "t2",
    title: "Took now",
    width: "6rem",
    align: "end" as const,
    cell: (row: StepPair) => TOOK(row.other),
    isMinor: true,
  },
  {
    id: "a1",
    title: "Attempts before",
    width: "8rem",
    align: "end" as const,
    cell: (row: StepPair) => TRIES(row.one),
    isMinor: true,
  },
  {
    id: "a2",
    title: "Now",
    width: "4rem",
    align: "end" as const,
    cell: (row: StepPair) => TRIES(row.other),
    isMinor: true,
  },
];

function Differences(props: { before: unknown; after: unknown; one: Shown; other: Shown; what: string }) {
  const rows = differences(props.before ?? null, props.after ?? null);
  const [isWhole, setWhole] = useState(false);
  if (!rows.length) return <p className="muted">The same in both.</p>;
  return (
    <div className="execution-part">
      <DifferenceTable rows={rows} before={props.other.execution_id} after={props.one.execution_id} />
      <span>
        <Button size="s" look="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Only the differences" : "Both in full"}
        </Button>
      </span>
      {isWhole ? (
        <div className="execution-both">
          <Data value={props.before ?? null} label={`${props.what} of ${props.other.execution_id}`} />
          <Data value={props.after ?? null} label={`${props.what} of ${props.one.execution_id}`} />
        </div>
      ) : null}
    </div>
  );
}
