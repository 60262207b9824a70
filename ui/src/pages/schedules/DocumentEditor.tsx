/** Writes a schedule or a trigger: checked as it is typed, faults in their place, applied in place of the one of its name. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { type Finding, Problem } from "@/api/problem";
import type { Place } from "@/editor/Editor";
import { Asked, Button, Command, Copy, Failure, Icon, Loading, Page, toast } from "@/parts";
import { documentOf, KINDS, type Kind, namesIn, starterOf } from "./documents";

const Editor = lazy(() => import("@/editor/Editor"));
const TYPED_MS = 300; // a pause in typing
const TONES = { error: "bad", warning: "warn", info: "idle" } as const;

interface Props {
  kind: Kind;
  /** Whose document; "": a new one. */
  name: string;
  onDone: () => void;
  onLeave: () => void;
}

/** The text of what is there, or one to start from; asked for once, since it is written on from then. */
export function DocumentEditor(props: Props) {
  const { kind, name } = props;
  const query = useQuery({ queryKey: ["document to write", kind, name], queryFn: () => textOf(kind, name), gcTime: 0 });
  return (
    <Page
      title={name || `New ${kind}`}
      name={name || `New ${kind}`}
      lead={name ? "Its document, as it is applied now." : "A document to start from."}
      actions={
        <Button icon="left" onClick={props.onLeave}>
          Back to {KINDS[kind].many}
        </Button>
      }
    >
      <Asked query={query}>{(text) => <Writing {...props} given={text} />}</Asked>
    </Page>
  );
}

async function textOf(kind: Kind, name: string): Promise<string> {
  const path = { name };
  if (name && kind === "schedule") return documentOf(kind, await api.get("/api/v1/schedules/{name}", { path }));
  if (name) return documentOf(kind, await api.get("/api/v1/triggers/{name}", { path }));
  const known = await api.get("/api/v1/catalog/recent", { query: { limit: 1, runs: 1 } });
  return starterOf(kind, known.playbooks[0]?.path ?? "reports/daily");
}

function Writing({ kind, given, onDone }: Props & { given: string }) {
  const may = useMay()("author");
  const [text, setText] = useState(given);
  const [goTo, setGoTo] = useState<Place | null>(null);
  const names = useMemo(() => namesIn(text, kind), [text, kind]);
  const report = useChecked(text, may.is);
  const applying = useApplying(kind, onDone);
  const refused = applying.error instanceof Problem ? applying.error.findings : [];
  const findings = report.of === text ? report.findings : refused.length ? refused : report.findings;
  const fault = names.includes("") ? "Each needs a name: write it under metadata, as name." : "";
  const isNone = names.length === 0;
  return (
    <>
      <div className="schedules-editor">
        <Suspense fallback={<Loading what="Loading the editor" />}>
          <Editor
            value={text}
            onChange={setText}
            findings={findings}
            goTo={goTo}
            isReadOnly={!may.is}
            label={`The document of the ${kind}`}
            complete={(all, place, signal) =>
              api.post("/api/v1/catalog/complete", { body: { text: all, ...place }, signal })
            }
          />
        </Suspense>
      </div>
      <Faults findings={findings} onGo={setGoTo} />
      {isNone ? (
        <p className="schedules-hint" role="status">
          <Icon name="alert" /> There is no document with kind: {KINDS[kind].document} in this text.
        </p>
      ) : null}
      {fault ? (
        <p className="schedules-hint" role="status">
          <Icon name="alert" /> {fault}
        </p>
      ) : null}
      {applying.isError && !refused.length ? <Failure error={applying.error} title="It was not applied" /> : null}
      <div className="row">
        <Button
          look="main"
          icon="check"
          may={may}
          busy={applying.isPending}
          disabled={isNone || fault !== ""}
          onClick={() => applying.mutate({ text, names })}
        >
          Apply {names.length > 1 ? `all ${names.length}` : ""}
        </Button>
        {may.is ? null : <span className="muted">{may.reason}</span>}
        <Copy text={text} label="Copy the text" />
        <Command words={[kind, "apply", `${names[0] || kind}.yaml`]} />
      </div>
    </>
  );
}

/** All of a text or, at the first that is refused, no more of them. */
function useApplying(kind: Kind, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ text, names }: { text: string; names: readonly string[] }) => {
      const applied: (Schemas["ScheduleRow"] | Schemas["TriggerRow"])[] = [];
      for (const name of names) {
        const asked = { path: { name }, body: { text, name: `${name}.yaml` } };
        applied.push(
          kind === "schedule"
            ? await api.put("/api/v1/schedules/{name}", asked)
            : await api.put("/api/v1/triggers/{name}", asked),
        );
      }
      return applied;
    },
    onSuccess: (applied) => {
      for (const row of applied) {
        toast(`${row.name} ${row.is_changed === false ? "was like this already" : "is applied"}`);
        for (const note of row.notes ?? []) toast(note);
      }
      onDone();
    },
    onSettled: () => client.invalidateQueries({ queryKey: [KINDS[kind].many] }),
  });
}

/** What the server finds in a text, after each pause in typing. */
function useChecked(text: string, isOn: boolean): { of: string; findings: Finding[] } {
  const [found, setFound] = useState<{ of: string; findings: Finding[] }>({ of: "", findings: [] });
  useEffect(() => {
    if (!isOn || !text.trim()) return;
    const asking = new AbortController();
    const timer = window.setTimeout(() => {
      const body = { text, name: "document.yaml", is_strict: false };
      api.post("/api/v1/catalog/check", { body, signal: asking.signal }).then(
        (report) => setFound({ of: text, findings: report.findings as Finding[] }),
        () => undefined, // applying says what is wrong, and so does the next pause
      );
    }, TYPED_MS);
    return () => {
      window.clearTimeout(timer);
      asking.abort();
    };
  }, [text, isOn]);
  return found;
}

function Faults({ findings, onGo }: { findings: readonly Finding[]; onGo: (place: Place) => void }) {
  if (!findings.length) return null;
  return (
    <ol className="schedules-faults" aria-label="Findings">
      {findings.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two findings may be the same in all but their place in the list
        <li key={at} className={`tone-${TONES[one.severity]}`}>
          <button type="button" onClick={() => onGo({ line: one.line, column: one.column })}>
            <Icon name={one.severity === "info" ? "dot" : "alert"} title={one.severity} />
            <span className="schedules-two">
              <span>{one.message}</span>
              {one.why ? <span className="muted">{one.why}</span> : null}
              {one.fix ? <span>Fix: {one.fix}</span> : null}
            </span>
            <span className="muted mono">
              {one.code} {one.line}:{one.column}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
