/** Open a file: an execution that was exported, here or elsewhere, is looked at like any other. */
import "./open.css";
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useIdentity } from "@/api/identity";
import { Problem, wordsOf } from "@/api/problem";
import { takeBrought, watchBrought } from "@/frame/brought";
import { Button, Command, CommandLine, Failure, format, Icon, Page, Section, toast } from "@/parts";
import { executionAddress } from "@/routes";
import { bringViewing, damageOf, faultOfFile } from "./bringing";

interface Going {
  file: File;
  share: number;
}

export default function OpenPage() {
  const { going, failed, begin, stop } = useBringing();
  return (
    <Page
      title="Open a file"
      name="Open a file"
      lead="An execution that was exported, from this server or another, to look at as if it were here."
      actions={<Command words={["import", "FILE.noetl"]} label="Keep it instead, as a command line" />}
    >
      {going ? <Progress going={going} onStop={stop} /> : <Chooser onFile={begin} />}
      {failed ? <Refused failed={failed} /> : null}
      <Section title="What happens with it">
        <ul className="open-facts">
          <Fact icon="clock">
            The server keeps it in its memory for an hour, and in no store. At most 8 files are kept, and the oldest go
            first.
          </Fact>
          <Fact icon="user">
            <ForWhom />
          </Fact>
          <Fact icon="list">
            Graph, timeline, time travel, data and logs work as with any execution. Nothing can be done to it: it is a
            record.
          </Fact>
        </ul>
        <p className="muted">A file is written with Export on the page of an execution, or by</p>
        <CommandLine words={["export", "ID", "--output", "failed-run.noetl"]} />
      </Section>
    </Page>
  );
}

function Fact({ icon, children }: { icon: "clock" | "user" | "list"; children: ReactNode }) {
  return (
    <li>
      <Icon name={icon} />
      <span>{children}</span>
    </li>
  );
}

function ForWhom() {
  const { data } = useIdentity();
  const who = data ? ` (${data.name || "this server’s own"}, ${data.role})` : "";
  return <>Only the token that brings it sees it{who}. Others are told that there is no such execution.</>;
}

/** One file at a time: the one that was chosen here, or dropped on any page. */
function useBringing() {
  const [, go] = useLocation();
  const [going, setGoing] = useState<Going | null>(null);
  const [failed, setFailed] = useState<{ name: string; error: unknown } | null>(null);
  const asking = useRef<AbortController | null>(null);
  const begin = useCallback(
    (file: File): void => {
      asking.current?.abort();
      const fault = faultOfFile(file);
      setFailed(fault ? { name: file.name, error: new Error(fault) } : null);
      setGoing(fault ? null : { file, share: 0 });
      if (fault) return;
      const mine = new AbortController();
      asking.current = mine;
      bringViewing(file, (share) => setGoing({ file, share }), mine.signal).then(
        (viewing) => {
          if (mine.signal.aborted) return;
          toast(`${viewing.path}: ${format.plural(viewing.events, "event")}, kept for an hour, for this token alone`);
          go(executionAddress(viewing.execution_id), { replace: true });
        },
        (error) => {
          if (mine.signal.aborted) return;
          setGoing(null);
          setFailed({ name: file.name, error });
        },
      );
    },
    [go],
  );
  useEffect(() => {
    const take = (): void => {
      const file = takeBrought();
      if (file) begin(file);
    };
    take();
    return watchBrought(take);
  }, [begin]);
  useEffect(() => () => asking.current?.abort(), []);
  const stop = (): void => {
    asking.current?.abort();
    setGoing(null);
  };
  return { going, failed, begin, stop };
}

function Chooser({ onFile }: { onFile: (file: File) => void }) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="open-zone">
      <Icon name="open" className="open-icon" />
      <p className="open-title">Drop a file here, or anywhere on these pages</p>
      <p className="muted">A .noetl file, of at most 64 MiB and 200,000 events.</p>
      <Button look="main" onClick={() => input.current?.click()}>
        Choose a file…
      </Button>
      <label htmlFor={id} className="hidden-words">
        An exported execution
      </label>
      <input
        id={id}
        ref={input}
        type="file"
        className="hidden-words"
        tabIndex={-1}
        accept=".noetl,.ndjson,application/x-ndjson"
        onChange={(event) => {
          const file = event.target.files?.[0];
          event.target.value = "";
          if (file) onFile(file);
        }}
      />
    </div>
  );
}

function Progress({ going, onStop }: { going: Going; onStop: () => void }) {
  const isSent = going.share >= 1;
  const words = isSent ? "The server reads and proves it" : `Sending, ${Math.floor(going.share * 100)} %`;
  return (
    <div className="open-zone" aria-busy="true">
      <p className="open-title">{going.file.name}</p>
      <p className="muted">{format.bytes(going.file.size)}</p>
      <progress max={1} value={isSent ? undefined : going.share} aria-label={`Bringing ${going.file.name}`} />
      <p role="status">{words}…</p>
      <Button onClick={onStop}>Stop</Button>
    </div>
  );
}

function Refused({ failed }: { failed: { name: string; error: unknown } }) {
  const { error, name } = failed;
  const damage = damageOf(wordsOf(error));
  if (!damage) return <Failure error={error} title={`${name} was not opened`} />;
  return (
    <div className="open-damage tone-bad" role="alert">
      <Icon name="alert" />
      <div>
        <p className="open-title">{name} is no whole export</p>
        <p>
          <strong>Line {format.count(damage.line)}:</strong> {damage.why}
        </p>
        <p className="muted">
          Export it again and bring the new file: what was edited or cut short is not believed.
          {error instanceof Problem && error.traceId ? ` Trace ${error.traceId}.` : ""}
        </p>
      </div>
    </div>
  );
}
