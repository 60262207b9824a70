/** Where two executions part: the fork, if one came from the other, and the first event that differs. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Asked, format, Json, Section } from "@/parts";
import { executionAddress } from "@/routes";
import { askEvents, type EventDocument, type Shown } from "./asking";
import { brief, DifferenceTable } from "./DifferenceTable";
import { isFork, type Parting, partingOf } from "./divergence";

const EVENTS_MAX = 20_000;
const PAGE = 1000;

/** The first event that differs. Pages of both logs are read side by side, until they part or a bound is reached. */
export function Part({ one, other }: { one: Shown; other: Shown }) {
  const query = useQuery({
    queryKey: ["execution", one.execution_id, "parting", other.execution_id],
    queryFn: ({ signal }) => findParting(other.execution_id, one.execution_id, signal),
  });
  return (
    <Section title="Where they part">
      <Asked query={query} what="Reading both logs side by side">
        {(found) => (
          <div className="execution-part">
            {found.fork ? <Fork fork={found.fork} /> : null}
            {found.parting ? (
              <PartingView found={found} parting={found.parting} one={one.execution_id} other={other.execution_id} />
            ) : (
              <p>
                {found.isCut
                  ? `The first ${format.count(EVENTS_MAX)} events are alike; further it was not looked.`
                  : "For the rest both logs tell the same story, event by event."}
              </p>
            )}
          </div>
        )}
      </Asked>
    </Section>
  );
}

interface Found {
  parting: Parting | null;
  /** The numbers of the events that part, in the other log and in this one. */
  before: number;
  after: number;
  fork: EventDocument | null;
  isCut: boolean;
}

/** Reads both logs from the beginning. A fork is no difference by itself: it is noted, and they are compared past it. */
async function findParting(other: string, one: string, signal: AbortSignal): Promise<Found> {
  let fork: EventDocument | null = null;
  let after = 0;
  while (after < EVENTS_MAX) {
    const shift = fork ? 1 : 0;
    const [a, b] = await Promise.all([
      askEvents(other, after, PAGE, signal),
      askEvents(one, after + shift, PAGE, signal),
    ]);
    const parting = partingOf(a.events, b.events);
    if (parting && !fork && isFork(parting, other)) {
      fork = parting.after;
      after += parting.at;
      continue;
    }
    const at = after + (parting?.at ?? 0) + 1;
    if (parting) return { parting, before: at, after: at + shift, fork, isCut: false };
    if (a.next === null && b.next === null) return { parting: null, before: at, after: at + shift, fork, isCut: false };
    after += PAGE;
  }
  return { parting: null, before: after, after, fork, isCut: true };
}

/** What was changed when one was made from the other. */
function Fork({ fork }: { fork: EventDocument }) {
  const patches = (fork.payload.patches ?? []) as { path: string; value: unknown }[];
  const workload = fork.payload.workload as Record<string, unknown> | null;
  return (
    <div className="execution-part">
      <p>
        This one was forked from the other after event {format.count(Number(fork.payload.source_seq))}
        {patches.length || workload ? ", with changed values:" : ", with nothing changed."}
      </p>
      <dl className="execution-reads">
        {patches.map((patch) => (
          <div key={patch.path}>
            <dt>
              <code>{patch.path}</code>
            </dt>
            <dd className="mono">{brief(patch.value)}</dd>
          </div>
        ))}
        {workload ? (
          <div>
            <dt>
              <code>workload</code>
            </dt>
            <dd className="mono">{brief(workload)}</dd>
          </div>
        ) : null}
      </dl>
    </div>
  );
}

function PartingView(props: { found: Found; parting: Parting; one: string; other: string }) {
  const { found, parting, one, other } = props;
  return (
    <>
      <p>
        {found.before > 1 ? `The first ${format.plural(found.before - 1, "event")} are alike. ` : ""}These are the first
        that differ:
      </p>
      <div className="execution-both">
        <PartedEvent id={other} event={parting.before} seq={found.before} />
        <PartedEvent id={one} event={parting.after} seq={found.after} />
      </div>
      {parting.differences.length ? <DifferenceTable rows={parting.differences} before={other} after={one} /> : null}
    </>
  );
}

function PartedEvent({ id, event, seq }: { id: string; event: EventDocument | null; seq: number }) {
  if (!event) {
    return (
      <p className="muted">
        Execution {id} has no event {format.count(seq)}.
      </p>
    );
  }
  return (
    <div className="execution-part">
      <p className="execution-lead">
        <Link href={executionAddress(id, "travel", { seq })}>{`${id}, event ${format.count(seq)}`}</Link>
        <span className="mono">{event.name}</span>
        {event.step ? <strong>{event.step}</strong> : null}
      </p>
      <Json value={event.payload} label={`payload of ${id}`} openDepth={1} />
    </div>
  );
}
