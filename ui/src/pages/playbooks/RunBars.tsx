/** The last runs as bars, oldest left: height is how long, colour and shape are the status, each is a link. */
import { Link } from "wouter";
import type { Schemas } from "@/api/client";
import { lookOf } from "@/parts";
import { executionAddress } from "@/routes";
import { heightsOf, wordsOf } from "./heights";

export function RunBars({ runs, label }: { runs: readonly Schemas["ExecutionRow"][]; label: string }) {
  const now = Date.now();
  const shown = runs.toReversed();
  const heights = heightsOf(shown, now);
  if (!shown.length) return <span className="muted playbooks-none">never ran</span>;
  return (
    <ol className="playbooks-bars" aria-label={`Last runs of ${label}, oldest first`}>
      {shown.map((run, at) => {
        const words = wordsOf(run, now);
        const tone = lookOf(run.status).tone;
        return (
          <li key={run.execution_id}>
            <Link
              href={executionAddress(run.execution_id)}
              className={`playbooks-bar playbooks-bar-${run.status} tone-${tone}`}
              title={words}
              aria-label={words}
            >
              <span style={{ height: `${(heights[at] ?? 0) * 100}%` }} />
            </Link>
          </li>
        );
      })}
    </ol>
  );
}
