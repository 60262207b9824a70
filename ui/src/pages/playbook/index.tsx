/** One playbook: its text, the run form, its versions. The tab is kept in the address. */
import "./playbook.css";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { Link, useLocation, useParams, useSearch } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useIdentity, useMay } from "@/api/identity";
import { Problem } from "@/api/problem";
import { Button, ButtonLink, Empty, Failure, Icon, Loading, Page, Tabs, Time, useCommands } from "@/parts";
import { executionsAddress, playbookAddress } from "@/routes";
import { starterText } from "../playbooks/starter";
import { useDraft } from "./drafts";
import { RunTab } from "./RunTab";
import { TextTab } from "./TextTab";
import { VersionsTab } from "./VersionsTab";

type Entry = Schemas["CatalogText"];

export default function PlaybookPage() {
  const { path: given = "" } = useParams<{ path: string }>();
  const path = given.includes("%") ? decoded(given) : given;
  return <Playbook key={path} path={path} />;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function Playbook({ path }: { path: string }) {
  const isNew = new URLSearchParams(useSearch()).has("new");
  const { isPending: isNobody } = useIdentity();
  const query = useQuery({
    queryKey: ["catalog", "playbook", path],
    queryFn: async ({ signal }): Promise<Entry | null> => {
      if (isNew) {
        const found = await api.get("/api/v1/catalog", { query: { path, limit: 1 }, signal });
        if (!found.playbooks.length) return null;
      }
      try {
        return await api.get("/api/v1/catalog/playbook", { query: { path }, signal });
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return null;
        throw error;
      }
    },
  });
  if (query.data === undefined || isNobody) {
    return (
      <Page title={path} name={path}>
        {query.isError ? (
          <Failure error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading what="Asking for the playbook" />
        )}
      </Page>
    );
  }
  if (query.data === null && !isNew) return <Unknown path={path} />;
  return <Known path={path} entry={query.data} />;
}

function Unknown({ path }: { path: string }) {
  const may = useMay()("author");
  const [, go] = useLocation();
  return (
    <Page title={path} name={path}>
      <Empty title="No playbook is registered here" icon="playbook">
        <p>
          None is called <code>{path}</code>, or this token does not see it.
        </p>
        <p className="playbook-ways">
          <Button look="main" icon="plus" may={may} onClick={() => go(`${playbookAddress(path)}?new`)}>
            Write it
          </Button>
          <ButtonLink href="/playbooks">All playbooks</ButtonLink>
        </p>
      </Empty>
    </Page>
  );
}

const TABS = ["", "run", "versions"] as const;

function Known({ path, entry }: { path: string; entry: Entry | null }) {
  const { tab = "" } = useParams<{ tab?: string }>();
  const [, go] = useLocation();
  const author = useMay()("author");
  const original = useMemo(() => entry?.text.replaceAll("\r\n", "\n") ?? starterText(path), [entry, path]);
  const draft = useDraft(path, original, entry?.version ?? null);
  const chosen = entry && (TABS as readonly string[]).includes(tab) ? tab : "";
  const wasOpened = useRef(false);
  wasOpened.current ||= chosen === "";
  useCommands(useMemo(() => (entry ? tabCommands(path, go) : []), [path, go, entry]));
  const tabs = [
    { id: "", title: author.is ? "Write" : "Text" },
    ...(entry
      ? [
          { id: "run", title: "Run" },
          { id: "versions", title: "Versions" },
        ]
      : []),
  ];
  return (
    <Page
      title={path}
      name={path}
      wide
      lead={<Lead path={path} entry={entry} />}
      actions={
        entry && chosen !== "run" ? (
          <ButtonLink href={playbookAddress(path, "run")} icon="run">
            Run…
          </ButtonLink>
        ) : undefined
      }
    >
      <Tabs tabs={tabs} chosen={chosen} onChoose={(id) => go(playbookAddress(path, id))} label={`Parts of ${path}`}>
        {/* Once it was opened, the text stays while another tab is looked at: with its cursor, and what could be undone. */}
        {wasOpened.current ? (
          <div hidden={chosen !== ""}>
            <TextTab path={path} entry={entry} draft={draft} may={author} />
          </div>
        ) : null}
        {entry && chosen === "run" ? <RunTab path={path} version={entry.version} isDirty={draft.isDirty} /> : null}
        {entry && chosen === "versions" ? (
          <VersionsTab
            path={path}
            may={author}
            onTake={(text) => {
              draft.set(text.replaceAll("\r\n", "\n"));
              go(playbookAddress(path));
            }}
          />
        ) : null}
      </Tabs>
    </Page>
  );
}

function tabCommands(path: string, go: (to: string) => void) {
  const words = { "": "Its text", run: "Run it", versions: "Its versions" };
  return TABS.map((tab) => ({
    id: `playbook ${tab}`,
    title: words[tab],
    hint: path,
    run: () => go(playbookAddress(path, tab)),
  }));
}

function Lead({ path, entry }: { path: string; entry: Entry | null }) {
  if (!entry) {
    return (
      <span className="playbook-new">
        <Icon name="edit" /> Not registered yet: write it, then register it.
      </span>
    );
  }
  return (
    <>
      <span>version {entry.version}</span>
      <span>
        registered <Time at={entry.created_at} />
      </span>
      <Link href={executionsAddress({ path })}>Executions</Link>
    </>
  );
}
