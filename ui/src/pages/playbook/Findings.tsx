/** What is wrong with the text: a click goes to the place; the page of the rule says more. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "@/api/client";
import type { Finding } from "@/api/problem";
import type { Place } from "@/editor/Editor";
import { Asked, Button, CommandLine, Drawer, format, Icon, Status } from "@/parts";
import { Markdown } from "./Markdown";

interface Props {
  findings: readonly (Finding & { fixable?: boolean })[];
  isCut: boolean;
  onGo: (place: Place) => void;
  /** Repairs what is mechanical; undefined: one may not. */
  onFix?: () => void;
  isFixing: boolean;
}

const TONES = { error: "bad", warning: "warn", info: "idle" } as const;

export function Findings({ findings, isCut, onGo, onFix, isFixing }: Props) {
  const [explained, setExplained] = useState<string | null>(null);
  const fixable = findings.filter((one) => one.fixable).length;
  if (!findings.length) return null;
  return (
    <section className="playbook-findings" aria-label="Findings">
      {fixable && onFix ? (
        <div className="playbook-repair">
          <span>{fixable === 1 ? "One of these is" : `${fixable} of these are`} mechanical.</span>
          <Button size="s" icon="check" busy={isFixing} onClick={onFix}>
            Repair {format.plural(fixable, "fault")}
          </Button>
        </div>
      ) : null}
      <ol className="playbook-finding-list">
        {findings.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two findings may be the same in all but their place in the list
          <li key={at} className={`playbook-finding tone-${TONES[one.severity]}`}>
            <button
              type="button"
              className="playbook-finding-go"
              onClick={() => onGo({ line: one.line, column: one.column })}
            >
              <Icon name={one.severity === "info" ? "dot" : "alert"} title={one.severity} />
              <span className="playbook-finding-words">
                <span>{one.message}</span>
                {one.why ? <span className="muted">{one.why}</span> : null}
                {one.fix ? <span className="playbook-fix">Fix: {one.fix}</span> : null}
              </span>
              <span className="muted nowrap mono">
                {one.line}:{one.column}
              </span>
            </button>
            <Button
              look="quiet"
              size="s"
              onClick={() => setExplained(one.code)}
              title={`Explain ${one.code} ${one.rule}`}
            >
              {one.code}
            </Button>
          </li>
        ))}
      </ol>
      {isCut ? <p className="muted">There are more; they show when these are gone.</p> : null}
      {explained ? <Explained code={explained} onClose={() => setExplained(null)} /> : null}
    </section>
  );
}

function Explained({ code, onClose }: { code: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ["rules", code],
    queryFn: ({ signal }) => api.get("/api/v1/rules/{code}", { path: { code }, signal }),
  });
  return (
    <Drawer title={query.data ? `${code} ${query.data.rule}` : code} isOpen onClose={onClose}>
      <Asked query={query}>
        {(rule: Schemas["RulePage"]) => (
          <>
            <p>
              <Status status={rule.severity} />
            </p>
            <Markdown text={withoutTitle(rule.markdown)} />
          </>
        )}
      </Asked>
      <CommandLine words={["explain", code]} />
    </Drawer>
  );
}

// The drawer has the title of the page, and its severity, already.
function withoutTitle(markdown: string): string {
  return markdown.replace(/^\s*# .*\n/, "").replace(/^\s*Severity: .*\n/m, "");
}
