/** One trigger: what sets it off, where requests go and how they show that they may, and what came of them. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { api } from "@/api/client";
import { useMay } from "@/api/identity";
import { Asked, Button, Command, Copy, Drawer, Facts, format, Json, Section, Status, Time } from "@/parts";
import { playbookAddress } from "@/routes";
import { sourceOf, type Trigger } from "./documents";
import { Fault } from "./Fault";
import { Remove } from "./Remove";
import { Last } from "./ScheduleList";
import { hookOf } from "./TriggerList";

interface Props {
  name: string;
  onClose: () => void;
  onEdit: () => void;
}

export function TriggerDrawer({ name, onClose, onEdit }: Props) {
  const may = useMay()("author");
  const [isRemoving, setRemoving] = useState(false);
  const query = useQuery({
    queryKey: ["triggers", "one", name],
    queryFn: ({ signal }) => api.get("/api/v1/triggers/{name}", { path: { name }, signal }),
  });
  if (isRemoving) {
    return <Remove kind="trigger" name={name} onClose={() => setRemoving(false)} onDone={onClose} />;
  }
  const acts = (
    <>
      <Button look="danger" icon="cross" may={may} onClick={() => setRemoving(true)}>
        Remove…
      </Button>
      <Button icon="edit" onClick={onEdit}>
        {may.is ? "Edit" : "Document"}
      </Button>
    </>
  );
  return (
    <Drawer title={name} isOpen onClose={onClose} actions={query.data ? acts : undefined}>
      <Asked query={query}>{(row) => <Details row={row} />}</Asked>
    </Drawer>
  );
}

function Details({ row }: { row: Trigger }) {
  return (
    <>
      {row.description ? <p>{row.description}</p> : null}
      <div className="row">
        <Status status={row.is_paused ? "paused" : "active"} />
        <span>{sourceOf(row)}</span>
      </div>
      {row.is_paused ? (
        <p className="muted">It takes nothing: its document says paused: true. Take that out and apply it.</p>
      ) : null}
      <Fault
        words={row.last_error}
        at={<Time at={row.last_error_at} fallback="" />}
        advice="That message started nothing; whoever sent it was told so."
      />
      {row.hook ? <Hook row={row} address={hookOf(row.hook)} /> : null}
      <Facts facts={factsOf(row)} />
      <Section title="As command lines" plain>
        <div className="schedules-commands">
          <Command words={["trigger", "show", row.name]} label="Show" />
          <Command words={["trigger", "apply", "FILE.yaml"]} label="Apply" />
          <Command words={["trigger", "remove", row.name]} label="Remove" />
        </div>
      </Section>
    </>
  );
}

function Hook({ row, address }: { row: Trigger; address: string }) {
  const header = String(row.webhook?.header ?? "");
  const credential = String(row.webhook?.credential ?? "");
  const isSigned = row.webhook?.auth === "hmac";
  return (
    <Section title="Where requests go" plain>
      <div className="command-row">
        <code>{address}</code>
        <Copy text={address} />
      </div>
      <p className="muted">
        A POST with {isSigned ? "a signature" : "a token"} in the header <code>{header}</code>
        {isSigned ? ", made with the key" : ", the one"} that the keychain has as <code>{credential}</code>.
      </p>
    </Section>
  );
}

function factsOf(row: Trigger): [string, ReactNode][] {
  const counts = Object.entries(row.counts).map(([name, count]) => `${format.count(count)} ${name}`);
  const facts: [string, ReactNode][] = [
    [
      "Playbook",
      <Link key="path" href={playbookAddress(row.path)}>
        {row.path}
        {row.version === null ? "" : `@${row.version}`}
      </Link>,
    ],
    ["Message in", <code key="key">{`workload.${row.event_key}`}</code>],
    ["At most", `${format.count(row.rate_per_minute)} a minute`],
    ["Counts", counts.join(", ")],
    ["Last execution", <Last key="last" id={row.last_execution_id} />],
    ["Last started", <Time key="started" at={row.last_started_at} />],
  ];
  if (row.webhook) facts.push(["Webhook", <Json key="webhook" value={row.webhook} label="webhook" />]);
  if (row.nats) facts.push(["NATS", <Json key="nats" value={row.nats} label="nats" />]);
  if (row.dedupe) facts.push(["Told apart by", <Json key="dedupe" value={row.dedupe} label="dedupe" />]);
  if (Object.keys(row.payload).length)
    facts.push(["Payload", <Json key="payload" value={row.payload} label="payload" />]);
  facts.push(["Applied", <Time key="applied" at={row.applied_at} />]);
  return facts;
}
