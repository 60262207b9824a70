/** The text of a playbook beside its graph and the page of what is under the cursor. Authors write, others read. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, type Schemas } from "@/api/client";
import type { Permission } from "@/api/identity";
import { type Finding, Problem } from "@/api/problem";
import type { EditorProps, Place } from "@/editor/Editor";
import type { GraphDocument } from "@/graph/model";
import {
  Button,
  Command,
  Empty,
  Failure,
  format,
  Icon,
  Loading,
  Status,
  toast,
  useCommands,
  useShortcut,
} from "@/parts";
import { playbookAddress } from "@/routes";
import type { DraftState } from "./drafts";
import { Findings } from "./Findings";
import { Markdown } from "./Markdown";
import { columnOf, stepAt } from "./places";
import {
  type Checking,
  type Flags,
  type Page,
  useChecking,
  useDescription,
  useKeptGraph,
  useKindPage,
} from "./useChecking";

const Editor = lazy(() => import("@/editor/Editor"));
const Graph = lazy(() => import("@/graph/Graph"));

interface Props {
  path: string;
  /** What is registered; null: nothing is yet. */
  entry: Schemas["CatalogText"] | null;
  draft: DraftState;
  may: Permission;
}

const complete: EditorProps["complete"] = (text, place, signal) =>
  api.post("/api/v1/catalog/complete", { body: { text, ...place }, signal });

export function TextTab({ path, entry, draft, may }: Props) {
  const { text } = draft;
  const flags = flagsOf(path, entry);
  const checking = useChecking(text, flags, may.is);
  const kept = useKeptGraph(path, entry?.version ?? null, !may.is);
  const graph = may.is ? checking.graph : kept;
  const [place, setPlace] = useState<Place | null>({ line: 1, column: 1 });
  const [goTo, setGoTo] = useState<Place | null>(null);
  const register = useRegister(path, flags, draft);
  const refused = register.error instanceof Problem && register.variables === text ? register.error : null;
  const report = checking.report;
  const findings = useMemo<readonly Finding[]>(
    () => (refused?.findings.length ? refused.findings : (report?.findings ?? [])),
    [refused, report],
  );
  const fix = useFix(flags, draft);
  const described = useDescription(text, place, may.is);
  const kind = useKindPage(graph, place, !may.is);
  return (
    <div className="playbook-text">
      <Toolbar
        entry={entry}
        draft={draft}
        may={may}
        state={<CheckState checking={checking} findings={findings} isStale={checking.of !== text} />}
        isFaulty={findings.some((one) => one.severity === "error")}
        isBusy={register.isPending}
        onRegister={() => register.mutate(text)}
      />
      {refused ? <Refused problem={refused} /> : null}
      <div className="playbook-panes">
        <div className="playbook-left">
          <Suspense fallback={<Loading what="Opening the editor" />}>
            <Editor
              value={text}
              onChange={draft.set}
              onCursor={setPlace}
              findings={findings}
              complete={complete}
              goTo={goTo}
              isReadOnly={!may.is}
              label={`Text of ${path}`}
            />
          </Suspense>
          <Findings
            findings={findings}
            isCut={report?.is_cut ?? false}
            onGo={setGoTo}
            onFix={may.is ? () => fix.mutate(text) : undefined}
            isFixing={fix.isPending}
          />
        </div>
        <div className="playbook-right">
          <GraphPane
            graph={graph}
            isOld={checking.isGraphOld}
            isBusy={may.is && checking.isBusy}
            place={place}
            text={text}
            onGo={setGoTo}
          />
          <DocsPane page={may.is ? described : kind} />
        </div>
      </div>
    </div>
  );
}

function flagsOf(path: string, entry: Props["entry"]): Flags {
  return {
    name: entry?.name || `${path.split("/").at(-1)}.yaml`,
    is_legacy: entry?.is_legacy ?? false,
    is_upstream: entry?.is_upstream ?? false,
  };
}

function useRegister(path: string, flags: Flags, draft: DraftState) {
  const client = useQueryClient();
  const [, go] = useLocation();
  return useMutation({
    mutationFn: (text: string) => api.post("/api/v1/catalog", { body: { text, ...flags } }),
    onSuccess: async (row) => {
      await client.invalidateQueries({ queryKey: ["catalog"] });
      draft.discard();
      toast(`Registered ${row.path}@${row.version}.`, { href: playbookAddress(row.path, "run"), text: "Run it" });
      if (row.path !== path || window.location.search) go(playbookAddress(row.path), { replace: true });
    },
  });
}

function useFix(flags: Flags, draft: DraftState) {
  return useMutation({
    mutationFn: (text: string) => api.post("/api/v1/catalog/fix", { body: { text, ...flags, is_strict: false } }),
    onSuccess: (fixed) => {
      draft.set(fixed.text);
      toast(`Repaired ${format.plural(fixed.repaired, "fault")}.`);
    },
    onError: toast.failed,
  });
}

function Toolbar(props: {
  entry: Props["entry"];
  draft: DraftState;
  may: Permission;
  state: ReactNode;
  isFaulty: boolean;
  isBusy: boolean;
  onRegister: () => void;
}) {
  const { entry, draft, may } = props;
  const isNew = entry === null;
  const canRegister = may.is && !props.isFaulty && !props.isBusy && (draft.isDirty || isNew);
  const latest = useRef(props.onRegister);
  latest.current = props.onRegister;
  const register = useCallback(() => latest.current(), []);
  useShortcut("mod+s", "Register the playbook", () => canRegister && register(), true);
  useCommands(
    useMemo(
      () => (canRegister ? [{ id: "register", title: "Register the playbook", icon: "check", run: register }] : []),
      [canRegister, register],
    ),
  );
  const why = props.isFaulty
    ? "it has faults: see the list below the text"
    : draft.isDirty || isNew
      ? ""
      : "nothing has changed";
  return (
    <div className="playbook-toolbar">
      {may.is ? props.state : <ReadOnly may={may} />}
      <span className="playbook-space" />
      {draft.isDirty && entry && draft.base !== entry.version ? (
        <span className="playbook-meanwhile">
          <Icon name="alert" /> version {entry.version} was registered meanwhile
        </span>
      ) : null}
      {draft.isDirty ? <span className="playbook-dirty">not registered</span> : null}
      <Command words={["catalog", "register", `${entry?.name || "FILE.yaml"}`]} />
      {may.is ? (
        <>
          {draft.isDirty ? (
            <Button look="quiet" onClick={draft.discard}>
              Discard changes
            </Button>
          ) : null}
          <Button
            look="main"
            icon="check"
            busy={props.isBusy}
            disabled={!canRegister}
            title={why || "Keep it as the next version (Ctrl S)"}
            onClick={props.onRegister}
          >
            Register
          </Button>
        </>
      ) : null}
    </div>
  );
}

function ReadOnly({ may }: { may: Permission }) {
  return (
    <span className="playbook-readonly">
      <Icon name="key" /> Read-only: {may.reason}.
    </span>
  );
}

/** What was found; pale while it is of a text that has changed since. */
function CheckState(props: { checking: Checking; findings: readonly Finding[]; isStale: boolean }) {
  const { checking, findings } = props;
  const count = (severity: Finding["severity"]): number => findings.filter((one) => one.severity === severity).length;
  const errors = count("error");
  const warnings = count("warning");
  return (
    <span className="playbook-state" role="status" aria-busy={props.isStale}>
      {checking.error ? (
        <Status status="warning" plain word="not checked: the server did not answer" />
      ) : !checking.report ? (
        <Status status="running" plain word="checking" />
      ) : errors || warnings ? (
        <>
          {errors ? <Status status="error" word={format.plural(errors, "error")} /> : null}
          {warnings ? <Status status="warning" word={format.plural(warnings, "warning")} /> : null}
        </>
      ) : (
        <Status status="success" word="no faults" />
      )}
    </span>
  );
}

/** A refusal that is about no place in the text stands above it. */
function Refused({ problem }: { problem: Problem }) {
  if (problem.findings.length) {
    return (
      <p className="playbook-refused" role="alert">
        <Icon name="alert" /> It was not registered: the faults are marked in the text.
      </p>
    );
  }
  return <Failure error={problem} title="It was not registered" />;
}

function GraphPane(props: {
  graph: GraphDocument | null;
  isOld: boolean;
  isBusy: boolean;
  place: Place | null;
  text: string;
  onGo: (place: Place) => void;
}) {
  const { graph, place, onGo, text } = props;
  const chosen = place ? (stepAt(graph, place.line)?.name ?? null) : null;
  const latest = useRef({ chosen, graph, text });
  useEffect(() => {
    latest.current = { chosen, graph, text };
  });
  const choose = useCallback(
    (name: string) => {
      const now = latest.current;
      const step = now.graph?.steps.find((one) => one.name === name);
      if (step && step.line > 0 && name !== now.chosen)
        onGo({ line: step.line, column: columnOf(now.text, step.line) });
    },
    [onGo],
  );
  return (
    <section className="playbook-graph" aria-label="Graph">
      {graph?.steps.length ? (
        <Suspense fallback={<Loading what="Drawing the graph" />}>
          <Graph graph={graph} chosen={chosen} onChoose={choose} isFollowing />
        </Suspense>
      ) : props.isBusy ? (
        <Loading what="Drawing the graph" />
      ) : (
        <Empty title="No graph yet" icon="graph">
          It is drawn as soon as the text has a step.
        </Empty>
      )}
      {props.isOld ? <p className="playbook-old">of the last text that could be read</p> : null}
    </section>
  );
}

function DocsPane({ page }: { page: Page | null }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="playbook-docs" aria-label="Page of what is under the cursor" tabIndex={0}>
      {page ? (
        <>
          <h2>{page.title}</h2>
          <Markdown text={page.markdown} />
        </>
      ) : (
        <p className="muted">Put the cursor on a key or a kind: its page shows here.</p>
      )}
    </section>
  );
}
