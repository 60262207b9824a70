/** Rules and arcs, each with the values it saw and what it said. All of it is text. */
import { format, Icon } from "@/parts";
import type { Verdict } from "./asking";

const PLACES: Record<Verdict["place"], string> = {
  admission: "admission rule",
  policy: "policy rule",
  arc: "arc",
  loop: "loop",
  set: "set",
};

export function Verdicts({ verdicts }: { verdicts: readonly Verdict[] }) {
  return (
    <ol className="execution-verdicts">
      {verdicts.map((one) => (
        <li
          key={`${one.place} ${one.step} ${one.task} ${one.index} ${one.target}`}
          className={`execution-verdict ${one.is_chosen ? "is-chosen" : ""}`}
        >
          <div className="execution-verdict-head">
            <Answer verdict={one} />
            <span className="muted nowrap">
              {PLACES[one.place]} {one.index + 1}
              {one.task ? (
                <>
                  {" "}
                  of <code>{one.task}</code>
                </>
              ) : null}
            </span>
            {one.target ? <strong>→ {one.target}</strong> : null}
            {one.is_chosen ? <span className="execution-tag">{one.place === "set" ? "written" : "taken"}</span> : null}
            {one.line ? <span className="muted nowrap">line {one.line}</span> : null}
          </div>
          {one.when ? <code className="execution-when">{one.when}</code> : null}
          {one.reads.length ? (
            <dl className="execution-reads">
              {one.reads.map((read) => (
                <div key={read.name}>
                  <dt>
                    <code>{read.name}</code>
                  </dt>
                  <dd className="mono" title={format.inline(read.value, 2000)}>
                    {read.note && read.note !== "cut" ? <em>{read.note}</em> : shown(read.value)}
                  </dd>
                </div>
              ))}
            </dl>
          ) : null}
          {one.error ? <p className="execution-bad">{one.error}</p> : null}
          {one.note ? <p className="muted">{one.note}</p> : null}
        </li>
      ))}
    </ol>
  );
}

/** A value in one line; text keeps its quotes, so that "3" and 3 differ. */
function shown(value: unknown): string {
  return format.cut(JSON.stringify(value) ?? "undefined", 200);
}

function Answer({ verdict }: { verdict: Verdict }) {
  if (verdict.error) return <Mark tone="bad" icon="alert" word="error" />;
  if (!verdict.was_asked) return <Mark tone="idle" icon="skip" word="not asked" />;
  if (verdict.result === true) return <Mark tone="ok" icon="check" word="true" />;
  if (verdict.result === false) return <Mark tone="idle" icon="cross" word="false" />;
  return <Mark tone="idle" icon="dot" word={verdict.when ? "evaluated" : "always"} />;
}

function Mark(props: { tone: string; icon: "alert" | "skip" | "check" | "cross" | "dot"; word: string }) {
  return (
    <span className={`status tone-${props.tone}`}>
      <Icon name={props.icon} />
      <span>{props.word}</span>
    </span>
  );
}
