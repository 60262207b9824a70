/** The net with what happened on it, live: tokens, runs, loops as one node with counts. A step opens what it did. */
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import type { GraphDocument } from "@/graph/model";
import { Asked, Empty, format, IS_LIVE, Loading } from "@/parts";
import { type EventDocument, useGraph, useMoment, useRuns, useTimeline } from "./asking";
import type { TabProps } from "./index";
import { overlayOf, type Picture, pictureOf, withEvents } from "./live";
import { StepDrawer } from "./StepDrawer";

const Graph = lazy(() => import("@/graph/Graph"));
const PAGES_MAX = 20; // of runs, to know which arcs were taken

export default function GraphTab({ shown, listen, onDeed }: TabProps) {
  const id = shown.execution_id;
  const graph = useGraph(id);
  const [search, setSearch] = useSearchParams();
  const step = search.get("step");
  const choose = (name: string | null): void =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        if (name === null) next.delete("step");
        else next.set("step", name);
        return next;
      },
      { replace: true },
    );
  return (
    <div className="execution-graph-tab">
      <Asked query={graph} what="Drawing the graph">
        {(data) =>
          data.graph ? (
            <Live {...{ shown, listen, graph: data.graph, step, choose }} />
          ) : (
            <Empty title="This playbook cannot be drawn" icon="alert">
              Its text does not read as a playbook any more. The timeline shows what ran.
            </Empty>
          )
        }
      </Asked>
      {step !== null ? (
        <StepDrawer
          key={step}
          shown={shown}
          step={step}
          graph={graph.data?.graph ?? null}
          onClose={() => choose(null)}
          onDeed={(deed) => {
            choose(null);
            onDeed(deed);
          }}
        />
      ) : null}
    </div>
  );
}

interface LiveProps extends Pick<TabProps, "shown" | "listen"> {
  graph: GraphDocument;
  step: string | null;
  choose: (step: string) => void;
}

function Live({ shown, listen, graph, step, choose }: LiveProps) {
  const [picture, known] = usePicture(shown.execution_id, listen);
  const overlay = useMemo(() => (picture ? overlayOf(picture) : undefined), [picture]);
  return (
    <>
      <div className="execution-graph">
        <Suspense fallback={<Loading what="Drawing the graph" />}>
          <Graph
            graph={graph}
            overlay={overlay}
            taken={picture?.taken}
            chosen={step}
            onChoose={choose}
            label={`Graph of execution ${shown.execution_id}`}
          />
        </Suspense>
      </div>
      <p className="execution-hint">
        {IS_LIVE.has(shown.status) ? `Live, after event ${format.count(picture?.seq ?? shown.events)}. ` : ""}
        Choose a step to see its runs, attempts, inputs and errors. Greyed steps did not run.
        {known === null ? "" : ` The arcs drawn as taken are those of the first ${format.count(known)} runs.`}
      </p>
    </>
  );
}

/**
 * The server's moment, and the events since; drawn at most once a frame. And of how many runs the arcs that were taken
 * are known; null: of all.
 */
function usePicture(id: string, listen: TabProps["listen"]): [Picture | null, number | null] {
  const moment = useMoment(id, null);
  const timeline = useTimeline(id);
  const runs = useRuns(timeline);
  const { hasNextPage, isFetching, isError, fetchNextPage } = timeline;
  const isEnough = (timeline.data?.pages.length ?? 0) >= PAGES_MAX;
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError && !isEnough) void fetchNextPage();
  }, [hasNextPage, isFetching, isError, isEnough, fetchNextPage]);
  const base = useMemo(() => (moment.data ? pictureOf(moment.data, runs) : null), [moment.data, runs]);
  const [picture, setPicture] = useState(base);
  const recent = useRef<EventDocument[]>([]);
  useEffect(() => {
    if (!base) return;
    recent.current = recent.current.filter((event) => seqOfId(event) > base.seq);
    setPicture(withEvents(base, recent.current));
  }, [base]);
  useEffect(() => {
    let waiting: EventDocument[] = [];
    let frame = 0;
    const draw = (): void => {
      frame = 0;
      const events = waiting;
      waiting = [];
      recent.current.push(...events);
      setPicture((now) => (now ? withEvents(now, events) : now));
    };
    const stop = listen((events) => {
      waiting = waiting.concat(events);
      frame ||= requestAnimationFrame(draw);
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [listen]);
  const isCut = timeline.data?.pages.some((page) => page.is_cut) ?? false;
  return [picture, (hasNextPage && isEnough) || isCut ? runs.length : null];
}

function seqOfId(event: EventDocument): number {
  return Number(event.event_id.slice(event.event_id.lastIndexOf("-") + 1));
}
