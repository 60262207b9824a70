/** An expression against this run, at any event: what it gives, what it read, and where it is wrong. */
import { useMutation } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { useSearchParams } from "wouter";
import { api, type Schemas } from "@/api/client";
import { Button, Data, Empty, Failure, Field, format, Section } from "@/parts";
import { useGraph } from "./asking";
import { addToHistory, historyOf } from "./history";
import type { TabProps } from "./index";

type Evaluation = Schemas["Evaluation"];
interface Asked {
  expression: string;
  at: string;
  step: string;
  run: string;
  iteration: string;
}

export default function EvaluateTab({ shown }: TabProps) {
  const id = shown.execution_id;
  const [search] = useSearchParams();
  const [history, setHistory] = useState(() => historyOf(id));
  const [asked, setAsked] = useState<Asked>({
    expression: search.get("expression") ?? history[0] ?? "ctx",
    at: search.get("seq") ?? "",
    step: search.get("step") ?? "",
    run: "",
    iteration: "",
  });
  const evaluation = useMutation({
    mutationFn: (given: Asked) =>
      api.post("/api/v1/executions/{execution_id}/evaluate", { path: { execution_id: id }, body: bodyOf(given) }),
  });
  const evaluate = (given = asked): void => {
    if (!given.expression.trim()) return;
    setHistory(addToHistory(id, given.expression));
    evaluation.mutate(given);
  };
  const choose = (expression: string): void => {
    const next = { ...asked, expression };
    setAsked(next);
    evaluate(next);
  };
  return (
    <div className="execution-evaluate">
      <Ask
        id={id}
        last={shown.events}
        asked={asked}
        onAsked={setAsked}
        onEvaluate={() => evaluate()}
        isBusy={evaluation.isPending}
      />
      {evaluation.isError ? (
        <Failure error={evaluation.error} />
      ) : evaluation.data ? (
        <Result evaluation={evaluation.data} expression={evaluation.variables?.expression ?? ""} onName={choose} />
      ) : (
        <Empty title="Ask this run anything" icon="search">
          An expression as in a playbook, with or without braces: <code>ctx.orders | length</code>,{" "}
          <code>workload</code>. Nothing is written.
        </Empty>
      )}
      {history.length ? <History history={history} onChoose={choose} /> : null}
    </div>
  );
}

function bodyOf(asked: Asked): Schemas["Evaluate"] {
  const number = (text: string): number | undefined => (text === "" ? undefined : Number(text));
  return {
    expression: asked.expression,
    at: number(asked.at),
    step: asked.step || undefined,
    run: number(asked.run),
    iteration: number(asked.iteration),
  };
}

function Ask(props: {
  id: string;
  last: number;
  asked: Asked;
  onAsked: (asked: Asked) => void;
  onEvaluate: () => void;
  isBusy: boolean;
}) {
  const { asked, onAsked } = props;
  const graph = useGraph(props.id);
  const set = (changes: Partial<Asked>): void => onAsked({ ...asked, ...changes });
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      props.onEvaluate();
    }
  };
  return (
    <Section title="Expression" actions={<span className="muted">Ctrl Enter</span>}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          props.onEvaluate();
        }}
      >
        <textarea
          aria-label="Expression"
          rows={3}
          spellCheck={false}
          maxLength={8192}
          value={asked.expression}
          onChange={(event) => set({ expression: event.target.value })}
          onKeyDown={press}
        />
        <div className="execution-scope">
          <Field label="After event" id="evaluate-at" hint={`1 to ${format.count(props.last)}; empty: the last`}>
            <input
              id="evaluate-at"
              type="number"
              min={1}
              max={props.last}
              value={asked.at}
              onChange={(event) => set({ at: event.target.value })}
            />
          </Field>
          <Field label="As seen by step" id="evaluate-step">
            <select id="evaluate-step" value={asked.step} onChange={(event) => set({ step: event.target.value })}>
              <option value="">the whole workflow</option>
              {(graph.data?.graph?.steps ?? []).map((step) => (
                <option key={step.name} value={step.name}>
                  {step.name}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Run" id="evaluate-run">
            <input
              id="evaluate-run"
              type="number"
              min={1}
              value={asked.run}
              onChange={(event) => set({ run: event.target.value })}
            />
          </Field>
          <Field label="Iteration" id="evaluate-iteration">
            <input
              id="evaluate-iteration"
              type="number"
              min={0}
              value={asked.iteration}
              onChange={(event) => set({ iteration: event.target.value })}
            />
          </Field>
          <Button look="main" icon="run" type="submit" busy={props.isBusy}>
            Evaluate
          </Button>
        </div>
      </form>
    </Section>
  );
}

function Result(props: { evaluation: Evaluation; expression: string; onName: (name: string) => void }) {
  const { evaluation, expression } = props;
  return (
    <>
      <Section
        title={evaluation.error ? "It cannot be evaluated" : "Result"}
        actions={
          <span className="muted">
            {evaluation.type ? `${evaluation.type}, ` : ""}after event {format.count(evaluation.seq)}
          </span>
        }
      >
        <div aria-live="polite">
          {evaluation.error ? (
            <Fault error={evaluation.error} expression={expression} />
          ) : (
            <Data value={evaluation.value} label="result" />
          )}
          {evaluation.is_cut ? (
            <p className="execution-warn">It is longer than this; only its beginning is shown.</p>
          ) : null}
        </div>
      </Section>
      {evaluation.reads.length ? (
        <Section title="What it read">
          <dl className="execution-reads">
            {evaluation.reads.map((read) => (
              <div key={read.name}>
                <dt>
                  <code>{read.name}</code>
                </dt>
                <dd className="mono">
                  {read.note && read.note !== "cut" ? (
                    <em>{read.note}</em>
                  ) : (
                    format.cut(JSON.stringify(read.value) ?? "", 300)
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </Section>
      ) : null}
      {evaluation.scope.length ? (
        <Section title="What may be read there">
          <div className="execution-chips">
            {evaluation.scope.map((name) => (
              <button key={name} type="button" className="chip mono" onClick={() => props.onName(name)}>
                {name}
              </button>
            ))}
          </div>
        </Section>
      ) : null}
    </>
  );
}

/** The message, and a mark under the place where it is wrong. */
function Fault({ error, expression }: { error: NonNullable<Evaluation["error"]>; expression: string }) {
  const isShort = !expression.includes("\n") && expression.length < 200;
  return (
    <div className="execution-error tone-bad">
      <pre>
        {error.column && isShort ? `${expression}\n${" ".repeat(error.column - 1)}^\n` : ""}
        {error.message}
        {error.column && !isShort ? ` (column ${error.column})` : ""}
      </pre>
    </div>
  );
}

function History({ history, onChoose }: { history: readonly string[]; onChoose: (expression: string) => void }) {
  return (
    <Section title="Asked before" plain>
      <ul className="execution-history">
        {history.map((expression) => (
          <li key={expression}>
            <button type="button" className="link mono" onClick={() => onChoose(expression)}>
              {format.cut(expression, 120)}
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
