/** One schedule: what it starts and when, the times to come, and what became of those that were due. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { Asked, Button, Command, Drawer, Facts, Failure, format, Icon, Json, Section, Status, Time } from "@/parts";
import { executionsAddress, playbookAddress } from "@/routes";
import { type Deed, useDeed, wordsOf } from "./deeds";
import { whenOf } from "./documents";
import { Fault } from "./Fault";
import { Remove } from "./Remove";
import { Last } from "./ScheduleList";

const TIMES = 10;
const OUTCOMES = { started: "ok", skipped: "skipped", failed: "failed" } as const;
type Shown = Schemas["ScheduleShown"];

interface Props {
  name: string;
  onClose: () => void;
  onEdit: () => void;
}

export function ScheduleDrawer({ name, onClose, onEdit }: Props) {
  const [isRemoving, setRemoving] = useState(false);
  const deed = useDeed();
  const query = useQuery({
    queryKey: ["schedules", "one", name],
    queryFn: ({ signal }) => api.get("/api/v1/schedules/{name}", { path: { name }, query: { count: TIMES }, signal }),
  });
  if (isRemoving) {
    return <Remove kind="schedule" name={name} onClose={() => setRemoving(false)} onDone={onClose} />;
  }
  return (
    <Drawer
      title={name}
      isOpen
      onClose={onClose}
      actions={
        query.data ? (
          <Acts row={query.data} deed={deed} onEdit={onEdit} onRemove={() => setRemoving(true)} />
        ) : undefined
      }
    >
      <Told deed={deed} />
      <Asked query={query}>{(row) => <Details row={row} />}</Asked>
    </Drawer>
  );
}

/** What was done just now: the drawer covers where such words usually show. */
function Told({ deed }: { deed: ReturnType<typeof useDeed> }) {
  if (deed.isError) return <Failure error={deed.error} />;
  if (!deed.data) return null;
  return (
    <p className="schedules-told tone-ok" role="status">
      <Icon name="check" /> {deed.data.text} {deed.data.execution ? <Last id={deed.data.execution} /> : null}
    </p>
  );
}

interface ActsProps {
  row: Shown;
  deed: ReturnType<typeof useDeed>;
  onEdit: () => void;
  onRemove: () => void;
}

function Acts({ row, deed, onEdit, onRemove }: ActsProps) {
  const may = useMay();
  const move: Deed = row.state === "paused" ? "resume" : "pause";
  return (
    <>
      <Button look="danger" icon="cross" may={may("author")} onClick={onRemove}>
        Remove…
      </Button>
      <Button icon="edit" onClick={onEdit}>
        {may("author").is ? "Edit" : "Document"}
      </Button>
      <Button
        icon={move === "pause" ? "pause" : "skip"}
        may={may("runner")}
        busy={deed.isPending}
        disabled={row.state === "ended"}
        onClick={() => deed.mutate({ deed: move, row })}
      >
        {move === "pause" ? "Pause" : "Resume"}
      </Button>
      <Button
        look="main"
        icon="run"
        may={may("runner")}
        busy={deed.isPending}
        onClick={() => deed.mutate({ deed: "run", row })}
      >
        Run now
      </Button>
    </>
  );
}

function Details({ row }: { row: Shown }) {
  return (
    <>
      {row.description ? <p>{row.description}</p> : null}
      <div className="row">
        <Status status={row.state} />
        {row.next_at ? (
          <span>
            next <Time at={row.next_at} />
          </span>
        ) : null}
        {row.waiting ? <span className="muted">{format.plural(row.waiting, "due time")} in the queue</span> : null}
      </div>
      <Fault words={row.last_error} advice="What was due then was not started; the next due time tries again." />
      <Facts facts={factsOf(row)} />
      <Coming row={row} />
      <Firings rows={row.recent} />
      <Section title="As command lines" plain>
        <div className="schedules-commands">
          <Command words={["schedule", "show", row.name]} label="Show" />
          <Command
            words={wordsOf(row.state === "paused" ? "resume" : "pause", row)}
            label={row.state === "paused" ? "Resume" : "Pause"}
          />
          <Command words={wordsOf("run", row)} label="Run now" />
          <Command words={["schedule", "next", row.name]} label="Next times" />
          <Command words={["schedule", "remove", row.name]} label="Remove" />
        </div>
      </Section>
    </>
  );
}

function factsOf(row: Shown): [string, React.ReactNode][] {
  const span = [row.start_at && `from ${row.start_at}`, row.end_at && `until ${row.end_at}`].filter(Boolean).join(", ");
  const counts = Object.entries(row.counts).map(([name, count]) => `${format.count(count)} ${name}`);
  return [
    [
      "Playbook",
      <Link key="path" href={playbookAddress(row.path)}>
        {row.path}
        {row.version === null ? "" : `@${row.version}`}
      </Link>,
    ],
    [
      "When",
      <span key="when" className="mono">
        {whenOf(row)}
      </span>,
    ],
    ...(span ? ([["Within", span]] as [string, string][]) : []),
    ["If one still runs", OVERLAPS[row.overlap]],
    ["After an outage", CATCH_UPS[row.catch_up]],
    ...(row.jitter_seconds ? ([["Jitter", `up to ${row.jitter_seconds} s later`]] as [string, string][]) : []),
    ["Last execution", <Last key="last" id={row.last_execution_id} />],
    ["Counts", counts.join(", ")],
    ...(Object.keys(row.payload).length
      ? ([["Payload", <Json key="payload" value={row.payload} label="payload" />]] as [string, React.ReactNode][])
      : []),
    ["Applied", <Time key="applied" at={row.applied_at} />],
    [
      "Executions",
      <Link key="all" href={executionsAddress({ path: row.path })}>
        All of its playbook
      </Link>,
    ],
  ];
}

const OVERLAPS = {
  skip: "the due time is skipped",
  queue: "one waits until it has ended",
  allow: "both run",
  cancel: "the one before is cancelled",
};
const CATCH_UPS = {
  none: "what was missed stays missed",
  last: "the newest missed time is made up for",
  all: "missed times are made up for",
};

function Coming({ row }: { row: Shown }) {
  if (!row.next.length) {
    const why =
      row.state === "paused"
        ? "It rests. Resume it, and it goes on with its next due time."
        : "Nothing is due any more: its end has passed, or its times never come.";
    return (
      <Section title="Next times" plain>
        <p className="muted">{why}</p>
      </Section>
    );
  }
  return (
    <Section title={`Next ${row.next.length} times`} plain>
      <ol className="schedules-times">
        {row.next.map((at) => (
          <li key={at}>
            <span className="mono">{at}</span>
            <Time at={at} />
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Firings({ rows }: { rows: readonly Schemas["FiringRow"][] }) {
  return (
    <Section title="What became of due times" plain>
      {rows.length ? (
        <ol className="schedules-firings">
          {rows.map((one) => (
            <li key={`${one.due_at} ${one.at}`}>
              <Status status={OUTCOMES[one.outcome]} plain word={one.outcome} />
              <Time at={one.due_at} />
              <Last id={one.execution_id} />
              {one.why ? <span className="schedules-why">{one.why}</span> : null}
            </li>
          ))}
        </ol>
      ) : (
        <p className="muted">None was due yet. Each shows here when it comes.</p>
      )}
    </Section>
  );
}
