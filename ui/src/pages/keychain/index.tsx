/** Keychain: names of credentials, what each is and who uses it. Never a value. */
import "./keychain.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { api } from "@/api/client";
import { type Permission, useIdentity, useMay } from "@/api/identity";
import { useBell } from "@/api/live";
import { Asked, Button, type Column, Command, CommandLine, Empty, format, Page, Section, Table, Time } from "@/parts";
import { type Missing, type Stored, setWords, variableOf } from "./credentials";
import { Details } from "./Details";
import { Store } from "./Store";
import { UsedBy } from "./UsedBy";

const COLUMNS: readonly Column<Stored>[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(8rem, 2fr)",
    cell: (row) => <span title={row.name}>{row.name}</span>,
  },
  { id: "kind", title: "Kind", width: "minmax(5rem, 1fr)", cell: (row) => row.kind },
  {
    id: "fields",
    title: "Fields",
    width: "minmax(6rem, 2fr)",
    isMinor: true,
    cell: (row) => <span className="mono">{row.fields.join(", ")}</span>,
  },
  { id: "version", title: "Version", width: "4.5rem", isMinor: true, cell: (row) => row.version },
  { id: "origin", title: "Origin", width: "6rem", isMinor: true, cell: (row) => row.origin },
  { id: "updated", title: "Updated", width: "5.5rem", isMinor: true, cell: (row) => <Time at={row.updated_at} /> },
  {
    id: "uses",
    title: "Used by",
    width: "minmax(6rem, 2fr)",
    cell: (row) => (row.uses ? <UsedBy row={row} most={2} /> : <span className="muted">none</span>),
  },
];

export default function KeychainPage() {
  const sees = useMay()("author");
  const may = useMayStore();
  const [isStoring, setStoring] = useState(false);
  const { isSuccess } = useIdentity();
  return (
    <Page
      title="Keychain"
      name="Keychain"
      lead="Credentials that playbooks use by name. Values go in and never come out."
      actions={
        <>
          <Command words={["keychain", "list"]} />
          <Button look="main" icon="plus" may={may} onClick={() => setStoring(true)}>
            Store a credential
          </Button>
        </>
      }
    >
      {sees.is ? (
        <Lists may={may} onStore={() => setStoring(true)} />
      ) : isSuccess ? (
        <Empty title="This token may not see the keychain" icon="key">
          Names of credentials are for those who write playbooks: {sees.reason}.
        </Empty>
      ) : null}
      {isStoring ? <Store name="" kind="bearer" isThere={false} may={may} onClose={() => setStoring(false)} /> : null}
    </Page>
  );
}

/** Credentials are everybody's: a token for some paths may not change them, whatever its role. */
function useMayStore(): Permission {
  const admin = useMay()("admin");
  const prefix = useIdentity().data?.path_prefix;
  if (!admin.is || !prefix) return admin;
  return { is: false, reason: `credentials are everybody’s, and this token is for ${prefix} alone` };
}

/** What a registered playbook declares counts here too. */
function useDeclared(): void {
  const client = useQueryClient();
  useBell(
    useCallback(
      (subject) => {
        if (subject === "catalog") void client.invalidateQueries({ queryKey: ["keychain"] });
      },
      [client],
    ),
  );
}

function Lists({ may, onStore }: { may: Permission; onStore: () => void }) {
  const search = useSearch();
  const [, go] = useLocation();
  const shown = new URLSearchParams(search).get("show");
  const query = useQuery({
    queryKey: ["keychain"],
    queryFn: ({ signal }) => api.get("/api/v1/keychain", { signal }),
  });
  useDeclared();
  return (
    <Asked query={query} what="Asking for names">
      {({ credentials, missing }) => {
        const one = credentials.find((row) => row.name === shown);
        return (
          <>
            <Section title="Stored" plain>
              <Table
                rows={credentials}
                columns={COLUMNS}
                keyOf={(row) => row.name}
                label="Stored credentials"
                rowHeight={44}
                href={(row) => `/keychain?${new URLSearchParams({ show: row.name })}`}
                empty={<Nothing may={may} onStore={onStore} />}
              />
            </Section>
            {missing.length ? <MissingOnes rows={missing} may={may} /> : null}
            {one ? <Details key={one.name} row={one} may={may} onClose={() => go("/keychain")} /> : null}
          </>
        );
      }}
    </Asked>
  );
}

function Nothing({ may, onStore }: { may: Permission; onStore: () => void }) {
  return (
    <Empty title="Nothing is stored" icon="key">
      <p>A playbook declares a name and a kind under keychain; the value is stored here, encrypted.</p>
      <p className="keychain-begin">
        <Button look="main" icon="plus" may={may} onClick={onStore}>
          Store a credential
        </Button>
        {may.is ? null : <span className="muted">{may.reason}</span>}
      </p>
      <CommandLine words={setWords("orders_api", "bearer")} />
    </Empty>
  );
}

/** Playbooks wait for these. */
function MissingOnes({ rows, may }: { rows: readonly Missing[]; may: Permission }) {
  const [stored, setStored] = useState<Missing | null>(null);
  return (
    <Section title={`Declared by playbooks and stored by nobody (${format.count(rows.length)})`} plain>
      <ul className="keychain-missing">
        {rows.map((row) => (
          <li key={row.name} className="card">
            <div className="keychain-missing-head">
              <h3>{row.name}</h3>
              <span className="muted">{row.kind}</span>
              <Button size="s" icon="plus" may={may} onClick={() => setStored(row)} aria-label={`Store ${row.name}`}>
                Store…
              </Button>
            </div>
            <p className="muted">
              {row.provider ? (
                <>
                  Its playbooks name the provider <code>{row.provider}</code>, which is asked instead.
                </>
              ) : (
                <>
                  Store it, or give <code>{variableOf(row.name)}</code> to whoever runs them.
                </>
              )}
            </p>
            <UsedBy row={row} most={5} />
            <Command words={setWords(row.name, row.kind)} />
          </li>
        ))}
      </ul>
      {stored ? (
        <Store name={stored.name} kind={stored.kind} isThere={false} may={may} onClose={() => setStored(null)} />
      ) : null}
    </Section>
  );
}
