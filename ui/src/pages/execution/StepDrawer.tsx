/** What one step did: why it ran or did not, its runs, their iterations and attempts, and what each took and gave. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "@/api/client";
import { useMay } from "@/api/identity";
import type { GraphDocument } from "@/graph/model";
import { Asked, Button, Command, Drawer, Empty, format, Section, Status } from "@/parts";
import { executionAddress } from "@/routes";
import type { Deed } from "./Actions";
import { Attempts } from "./Attempts";
import { type Shown, type TimelineRun, useRuns, useTimeline } from "./asking";
import { Iterations } from "./Iterations";
import { Verdicts } from "./Verdicts";
import { isViewing } from "./viewing";

interface StepProps {
  shown: Shown;
  step: string;
  graph: GraphDocument | null;
  onClose: () => void;
  onDeed: (deed: Deed) => void;
}

export function StepDrawer({ shown, step, graph, onClose, onDeed }: StepProps) {
  const id = shown.execution_id;
  const may = useMay()("runner");
  const timeline = useTimeline(id);
  const runs = useRuns(timeline).filter((run) => run.step === step);
  const [asked, setAsked] = useState<number | null>(null);
  const chosen =
    runs.find((run) => run.run === asked) ?? runs.findLast((run) => run.status === "failed") ?? runs.at(-1);
  const plan = graph?.steps.find((one) => one.name === step);
  return (
    <Drawer
      title={
        <span className="execution-drawer-title">
          Step <span className="mono">{step}</span>
          {chosen ? <Status status={chosen.status} /> : null}
        </span>
      }
      isOpen
      wide
      onClose={onClose}
      actions={
        isViewing(id) ? undefined : (
          <>
            <Command words={["rerun", id, "--from", step]} />
            <Button
              icon="retry"
              look="main"
              may={runs.length ? may : { is: false, reason: "it did not run, so nothing can go on from it" }}
              onClick={() => onDeed({ deed: "rerun", step })}
            >
              Rerun from here…
            </Button>
          </>
        )
      }
    >
      {plan?.description ? <p className="muted">{plan.description}</p> : null}
      <Runs runs={runs} chosen={chosen} onChoose={setAsked} isMore={timeline.hasNextPage} />
      {chosen ? <Run key={chosen.run} id={id} run={chosen} /> : null}
      <Why id={id} step={step} isFirst={timeline.data !== undefined && !chosen} />
    </Drawer>
  );
}

const RUNS_SHOWN = 40;

function Runs(props: {
  runs: readonly TimelineRun[];
  chosen: TimelineRun | undefined;
  onChoose: (run: number) => void;
  isMore: boolean;
}) {
  const { runs, chosen } = props;
  if (!runs.length && !props.isMore) {
    return (
      <Empty title="It did not run" icon="ring">
        Below stands why.
      </Empty>
    );
  }
  if (runs.length < 2) return null;
  return (
    <div className="execution-chips" role="group" aria-label="Runs of this step">
      {runs.slice(-RUNS_SHOWN).map((run) => (
        <button
          type="button"
          key={run.run}
          className="chip"
          aria-pressed={run === chosen}
          onClick={() => props.onChoose(run.run)}
        >
          <Status status={run.status} plain word={`run ${run.run}`} />
        </button>
      ))}
      {runs.length > RUNS_SHOWN ? (
        <span className="muted">
          the last {RUNS_SHOWN} of {format.plural(runs.length, "run")}; the timeline has all
        </span>
      ) : null}
    </div>
  );
}

function Run({ id, run }: { id: string; run: TimelineRun }) {
  return (
    <>
      <p className="execution-lead">
        <span>run {run.run}</span>
        <span>
          began after <span className="mono">{format.duration(run.started_ms ?? run.scheduled_ms)}</span>
        </span>
        <span>
          {run.ended_ms === null
            ? "still running"
            : `took ${format.duration(run.ended_ms - (run.started_ms ?? run.scheduled_ms))}`}
        </span>
        <span>{format.plural(run.attempts, "attempt")}</span>
        {run.retries ? <span>{format.plural(run.retries, "retry", "retries")}</span> : null}
        {run.compensates ? <span>undoes run {run.compensates}</span> : null}
      </p>
      {run.error ? (
        <div className="execution-error tone-bad" role="note">
          <pre>{run.error}</pre>
        </div>
      ) : null}
      {run.loop ? (
        <Iterations id={id} run={run.run} loop={run.loop} />
      ) : (
        <Attempts id={id} run={run.run} iteration={null} said={run.error} />
      )}
    </>
  );
}

/** Each time a token came, and what the rules said. */
function Why({ id, step, isFirst }: { id: string; step: string; isFirst: boolean }) {
  const [wanted, setWanted] = useState<boolean | null>(null);
  const isOpen = wanted ?? isFirst;
  const query = useQuery({
    queryKey: ["execution", id, "why", step],
    queryFn: ({ signal }) =>
      api.get("/api/v1/executions/{execution_id}/why", { path: { execution_id: id }, query: { step }, signal }),
    enabled: isOpen,
  });
  return (
    <Section
      title="Why"
      plain
      actions={
        <>
          {isViewing(id) ? null : <Command words={["why", id, step]} />}
          <Button size="s" look="quiet" aria-expanded={isOpen} onClick={() => setWanted(!isOpen)}>
            {isOpen ? "Hide" : "Why it ran, or did not"}
          </Button>
        </>
      }
    >
      {isOpen ? (
        <Asked query={query} what="Looking at the rules">
          {(why) => (
            <>
              {why.sentences.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
              {why.visits.map((visit) => (
                <div key={visit.seq} className="execution-visit">
                  <p className="execution-lead">
                    <span>{visit.happened.replaceAll("_", " ")}</span>
                    <Link href={executionAddress(id, "travel", { seq: visit.seq })}>
                      event {format.count(visit.seq)}
                    </Link>
                    {visit.run ? <span>run {visit.run}</span> : null}
                  </p>
                  <Verdicts verdicts={visit.verdicts} />
                </div>
              ))}
              {why.omitted_visits ? (
                <p className="muted">{format.count(why.omitted_visits)} visits between are left out.</p>
              ) : null}
            </>
          )}
        </Asked>
      ) : null}
    </Section>
  );
}
