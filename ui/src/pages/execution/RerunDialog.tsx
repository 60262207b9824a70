/** Rerun and fork: from the beginning, a step or an event, with changed values or another text of the playbook. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { Problem, wordsOf as wordsOfError } from "@/api/problem";
import { Button, CommandLine, Dialog, format, Loading, toast } from "@/parts";
import { executionAddress } from "@/routes";
import type { Deed } from "./Actions";
import { type Shown, useLandmarks, useMoment } from "./asking";
import { FreeRows, Values, Where } from "./RerunFields";
import { type Free, type From, faultOf, namesOf, setOf, wordsOf } from "./rerun";
import { commandValue } from "./values";

const Editor = lazy(() => import("@/editor/Editor"));

interface RerunProps {
  shown: Shown;
  deed: Extract<Deed, { deed: "rerun" }>;
  onClose: () => void;
}

export default function RerunDialog({ shown, deed, onClose }: RerunProps) {
  const id = shown.execution_id;
  const may = useMay()("runner");
  const [from, setFrom] = useState<From>(
    deed.at ? { from: "event", at: deed.at } : deed.step ? { from: "step", step: deed.step } : { from: "beginning" },
  );
  const at = useBase(id, from);
  const moment = useMoment(id, at);
  const rows = useMemo(
    () => (moment.data ? namesOf(moment.data.workload, moment.data.ctx, from.from) : []),
    [moment.data, from.from],
  );
  const [edited, setEdited] = useState<Record<string, string>>({});
  const [free, setFree] = useState<Free[]>([]);
  const [text, setText] = useState<string | null>(null);
  const set = setOf(rows, edited, free, from.from);
  const [run, isBusy, error] = useRerun(shown, onClose);
  const isFaulty = free.some((row) => faultOf(row, from.from) !== "");
  return (
    <Dialog
      title={from.from === "event" ? `Fork execution ${id}` : `Rerun execution ${id}`}
      isOpen
      wide
      onClose={onClose}
      onSubmit={() => !isFaulty && run(from, set, text)}
      actions={
        <>
          <span className="execution-grow muted">
            {Object.keys(set).length ? format.plural(Object.keys(set).length, "changed value") : "nothing changed"}
          </span>
          <Button onClick={onClose}>Close</Button>
          <Button look="main" icon="retry" type="submit" may={may} busy={isBusy} disabled={isFaulty}>
            Start the new execution
          </Button>
        </>
      }
    >
      {error ? <Refused error={error} /> : null}
      <Where shown={shown} from={from} onFrom={setFrom} />
      <fieldset className="execution-values">
        <legend>Values</legend>
        {moment.data ? (
          <Values
            rows={rows}
            edited={edited}
            set={set}
            onEdit={(name, value) => setEdited({ ...edited, [name]: value })}
          />
        ) : moment.isError ? (
          <p className="execution-bad">{wordsOfError(moment.error)} Values can still be set by name.</p>
        ) : (
          <Loading what="Reading the values there" />
        )}
        <FreeRows rows={free} from={from.from} onRows={setFree} />
      </fieldset>
      <OtherText shown={shown} text={text} onText={setText} />
      <CommandLine words={wordsOf(id, from, set, text !== null, commandValue)} />
    </Dialog>
  );
}

function Refused({ error }: { error: unknown }) {
  const findings = error instanceof Problem ? error.findings : [];
  return (
    <div className="execution-error tone-bad" role="alert">
      <pre>{wordsOfError(error)}</pre>
      {findings.slice(0, 20).map((one) => (
        <pre
          key={`${one.line} ${one.column} ${one.code}`}
        >{`${one.line}:${one.column} ${one.code}: ${one.message}`}</pre>
      ))}
    </div>
  );
}

/** The event whose values stand in the form: before the step's latest run, or the event itself; null: the last. */
function useBase(id: string, from: From): number | null {
  const landmarks = useLandmarks(id);
  if (from.from === "event") return from.at;
  if (from.from === "beginning") return null;
  const mark = landmarks.data?.marks.findLast((one) => one.kind === "step" && one.step === from.step);
  return mark && mark.seq > 3 ? mark.seq - 1 : null;
}

function useRerun(
  shown: Shown,
  onClose: () => void,
): [(from: From, set: Record<string, unknown>, text: string | null) => void, boolean, unknown] {
  const [, go] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const id = shown.execution_id;
  const run = async (from: From, set: Record<string, unknown>, text: string | null): Promise<void> => {
    setBusy(true);
    setError(null);
    const body = {
      ...(from.from === "step" ? { from_step: from.step } : from.from === "event" ? { at: from.at } : {}),
      set,
      ...(text === null ? {} : { text, name: "playbook.yaml" }),
    } as Schemas["Rerun"];
    try {
      const started = await api.post("/api/v1/executions/{execution_id}/rerun", { path: { execution_id: id }, body });
      onClose();
      go(executionAddress(started.execution_id));
      const compared = executionAddress(started.execution_id, "compare", { with: id });
      toast(`Started ${started.execution_id}`, { href: compared, text: `compare with ${id}` });
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return [(from, set, text) => void run(from, set, text), isBusy, error];
}

/** Another text of the playbook: it must be able to go on with what was under way. */
function OtherText({
  shown,
  text,
  onText,
}: {
  shown: Shown;
  text: string | null;
  onText: (text: string | null) => void;
}) {
  const may = useMay()("author");
  const isOpen = text !== null;
  const [isAsked, setAsked] = useState(false);
  const query = useQuery({
    queryKey: ["catalog", "text", shown.path, shown.version],
    queryFn: ({ signal }) =>
      api.get("/api/v1/catalog/playbook", { query: { path: shown.path, version: shown.version }, signal }),
    enabled: isAsked,
  });
  const shownText = text ?? query.data?.text;
  return (
    <div className="execution-part">
      <div className="execution-bar">
        <Button
          icon="edit"
          size="s"
          may={may}
          aria-expanded={isAsked}
          onClick={() => {
            if (isAsked) onText(null);
            setAsked(!isAsked);
          }}
        >
          {isAsked ? "Keep the playbook as it was" : "With another text of the playbook…"}
        </Button>
        {isOpen ? <span className="execution-tag">changed</span> : null}
      </div>
      {isAsked && query.isError ? <p className="execution-bad">{wordsOfError(query.error)}</p> : null}
      {isAsked && shownText !== undefined ? (
        <Suspense fallback={<Loading what="Opening the editor" />}>
          <Editor
            value={shownText}
            onChange={(next) => onText(next === query.data?.text ? null : next)}
            label="Text of the playbook"
            height="22rem"
          />
        </Suspense>
      ) : null}
    </div>
  );
}
