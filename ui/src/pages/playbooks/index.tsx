/** Playbooks: a line for each path, with its last runs as bars. */
import "./playbooks.css";
import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useEffect, useMemo, useRef } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { useBell } from "@/api/live";
import {
  Asked,
  Button,
  ButtonLink,
  Command,
  CommandLine,
  Empty,
  Icon,
  Page,
  Status,
  Time,
  useCommands,
  useShortcut,
} from "@/parts";
import { executionsAddress, playbookAddress } from "@/routes";
import { useNewPlaybook } from "./NewPlaybook";
import { RunBars } from "./RunBars";

const RUNS = 20;
const TOGETHER_MS = 1000; // runs that begin or end within this long are asked about once
type Recent = Schemas["RecentRow"];

export default function PlaybooksPage() {
  const [typed, setTyped] = useSearched();
  const asked = useDeferredValue(typed.trim());
  const may = useMay()("author");
  const { open, dialog } = useNewPlaybook();
  const query = useInfiniteQuery({
    queryKey: ["catalog", "recent", asked],
    queryFn: ({ pageParam, signal }) =>
      api.get("/api/v1/catalog/recent", {
        query: { q: asked || undefined, runs: RUNS, cursor: pageParam || undefined },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  useRunsToo();
  useCommands(useMemo(() => [{ id: "new playbook", title: "New playbook", icon: "plus" as const, run: open }], [open]));
  const rows = query.data?.pages.flatMap((page) => page.playbooks) ?? [];
  const isBare = !asked && query.isSuccess && rows.length === 0;
  return (
    <Page
      title="Playbooks"
      name="Playbooks"
      actions={
        <>
          <Command words={["catalog", "list"]} />
          <Button look="main" icon="plus" may={may} onClick={open}>
            New playbook
          </Button>
        </>
      }
    >
      {isBare ? null : <SearchField value={typed} onChange={setTyped} />}
      <Asked query={query} what="Asking for playbooks">
        {() => (rows.length ? <List rows={rows} /> : <Nothing asked={asked} onNew={open} onAll={() => setTyped("")} />)}
      </Asked>
      {query.hasNextPage ? (
        <div className="playbooks-more">
          <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            More playbooks
          </Button>
        </div>
      ) : null}
      {dialog}
    </Page>
  );
}

/** The bell of executions counts here too: their bars are on the page. */
function useRunsToo(): void {
  const client = useQueryClient();
  const timer = useRef<number | undefined>(undefined);
  useBell(
    useCallback(
      (subject) => {
        if (subject !== "executions") return;
        timer.current ??= window.setTimeout(() => {
          timer.current = undefined;
          void client.invalidateQueries({ queryKey: ["catalog", "recent"] });
        }, TOGETHER_MS);
      },
      [client],
    ),
  );
  useEffect(() => () => window.clearTimeout(timer.current), []);
}

/** What is searched for; the address keeps it. */
function useSearched(): [string, (text: string) => void] {
  const search = useSearch();
  const [, go] = useLocation();
  const typed = new URLSearchParams(search).get("q") ?? "";
  const set = (text: string): void =>
    go(text ? `/playbooks?${new URLSearchParams({ q: text })}` : "/playbooks", { replace: true });
  return [typed, set];
}

function SearchField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  useShortcut("/", "Search playbooks", () => field.current?.focus());
  return (
    <div className="playbooks-search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label="Search playbooks by path"
        placeholder="Search by path"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

function List({ rows }: { rows: readonly Recent[] }) {
  return (
    <ul className="playbooks-list" aria-label="Playbooks by path">
      {rows.map((row) => (
        <li key={row.path} className="playbooks-one">
          <div className="playbooks-name">
            <Link href={playbookAddress(row.path)} className="playbooks-path">
              {row.path}
            </Link>
            <span className="muted playbooks-facts">
              version {row.version} · <Time at={row.created_at} />
            </span>
          </div>
          <RunBars runs={row.runs} label={row.path} />
          <Last row={row} />
          <ButtonLink href={playbookAddress(row.path, "run")} icon="run">
            Run
          </ButtonLink>
        </li>
      ))}
    </ul>
  );
}

function Last({ row }: { row: Recent }) {
  const [last] = row.runs;
  if (!last) return <span className="playbooks-last" />;
  return (
    <Link
      className="playbooks-last"
      href={executionsAddress({ path: row.path })}
      title={`All executions of ${row.path}`}
    >
      <Status status={last.status} plain />
      <Time at={last.created_at} />
    </Link>
  );
}

function Nothing({ asked, onNew, onAll }: { asked: string; onNew: () => void; onAll: () => void }) {
  const may = useMay()("author");
  if (asked) {
    return (
      <Empty title={`No path has “${asked}” in it`} icon="search">
        <Button onClick={onAll}>Show all playbooks</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No playbook is registered yet" icon="playbook">
      <p>Write one here, or register a file that you have.</p>
      <p className="playbooks-begin">
        <Button look="main" icon="plus" may={may} onClick={onNew}>
          New playbook
        </Button>
      </p>
      <CommandLine words={["catalog", "register", "FILE.yaml"]} />
    </Empty>
  );
}
