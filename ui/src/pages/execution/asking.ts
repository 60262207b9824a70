/**
 * What the pages of one execution ask for. Their keys begin with "execution", which no bell rings: a server where
 * others run a thousand executions a minute makes nobody fetch this one again. It is asked again when it itself moved.
 */
import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { api, type Schemas } from "@/api/client";
import { useBell } from "@/api/live";
import type { ServerEvent } from "@/api/sse";
import { useStream } from "@/api/stream";
import { IS_LIVE } from "@/parts";

export type Shown = Schemas["Shown"];
export type Moment = Schemas["MomentDocument"];
export type Verdict = Schemas["VerdictRow"];
export type TimelineRun = Schemas["TimelineRun"];
export type TimelinePage = Schemas["TimelinePage"];
export type IterationRow = Schemas["IterationRow"];
export type AttemptRow = Schemas["AttemptRow"];
export type LogLine = Schemas["LogLine"];
export type LogPage = Schemas["LogPage"];
export type Mark = Schemas["Mark"];
export type EventDocument = Schemas["EventDocument"];

export const PAGE_ROWS = 500;
const TOGETHER_MS = 1000; // while it runs, what is drawn from the server's sums is asked again at most this often

export const keys = {
  all: (id: string) => ["execution", id] as const,
  shown: (id: string) => ["execution", id, "shown"] as const,
  graph: (id: string) => ["execution", id, "graph"] as const,
  moment: (id: string, seq: number | null) => ["execution", id, "moment", seq] as const,
  landmarks: (id: string) => ["execution", id, "landmarks"] as const,
  timeline: (id: string) => ["execution", id, "timeline"] as const,
};

// What is kept from an earlier visit is shown at once, and asked again: it may have moved on meanwhile.
const MOVING = { refetchOnMount: "always" } as const;

const one = (id: string) => ({ path: { execution_id: id } });

/** Its row, step runs, ctx, output and error. */
export function useShown(id: string) {
  return useQuery({
    ...MOVING,
    queryKey: keys.shown(id),
    queryFn: ({ signal }) => api.get("/api/v1/executions/{execution_id}", { ...one(id), signal }),
  });
}

export function useGraph(id: string) {
  return useQuery({
    queryKey: keys.graph(id),
    queryFn: ({ signal }) => api.get("/api/v1/executions/{execution_id}/graph", { ...one(id), signal }),
  });
}

export function askMoment(id: string, seq: number | null, signal?: AbortSignal) {
  const query = seq === null ? {} : { at: seq };
  return api.get("/api/v1/executions/{execution_id}/moment", { ...one(id), query, signal });
}

/** The execution after an event; null: after the last one there is. The one before stays in sight until it is here. */
export function useMoment(id: string, seq: number | null, isOn = true) {
  return useQuery({
    ...(seq === null ? MOVING : {}),
    queryKey: keys.moment(id, seq),
    queryFn: ({ signal }) => askMoment(id, seq, signal),
    placeholderData: keepPreviousData,
    enabled: isOn,
    gcTime: 60_000, // a person who scrubs passes many
  });
}

export function useLandmarks(id: string) {
  return useQuery({
    ...MOVING,
    queryKey: keys.landmarks(id),
    queryFn: ({ signal }) => api.get("/api/v1/executions/{execution_id}/landmarks", { ...one(id), signal }),
  });
}

/** The step runs, page by page. */
export function useTimeline(id: string) {
  return useInfiniteQuery({
    ...MOVING,
    queryKey: keys.timeline(id),
    queryFn: ({ signal, pageParam }) =>
      api.get("/api/v1/executions/{execution_id}/timeline", {
        ...one(id),
        query: { after: pageParam, limit: PAGE_ROWS },
        signal,
      }),
    initialPageParam: 0,
    getNextPageParam: (last) => last.next,
  });
}

export function askAttempts(
  id: string,
  run: number | null,
  iteration: number | null,
  after: number,
  signal?: AbortSignal,
) {
  const query = { run: run ?? undefined, iteration: iteration ?? undefined, after, limit: PAGE_ROWS };
  return api.get("/api/v1/executions/{execution_id}/attempts", { ...one(id), query, signal });
}

/** The first page of the attempts of some runs, by run, as far as they are here. */
export function useAttemptsOf(id: string, runs: readonly TimelineRun[]): ReadonlyMap<number, readonly AttemptRow[]> {
  return useQueries({
    queries: runs.map(({ run, attempts, retries }) => ({
      queryKey: [...keys.all(id), "attempts of", run, attempts, retries],
      queryFn: ({ signal }: { signal: AbortSignal }) => askAttempts(id, run, null, 0, signal),
    })),
    combine: useCallback(
      (found: { data?: { attempts: AttemptRow[] } }[]) =>
        new Map(found.flatMap(({ data }, at) => (data && runs[at] ? [[runs[at].run, data.attempts] as const] : []))),
      [runs],
    ),
  });
}

export function askIterations(
  id: string,
  run: number,
  status: IterationRow["status"] | null,
  after: number,
  signal?: AbortSignal,
) {
  const query = { run, status: status ?? undefined, after, limit: PAGE_ROWS };
  return api.get("/api/v1/executions/{execution_id}/iterations", { ...one(id), query, signal });
}

export function askEvents(id: string, after: number, limit: number, signal?: AbortSignal) {
  return api.get("/api/v1/executions/{execution_id}/events", { ...one(id), query: { after, limit }, signal });
}

/** One event by its number. */
export function useEventAt(id: string, seq: number | null) {
  return useQuery({
    queryKey: ["execution", id, "event", seq],
    queryFn: async ({ signal }) => (await askEvents(id, (seq ?? 1) - 1, 1, signal)).events[0] ?? null,
    enabled: seq !== null,
  });
}

/** The number of an event, out of its id. */
export function seqOf(event: { event_id: string }): number {
  return Number(event.event_id.slice(event.event_id.lastIndexOf("-") + 1));
}

/** Where an execution came from, if it was forked from another one. */
export function useSource(id: string): { execution_id: string; seq: number } | null {
  const landmarks = useLandmarks(id);
  const mark = landmarks.data?.marks.find((one) => one.name === "execution.forked");
  const { data } = useEventAt(id, mark?.seq ?? null);
  if (!data || data.payload.source_execution_id === undefined) return null;
  return { execution_id: String(data.payload.source_execution_id), seq: Number(data.payload.source_seq) };
}

/** Asks for everything about an execution again. */
export function refresh(client: QueryClient, id: string): void {
  void client.invalidateQueries({ queryKey: keys.all(id) });
}

/**
 * Follows an execution while it goes on: `onEvents` gets its events, and what the server sums up is asked again, now
 * and then while it runs and once when it has ended. `from` is the last event that is here already.
 */
export function useFollowed(
  shown: Shown | undefined,
  from: number | undefined,
  onEvents: (events: ServerEvent[]) => void,
) {
  const client = useQueryClient();
  const id = shown?.execution_id ?? "";
  const timer = useRef<number | undefined>(undefined);
  const again = useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      refresh(client, id);
    }, TOGETHER_MS);
  }, [client, id]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useBell(
    useCallback(
      (subject, row) => {
        if (subject === "executions" && (row as { execution_id?: string } | null)?.execution_id === id) again();
      },
      [again, id],
    ),
  );
  const isLive = shown !== undefined && IS_LIVE.has(shown.status);
  const address = isLive && from !== undefined ? `/api/v1/executions/${id}/events/stream` : null;
  const hear = (events: ServerEvent[]): void => {
    onEvents(events);
    if (events.length) again();
  };
  return useStream(address, hear, String(from ?? 0));
}

/** All rows of the pages that are here. */
export function useRuns(query: ReturnType<typeof useTimeline>): readonly TimelineRun[] {
  const pages = query.data?.pages;
  return useMemo(() => (pages ?? []).flatMap((page) => page.runs), [pages]);
}
