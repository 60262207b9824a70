/** The versions of a playbook, and what differs between two of them. Which two is kept in the address. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { api, type Schemas } from "@/api/client";
import type { Permission } from "@/api/identity";
import { Asked, Button, Command, Copy, Drawer, Empty, Section, Time } from "@/parts";
import { playbookAddress } from "@/routes";
import { DiffView } from "./DiffView";

interface Props {
  path: string;
  may: Permission;
  /** Takes a text into the editor. */
  onTake: (text: string) => void;
}

type Row = Schemas["CatalogRow"];

export function VersionsTab({ path, may, onTake }: Props) {
  const query = useQuery({
    queryKey: ["catalog", "versions", path],
    queryFn: ({ signal }) => api.get("/api/v1/catalog/versions", { query: { path }, signal }),
  });
  return (
    <Asked query={query}>{(page) => <Versions rows={page.playbooks} path={path} may={may} onTake={onTake} />}</Asked>
  );
}

function Versions({ rows, path, may, onTake }: Props & { rows: readonly Row[] }) {
  const [two, setTwo] = useTwo(path, rows);
  const [shown, setShown] = useState<number | null>(null);
  return (
    <div className="playbook-versions">
      <Section title="Versions" actions={<Command words={["catalog", "list"]} />}>
        <ol className="playbook-version-list">
          {rows.map((row) => (
            <li key={row.version} aria-current={two?.[1] === row.version || undefined}>
              <span className="playbook-version">
                <strong>version {row.version}</strong>
                <span className="muted">
                  <Time at={row.created_at} /> · <code title={row.sha}>{row.sha.slice(0, 8)}</code>
                </span>
              </span>
              <Button size="s" look="quiet" onClick={() => setShown(row.version)}>
                Text
              </Button>
              {rows.some((one) => one.version === row.version - 1) ? (
                <Button size="s" look="quiet" onClick={() => setTwo(row.version - 1, row.version)}>
                  Changes
                </Button>
              ) : (
                <span className="muted playbook-first">the first</span>
              )}
            </li>
          ))}
        </ol>
      </Section>
      {two ? (
        <Difference path={path} rows={rows} two={two} onTwo={setTwo} />
      ) : (
        <Empty title="There is one version" icon="playbook">
          When the text is changed and registered, what differs shows here.
        </Empty>
      )}
      {shown !== null ? (
        <VersionText path={path} version={shown} may={may} onTake={onTake} onClose={() => setShown(null)} />
      ) : null}
    </div>
  );
}

/** The two versions of the address; else the newest and the one before. */
function useTwo(path: string, rows: readonly Row[]) {
  const asked = new URLSearchParams(useSearch());
  const [, go] = useLocation();
  const has = (version: number): boolean => rows.some((row) => row.version === version);
  const [old, fresh] = [Number(asked.get("old")), Number(asked.get("new"))];
  const two: [number, number] | null =
    has(old) && has(fresh) ? [old, fresh] : rows[0] && rows[1] ? [rows[1].version, rows[0].version] : null;
  const set = (left: number, right: number): void =>
    go(`${playbookAddress(path, "versions")}?old=${left}&new=${right}`, { replace: true });
  return [two, set] as const;
}

function Difference(props: {
  path: string;
  rows: readonly Row[];
  two: [number, number];
  onTwo: (old: number, fresh: number) => void;
}) {
  const { path, rows, onTwo } = props;
  const [old, fresh] = props.two;
  const query = useQuery({
    queryKey: ["difference", path, old, fresh], // versions never change: asked once
    queryFn: ({ signal }) => api.get("/api/v1/catalog/diff", { query: { path, old, new: fresh }, signal }),
  });
  return (
    <Section
      title="What differs"
      actions={
        <div className="playbook-two">
          <VersionField label="from" rows={rows} value={old} onChange={(version) => onTwo(version, fresh)} />
          <VersionField label="to" rows={rows} value={fresh} onChange={(version) => onTwo(old, version)} />
        </div>
      }
    >
      <Asked query={query}>{(data) => <DiffView diff={data.diff} old={old} fresh={fresh} />}</Asked>
    </Section>
  );
}

function VersionField(props: {
  label: string;
  rows: readonly Row[];
  value: number;
  onChange: (version: number) => void;
}) {
  const id = useId();
  return (
    <span className="playbook-select">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(Number(event.target.value))}>
        {props.rows.map((row) => (
          <option key={row.version} value={row.version}>
            version {row.version}
          </option>
        ))}
      </select>
    </span>
  );
}

function VersionText(props: Props & { version: number; onClose: () => void }) {
  const { path, version, may, onTake, onClose } = props;
  const query = useQuery({
    queryKey: ["text of a version", path, version],
    queryFn: ({ signal }) => api.get("/api/v1/catalog/playbook", { query: { path, version }, signal }),
  });
  return (
    <Drawer
      title={`${path}@${version}`}
      isOpen
      wide
      onClose={onClose}
      actions={
        <>
          {query.data ? <Copy text={query.data.text} label="Copy the text" /> : null}
          <Command words={["catalog", "show", `${path}@${version}`]} />
          <Button
            look="main"
            may={may}
            onClick={() => {
              if (query.data) onTake(query.data.text);
              onClose();
            }}
          >
            Take into the editor
          </Button>
        </>
      }
    >
      <Asked query={query}>{(data) => <pre className="playbook-old-text">{data.text}</pre>}</Asked>
    </Drawer>
  );
}
