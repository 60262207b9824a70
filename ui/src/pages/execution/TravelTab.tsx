/** Any moment of an execution: a slider over its events, and the net, ctx, inputs and rules as they stood then. */
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { useMay } from "@/api/identity";
import { Button, Command, Empty, Failure, format, Json, Loading, Section, Status } from "@/parts";
import { type Moment, useGraph, useLandmarks, useMoment, useRuns, useTimeline } from "./asking";
import type { TabProps } from "./index";
import { overlayOf, pictureOf } from "./live";
import { MarkedTree } from "./MarkedTree";
import { Slider } from "./Slider";
import { within } from "./travel";
import { Verdicts } from "./Verdicts";
import { isViewing } from "./viewing";

const Graph = lazy(() => import("@/graph/Graph"));
const SETTLE_MS = 90; // while somebody scrubs, what they pass is not asked for

export default function TravelTab({ shown, onDeed }: TabProps) {
  const id = shown.execution_id;
  const landmarks = useLandmarks(id);
  const last = Math.max(shown.events, landmarks.data?.last_seq ?? 0);
  const [seq, setSeq] = useSeq(last);
  const asked = useSettled(seq);
  const moment = useMoment(id, asked);
  const may = useMay()("runner");
  const isHere = moment.data?.seq === seq;
  return (
    <div className="execution-travel">
      <Slider
        seq={seq}
        last={last}
        marks={landmarks.data?.marks ?? []}
        onSeq={setSeq}
        isReady={isHere}
        event={isHere ? moment.data?.event : undefined}
      >
        {isViewing(id) ? null : (
          <>
            <Command words={["replay", id, "--at", String(seq)]} />
            <Button
              icon="fork"
              size="s"
              may={seq < 3 ? { is: false, reason: "before event 3 there is nothing to go on from" } : may}
              onClick={() => onDeed({ deed: "rerun", at: seq })}
            >
              Fork from this event…
            </Button>
          </>
        )}
      </Slider>
      {moment.isError ? (
        <Failure error={moment.error} retry={() => void moment.refetch()} />
      ) : moment.data ? (
        <div className={`execution-moment ${isHere ? "" : "is-old"}`} aria-busy={!isHere}>
          <Net id={id} moment={moment.data} />
          <Details moment={moment.data} />
        </div>
      ) : (
        <Loading what="Folding the log up to there" />
      )}
    </div>
  );
}

/** The event that is looked at, kept in the address. */
function useSeq(last: number): [number, (seq: number) => void] {
  const [search, setSearch] = useSearchParams();
  const given = Number(search.get("seq"));
  const [seq, setSeq] = useState(() => within(given || last, last));
  const settled = useSettled(seq, 250);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        next.set("seq", String(settled));
        return next;
      },
      { replace: true },
    );
  }, [settled, setSearch]);
  return [seq, setSeq];
}

/** A value that has stood still for a moment. */
function useSettled(value: number, after = SETTLE_MS): number {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), after);
    return () => window.clearTimeout(timer);
  }, [value, after]);
  return settled;
}

/** The marking, on the graph. */
function Net({ id, moment }: { id: string; moment: Moment }) {
  const graph = useGraph(id);
  const timeline = useTimeline(id);
  const runs = useRuns(timeline);
  const picture = useMemo(() => pictureOf(moment, runs), [moment, runs]);
  const overlay = useMemo(() => overlayOf(picture), [picture]);
  if (!graph.data) return graph.isError ? <Failure error={graph.error} /> : <Loading what="Drawing the graph" />;
  if (!graph.data.graph) return <Empty title="This playbook cannot be drawn" icon="alert" />;
  return (
    <div className="execution-graph">
      <Suspense fallback={<Loading />}>
        <Graph
          graph={graph.data.graph}
          overlay={overlay}
          taken={picture.taken}
          chosen={moment.event.step ?? null}
          label={`Marking after event ${moment.seq}`}
        />
      </Suspense>
    </div>
  );
}

function Details({ moment }: { moment: Moment }) {
  const { event, changes, verdicts } = moment;
  return (
    <div className="execution-details">
      <Section
        title={<span className="mono">{event.name}</span>}
        actions={<Status status={moment.status} word={`execution ${moment.status}`} plain />}
      >
        <p className="execution-lead">
          {event.step ? <span>step {event.step}</span> : null}
          {event.task_label ? <span>task {event.task_label}</span> : null}
          {event.iteration_id ? <span>iteration {event.iteration_id.split(":").at(-1)}</span> : null}
          {event.attempt ? <span>attempt {event.attempt}</span> : null}
          <span>by {event.source}</span>
        </p>
        <Json value={event.payload} label="payload" openDepth={1} />
      </Section>
      {verdicts.length ? (
        <Section title="Rules and arcs">
          <Verdicts verdicts={verdicts} />
        </Section>
      ) : null}
      {moment.inputs || moment.inputs_note ? (
        <Section title="Rendered input">
          {moment.inputs ? <Json value={moment.inputs} label="inputs" /> : null}
          {moment.inputs_note ? <p className="muted">{moment.inputs_note}</p> : null}
        </Section>
      ) : null}
      <Section
        title={changes.length ? `ctx, ${format.plural(changes.length, "value")} changed here` : "ctx, unchanged here"}
      >
        {changes.length ? <Changes changes={changes} /> : null}
        <MarkedTree value={moment.ctx} changed={changes.map((one) => one.path)} label="ctx" />
      </Section>
      <Marking marking={moment.marking} />
    </div>
  );
}

function Changes({ changes }: { changes: Moment["changes"] }) {
  return (
    <table className="execution-changes">
      <thead>
        <tr>
          <th scope="col">Value</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((one) => (
          <tr key={one.path}>
            <th scope="row">
              <code>{one.path}</code>
            </th>
            <td className="execution-before">{one.is_new ? <em>not there</em> : <code>{brief(one.before)}</code>}</td>
            <td className="execution-after">
              <code>{brief(one.after)}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const brief = (value: unknown): string => format.cut(JSON.stringify(value) ?? "", 300);

function Marking({ marking }: { marking: Moment["marking"] }) {
  if (!marking.tokens.length && !marking.runs.length) {
    return (
      <Section title="Marking">
        <p className="muted">No token is anywhere and nothing runs.</p>
      </Section>
    );
  }
  return (
    <Section title="Marking">
      <ul className="execution-list">
        {marking.tokens.map((token) => (
          <li key={`token ${token.token}`}>
            token {token.token} at <strong>{token.step}</strong>
            {token.source ? ` from ${token.source}` : ""}
            {token.is_waiting ? (token.is_for_signal ? ", waits for a signal" : ", waits until ctx changes") : ""}
          </li>
        ))}
        {marking.runs.map((run) => (
          <li key={`run ${run.run}`}>
            run {run.run} of <strong>{run.step}</strong>, {run.phase.replaceAll("_", " ")}
            {run.loop
              ? `: ${format.count(run.loop.done)} of ${format.count(run.loop.count)} done, ${format.count(run.loop.failed)} failed, ${format.count(run.loop.in_flight)} in flight`
              : ""}
            {run.jobs
              .slice(0, 5)
              .map(
                (job) =>
                  `${run.loop ? `; iteration ${job.iteration}` : ";"} at ${job.task ?? "its beginning"}${job.attempt > 1 ? `, attempt ${job.attempt}` : ""}`,
              )
              .join("")}
          </li>
        ))}
        {marking.omitted_tokens || marking.omitted_runs ? (
          <li className="muted">
            and {format.plural(marking.omitted_tokens, "token")}, {format.plural(marking.omitted_runs, "run")} more
          </li>
        ) : null}
      </ul>
    </Section>
  );
}
