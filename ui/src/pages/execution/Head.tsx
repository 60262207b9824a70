/** What an execution is, in a few lines: status, playbook, times, whose child it is, and why it failed. */
import { useEffect } from "react";
import { Link } from "wouter";
import { Command, Duration, format, Icon, Status, Time } from "@/parts";
import { executionAddress, playbookAddress } from "@/routes";
import { Actions, type Deed } from "./Actions";
import { type Shown, useSource } from "./asking";
import { isViewing } from "./viewing";

export function Head(props: { shown: Shown; deed: Deed | null; onDeed: (deed: Deed | null) => void }) {
  const { shown } = props;
  const id = shown.execution_id;
  const isFile = isViewing(id);
  useEffect(() => {
    document.title = `${shown.path} ${isFile ? "file" : id} · NoETL`;
  }, [shown.path, id, isFile]);
  return (
    <header className="execution-head">
      <div className="execution-title">
        <h1>
          <Link
            href={isFile ? "/open" : "/executions"}
            className="execution-back"
            aria-label={isFile ? "Files: open another" : "All executions"}
          >
            {isFile ? "Files" : "Executions"}
          </Link>
          <span aria-hidden="true" className="muted">
            /
          </span>
          <span className="mono">{isFile ? shown.path : id}</span>
        </h1>
        <Status status={shown.status} />
      </div>
      {isFile ? null : <Actions {...props} />}
      <Lead shown={shown} />
      {isFile ? <Brought /> : <Kin shown={shown} />}
      <Why shown={shown} />
    </header>
  );
}

/** Instead of what may be done. The executions and playbooks that a file names are of the house it came from. */
function Brought() {
  return (
    <p className="execution-lead" role="note">
      <span>
        <Icon name="open" /> A record out of a file, for an hour and for you alone: nothing can be done to it.
      </span>
      <Command words={["import", "FILE.noetl"]} label="Keep it here, as a command line" />
    </p>
  );
}

function Lead({ shown }: { shown: Shown }) {
  const playbook = `${shown.path}@${shown.version}`;
  return (
    <p className="execution-lead">
      {isViewing(shown.execution_id) ? (
        <span>{playbook}</span>
      ) : (
        <Link href={playbookAddress(shown.path)}>{playbook}</Link>
      )}
      <span>
        started <Time at={shown.created_at} />
      </span>
      <span>
        {shown.ended_at ? "took" : "running for"} <Duration ms={shown.duration_ms} since={shown.created_at} />
      </span>
      <span>{format.plural(shown.events, "event")}</span>
    </p>
  );
}

/** Where it came from and what it called. */
function Kin({ shown }: { shown: Shown }) {
  const source = useSource(shown.execution_id);
  const children = shown.children as unknown as Children[];
  if (!shown.parent_execution_id && !source && !children.length) return null;
  return (
    <p className="execution-lead">
      {shown.parent_execution_id ? (
        <span>
          called by <Link href={executionAddress(shown.parent_execution_id)}>{shown.parent_execution_id}</Link>
        </span>
      ) : null}
      {source ? (
        <span>
          goes on from event {format.count(source.seq)} of{" "}
          <Link href={executionAddress(source.execution_id)}>{source.execution_id}</Link> ·{" "}
          <Link href={executionAddress(shown.execution_id, "compare", { with: source.execution_id })}>
            compare with it
          </Link>
        </span>
      ) : null}
      {children.map((child) => (
        <ChildLinks key={child.path} child={child} />
      ))}
    </p>
  );
}

interface Children {
  path: string;
  started: number;
  done: number;
  failed: number;
  execution_ids: string[];
}
const CHILDREN_SHOWN = 6;

function ChildLinks({ child }: { child: Children }) {
  const more = child.started - Math.min(child.execution_ids.length, CHILDREN_SHOWN);
  return (
    <span>
      called {child.path}:{" "}
      {child.execution_ids.slice(0, CHILDREN_SHOWN).map((id, at) => (
        <span key={id}>
          {at ? ", " : ""}
          <Link href={executionAddress(id)}>{id}</Link>
        </span>
      ))}
      {more > 0 ? ` and ${format.count(more)} more` : ""}
      {child.failed ? <span className="execution-bad"> ({format.count(child.failed)} failed)</span> : null}
    </span>
  );
}

const NO_REASON = "cancelled on request"; // what the server writes down if nobody gave one

/** One sentence: why it failed or waits, and where to look. */
function Why({ shown }: { shown: Shown }) {
  const error = shown.error as { message?: string; step?: string; task?: string } | null;
  if (error && shown.status === "cancelled" && !error.step) {
    return (
      <p className="execution-why tone-warn" role="note">
        <Icon name="stop" />
        <span>
          Cancelled
          {error.message && error.message !== NO_REASON ? `: ${format.cut(error.message, 600)}` : " on request"}
        </span>
      </p>
    );
  }
  if (error && shown.status !== "success") {
    return (
      <p className="execution-why tone-bad" role="note">
        <Icon name="alert" />
        <span>
          {error.step ? (
            <>
              Step <Link href={executionAddress(shown.execution_id, "", { step: error.step })}>{error.step}</Link>{" "}
              failed
              {error.task ? (
                <>
                  {" "}
                  in task <code>{error.task}</code>
                </>
              ) : null}
              :{" "}
            </>
          ) : null}
          {format.cut(error.message ?? "it does not say why", 600)}
        </span>
      </p>
    );
  }
  return <Waits shown={shown} />;
}

function Waits({ shown }: { shown: Shown }) {
  const waiting = shown.waiting as unknown as { step: string; since: string; is_for_signal: boolean }[];
  const first = waiting.find((one) => one.is_for_signal) ?? waiting[0];
  const unserved = shown.unserved[0];
  if (unserved) {
    return (
      <p className="execution-why tone-warn" role="note">
        <Icon name="worker" />
        <span>
          {format.plural(unserved.jobs, "job")} of pool <code>{unserved.pool || "default"}</code> wait:{" "}
          {unserved.reason}
        </span>
      </p>
    );
  }
  if (!first || !["running", "waiting"].includes(shown.status)) return null;
  return (
    <p className="execution-why tone-wait" role="note">
      <Icon name="wait" />
      <span>
        Step <Link href={executionAddress(shown.execution_id, "", { step: first.step })}>{first.step}</Link> waits
        {first.is_for_signal ? " for a signal" : " until ctx changes"} since <Time at={first.since} />
        {first.is_for_signal ? ". Signal… writes to ctx and asks its rules again." : ""}
      </span>
    </p>
  );
}
