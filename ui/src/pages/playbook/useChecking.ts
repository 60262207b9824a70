/** What the server says of a text that is being written: its findings, its graph, the page of what is under the cursor. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, type Schemas } from "@/api/client";
import type { Place } from "@/editor/Editor";
import type { GraphDocument } from "@/graph/model";
import { kindAt } from "./places";

const TYPED_MS = 300; // a pause in typing
const CURSOR_MS = 250;

export interface Flags {
  name: string;
  is_legacy: boolean;
  is_upstream: boolean;
}

export interface Checking {
  report: Schemas["CheckReport"] | null;
  /** The text that the report is of. */
  of: string | null;
  graph: GraphDocument | null;
  /** The text cannot be read as a playbook now: the graph is of one before. */
  isGraphOld: boolean;
  isBusy: boolean;
  error: unknown;
}

const NOTHING: Checking = { report: null, of: null, graph: null, isGraphOld: false, isBusy: true, error: null };

/** Checks a text after each pause; an answer to an older text is not waited for. */
export function useChecking(text: string, flags: Flags, isOn: boolean): Checking {
  const [state, setState] = useState<Checking>(NOTHING);
  const isFirst = useRef(true);
  const { name, is_legacy, is_upstream } = flags;
  useEffect(() => {
    if (!isOn || !text.trim()) return;
    const asking = new AbortController();
    const timer = window.setTimeout(
      () => {
        isFirst.current = false;
        setState((before) => ({ ...before, isBusy: true }));
        void look({ text, name, is_legacy, is_upstream }, asking.signal, setState);
      },
      isFirst.current ? 0 : TYPED_MS,
    );
    return () => {
      window.clearTimeout(timer);
      asking.abort();
    };
  }, [text, name, is_legacy, is_upstream, isOn]);
  return state;
}

async function look(
  given: Flags & { text: string },
  signal: AbortSignal,
  tell: (change: (before: Checking) => Checking) => void,
): Promise<void> {
  const body = { ...given, is_strict: false };
  const [checked, drawn] = await Promise.allSettled([
    api.post("/api/v1/catalog/check", { body, signal }),
    api.post("/api/v1/catalog/graph", { body, signal }),
  ]);
  if (signal.aborted) return;
  const graph = drawn.status === "fulfilled" ? drawn.value.graph : null;
  tell((before) => ({
    report: checked.status === "fulfilled" ? checked.value : null,
    of: given.text,
    graph: graph ?? before.graph,
    isGraphOld: graph === null && before.graph !== null,
    isBusy: false,
    error: checked.status === "rejected" ? checked.reason : null,
  }));
}

/** The graph of what is registered: for those who may only look. */
export function useKeptGraph(path: string, version: number | null, isOn: boolean): GraphDocument | null {
  const { data } = useQuery({
    queryKey: ["graph of a version", path, version],
    queryFn: ({ signal }) =>
      api.get("/api/v1/catalog/graph", { query: { path, version: version ?? undefined }, signal }),
    enabled: isOn && version !== null,
  });
  return data?.graph ?? null;
}

export interface Page {
  title: string;
  markdown: string;
}

/** The page of the key or kind under the cursor. */
export function useDescription(text: string, place: Place | null, isOn: boolean): Page | null {
  const [page, setPage] = useState<Page | null>(null);
  const line = place?.line ?? 0;
  const column = place?.column ?? 0;
  useEffect(() => {
    if (!isOn || !line) return;
    const asking = new AbortController();
    const timer = window.setTimeout(() => {
      api.post("/api/v1/catalog/describe", { body: { text, line, column }, signal: asking.signal }).then(
        (found) => setPage(found.markdown ? found : null),
        () => undefined, // the page that is there stays; the next move of the cursor asks again
      );
    }, CURSOR_MS);
    return () => {
      window.clearTimeout(timer);
      asking.abort();
    };
  }, [text, line, column, isOn]);
  return page;
}

/** The same for those who may only look: the page of the kind of the task that the cursor is in. */
export function useKindPage(graph: GraphDocument | null, place: Place | null, isOn: boolean): Page | null {
  const { data } = useQuery({
    queryKey: ["kinds"],
    queryFn: ({ signal }) => api.get("/api/v1/kinds", { signal }),
    enabled: isOn,
  });
  const kind = place ? kindAt(graph, place.line) : null;
  const found = data?.kinds.find((one) => one.kind === kind);
  return found ? { title: `kind: ${found.kind}`, markdown: found.markdown } : null;
}
