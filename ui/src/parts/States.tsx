/** What a page shows when it has nothing to show: each says what to do. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Problem, wordsOf } from "@/api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./icons";

/** Nothing is there yet. `title` says what, children say how to get one. */
export function Empty({ title, icon = "ring", children }: { title: string; icon?: IconName; children?: ReactNode }) {
  return (
    <div className="state">
      <Icon name={icon} className="state-icon" />
      <p className="state-title">{title}</p>
      {children ? <div className="state-text">{children}</div> : null}
    </div>
  );
}

/** Something is on its way. Shows itself after a moment only, so that quick answers do not flicker. */
export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div className="state state-loading" role="status">
      <Icon name="spin" className="icon-spin state-icon" />
      <p className="state-text">{what}…</p>
    </div>
  );
}

/** Something was refused or broke: the server's own words, its code and trace, and a way on. */
export function Failure({ error, retry, title }: { error: unknown; retry?: () => void; title?: string }) {
  const problem = error instanceof Problem ? error : null;
  return (
    <div className="state state-failure" role="alert">
      <Icon name="alert" className="state-icon" />
      <p className="state-title">{title ?? titleOf(problem)}</p>
      <p className="state-text">{wordsOf(error)}</p>
      {problem && problem.status > 0 ? (
        <p className="state-small">
          {problem.status} · <code>{problem.code}</code>
          {problem.traceId ? (
            <>
              {" "}
              · trace <code>{problem.traceId}</code>
            </>
          ) : null}
        </p>
      ) : null}
      {retry ? (
        <Button icon="retry" onClick={retry}>
          Try again
        </Button>
      ) : null}
    </div>
  );
}

function titleOf(problem: Problem | null): string {
  if (!problem) return "This did not work";
  if (problem.status === 0) return "The server does not answer";
  if (problem.status === 403) return "This token may not see this";
  if (problem.status === 404) return "There is no such thing here";
  return "The server refused this";
}

/** A query as a page: loading, failure or its data. While it is asked again the old data stays. */
export function Asked<T>({
  query,
  what,
  children,
}: {
  query: UseQueryResult<T>;
  what?: string;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Loading what={what} />;
}
