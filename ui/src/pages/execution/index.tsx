/** One execution: what it is, what may be done with it, and its tabs. Each tab is a file of its own, loaded when opened. */
import "./execution.css";
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import type { ServerEvent } from "@/api/sse";
import { Failure, Loading, type Tab, Tabs, useCommands } from "@/parts";
import { executionAddress } from "@/routes";
import type { Deed } from "./Actions";
import { type EventDocument, type Shown, useFollowed, useShown } from "./asking";
import { Head } from "./Head";

const GraphTab = lazy(() => import("./GraphTab"));
const TimelineTab = lazy(() => import("./TimelineTab"));
const TravelTab = lazy(() => import("./TravelTab"));
const DataTab = lazy(() => import("./DataTab"));
const LogsTab = lazy(() => import("./LogsTab"));
const EvaluateTab = lazy(() => import("./EvaluateTab"));
const CompareTab = lazy(() => import("./CompareTab"));

export interface TabProps {
  shown: Shown;
  /** The numbers of what arrived while the page is open; hears each batch. */
  listen: (ear: Ear) => () => void;
  onDeed: (deed: Deed) => void;
}
export type Ear = (events: EventDocument[]) => void;

const TABS: readonly (Tab & { page: React.ComponentType<TabProps> })[] = [
  { id: "graph", title: "Graph", page: GraphTab },
  { id: "timeline", title: "Timeline", page: TimelineTab },
  { id: "travel", title: "Time travel", page: TravelTab },
  { id: "data", title: "Data", page: DataTab },
  { id: "logs", title: "Logs", page: LogsTab },
  { id: "evaluate", title: "Evaluate", page: EvaluateTab },
  { id: "compare", title: "Compare", page: CompareTab },
];

export default function ExecutionPage() {
  const { id = "", tab = "" } = useParams<{ id: string; tab?: string }>();
  const query = useShown(id);
  if (query.data) return <Execution key={id} shown={query.data} tab={tab} />;
  return (
    <div className="page">
      {query.isError ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Loading what="Opening the execution" />
      )}
    </div>
  );
}

function Execution({ shown, tab }: { shown: Shown; tab: string }) {
  const id = shown.execution_id;
  const [deed, setDeed] = useState<Deed | null>(null);
  const [, go] = useLocation();
  const search = useSearch();
  const listen = useLiveEvents(shown);
  const chosen = TABS.find((one) => one.id === tab) ?? (TABS[0] as (typeof TABS)[number]);
  // Comparing is a tab only while there is something to compare with.
  const tabs = TABS.filter((one) => one.id !== "compare" || tab === "compare");
  const choose = (next: string): void => go(executionAddress(id, next === "graph" ? "" : next, kept(search, next)));
  useCommands(
    useMemo(
      () =>
        TABS.slice(0, -1).map((one) => ({
          id: `tab ${one.id}`,
          title: `This execution: ${one.title}`,
          icon: "right" as const,
          run: () => go(executionAddress(id, one.id === "graph" ? "" : one.id)),
        })),
      [go, id],
    ),
  );
  const Chosen = chosen.page;
  return (
    <div className="page page-wide execution">
      <Head shown={shown} deed={deed} onDeed={setDeed} />
      <Tabs tabs={tabs} chosen={chosen.id} onChoose={choose} label="Views of the execution">
        <Suspense fallback={<Loading />}>
          <Chosen shown={shown} listen={listen} onDeed={setDeed} />
        </Suspense>
      </Tabs>
    </div>
  );
}

/** An event that a person looks at stays the same from tab to tab. */
function kept(search: string, tab: string): Record<string, string> {
  const seq = new URLSearchParams(search).get("seq");
  return seq && (tab === "travel" || tab === "evaluate") ? { seq } : {};
}

/** One stream for all tabs. */
function useLiveEvents(shown: Shown): TabProps["listen"] {
  const ears = useRef(new Set<Ear>());
  const hear = (events: ServerEvent[]): void => {
    const read = events.map((event) => JSON.parse(event.data) as EventDocument);
    for (const ear of ears.current) ear(read);
  };
  const [from] = useState(shown.events);
  useFollowed(shown, from, hear);
  return useCallback((ear: Ear) => {
    ears.current.add(ear);
    return () => {
      ears.current.delete(ear);
    };
  }, []);
}
