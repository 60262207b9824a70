/** The rows of some filters: asked for page by page, changed by the bell, without moving what is looked at. */
import { useCallback, useEffect, useReducer, useRef } from "react";
import { api } from "@/api/client";
import { useBell, useLiveState } from "@/api/live";
import { askedOf, type Filters, isWanted, lineOf, type Row } from "./filters";
import { heard, type Live, merged, taken } from "./rows";

const PAGE = 100;

interface State extends Live {
  /** The line of the filters that these rows are of. */
  line: string;
  next: string | null;
  phase: "asking" | "here" | "failed";
  error: unknown;
}

type Move =
  | { kind: "begun"; line: string }
  | { kind: "first"; line: string; rows: Row[]; next: string | null }
  | { kind: "more"; line: string; rows: Row[]; next: string | null }
  | { kind: "failed"; line: string; error: unknown }
  | { kind: "heard"; row: Row; isWanted: boolean; isTaken: boolean }
  | { kind: "take" };

const START: State = { line: "", rows: [], waiting: [], next: null, phase: "asking", error: null };

function move(state: State, given: Move): State {
  if ("line" in given && given.kind !== "begun" && given.line !== state.line) return state; // of filters that are gone
  switch (given.kind) {
    case "begun":
      return { ...START, line: given.line };
    case "first":
      return { ...state, ...given, waiting: [], phase: "here", error: null };
    case "more":
      return { ...state, rows: merged(state.rows, given.rows), next: given.next };
    case "failed":
      return { ...state, phase: "failed", error: given.error };
    case "heard": {
      const live = heard(state, given.row, given.isWanted);
      if (live === state) return state;
      return { ...state, ...(given.isTaken ? taken(live) : live) };
    }
    case "take":
      return { ...state, ...taken(state) };
  }
}

function ask(filters: Filters, cursor: string | undefined, signal?: AbortSignal) {
  return api.get("/api/v1/executions", { query: { ...askedOf(filters, Date.now()), limit: PAGE, cursor }, signal });
}

/** `mayMove`: whether rows may be put in at the top now, because nobody looks at or points to one. */
export function useRows(filters: Filters, mayMove: () => boolean) {
  const [state, dispatch] = useReducer(move, START);
  const line = lineOf(filters);
  const latest = useRef({ filters, mayMove });
  latest.current = { filters, mayMove };

  const first = useCallback(async (of: Filters, signal?: AbortSignal) => {
    const asked = lineOf(of);
    try {
      const page = await ask(of, undefined, signal);
      dispatch({ kind: "first", line: asked, rows: page.executions, next: page.next });
    } catch (error) {
      if (!signal?.aborted) dispatch({ kind: "failed", line: asked, error });
    }
  }, []);

  useEffect(() => {
    const asking = new AbortController();
    dispatch({ kind: "begun", line });
    void first(latest.current.filters, asking.signal);
    return () => asking.abort();
  }, [line, first]);

  const hear = useCallback((row: Row) => {
    const { filters: wanted, mayMove: may } = latest.current;
    dispatch({ kind: "heard", row, isWanted: isWanted(row, wanted, Date.now()), isTaken: may() });
  }, []);

  /** Looks at the newest page again: for bells without a row, and for what rang while nobody heard. */
  const catchUp = useCallback(async () => {
    const page = await ask(latest.current.filters, undefined).catch(() => null);
    for (const row of page?.executions.toReversed() ?? []) hear(row);
  }, [hear]);

  useBell(
    useCallback(
      (subject, row) => {
        if (subject !== "executions") return;
        if (isRow(row)) hear(row);
        else void catchUp();
      },
      [hear, catchUp],
    ),
  );
  useReturn(catchUp);

  const isMore = useRef(false);
  const { next } = state;
  const more = useCallback(async () => {
    if (!next || isMore.current) return;
    isMore.current = true;
    try {
      const page = await ask(latest.current.filters, next);
      dispatch({ kind: "more", line, rows: page.executions, next: page.next });
    } catch {
      // The end of the table asks again when it comes into sight again.
    } finally {
      isMore.current = false;
    }
  }, [next, line]);

  return {
    ...state,
    more: useCallback(() => void more(), [more]),
    take: useCallback(() => dispatch({ kind: "take" }), []),
    again: useCallback(() => void first(latest.current.filters), [first]),
  };
}

function isRow(row: unknown): row is Row {
  return typeof row === "object" && row !== null && "execution_id" in row && "status" in row && "path" in row;
}

/** Calls when the live connection is there, for the first time or again: what rang before was not heard. */
function useReturn(call: () => void): void {
  const live = useLiveState();
  const before = useRef(live);
  useEffect(() => {
    if (live === "live" && before.current !== "live") call();
    before.current = live;
  }, [live, call]);
}
