/** One credential: all that anybody ever sees of it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import type { Permission } from "@/api/identity";
import {
  Button,
  Command,
  CommandLine,
  Dialog,
  Drawer,
  Facts,
  Failure,
  format,
  Icon,
  Section,
  Time,
  toast,
} from "@/parts";
import { proofWords, type Stored, setWords } from "./credentials";
import { Store } from "./Store";
import { UsedBy } from "./UsedBy";

interface Props {
  row: Stored;
  may: Permission;
  onClose: () => void;
}

export function Details({ row, may, onClose }: Props) {
  const [doing, setDoing] = useState<"" | "replace" | "remove">("");
  if (doing === "replace") {
    return <Store name={row.name} kind={row.kind} isThere may={may} onClose={() => setDoing("")} onDone={onClose} />;
  }
  if (doing === "remove") return <Remove row={row} may={may} onClose={() => setDoing("")} onDone={onClose} />;
  return (
    <Drawer
      title={row.name}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button look="danger" icon="cross" may={may} onClick={() => setDoing("remove")}>
            Remove…
          </Button>
          <Button icon="edit" may={may} onClick={() => setDoing("replace")}>
            Replace values…
          </Button>
        </>
      }
    >
      <Facts
        facts={[
          ["Kind", row.kind],
          [
            "Fields",
            <span key="fields" className="mono">
              {row.fields.join(", ")}
            </span>,
          ],
          ["Version", format.count(row.version)],
          ["Origin", row.origin],
          ["Stored first", <Time key="created" at={row.created_at} />],
          ["Updated", <Time key="updated" at={row.updated_at} />],
        ]}
      />
      <p className="muted">Its values are kept encrypted and are shown to nobody.</p>
      <Proof row={row} may={may} />
      <Section title={`Used by ${format.plural(row.uses, "playbook")}`} plain>
        {row.uses ? <UsedBy row={row} /> : <p className="muted">No playbook of the catalog declares it.</p>}
      </Section>
      <Section title="As command lines" plain>
        <div className="keychain-commands">
          <Command words={setWords(row.name, row.kind)} label="Replace" />
          <Command words={["keychain", "test", row.name]} label="Test" />
          <Command words={["keychain", "remove", row.name]} label="Remove" />
        </div>
      </Section>
    </Drawer>
  );
}

/** Whether it works: it is read and, where that can be done, used to sign in. */
function Proof({ row, may }: { row: Stored; may: Permission }) {
  const proving = useMutation({
    mutationFn: () =>
      api.post("/api/v1/keychain/{credential}/test", {
        path: { credential: row.name },
        body: { is_connecting: true },
      }),
  });
  const proof = proving.data;
  return (
    <Section
      title="Does it work?"
      plain
      actions={
        <Button size="s" icon="check" may={may} busy={proving.isPending} onClick={() => proving.mutate()}>
          Test it
        </Button>
      }
    >
      {proof ? (
        <p className={`keychain-proof tone-${proof.is_ok ? "ok" : "bad"}`} role="status">
          <Icon name={proof.is_ok ? "check" : "alert"} /> {proofWords(proof)}
        </p>
      ) : proving.isError ? (
        <Failure error={proving.error} />
      ) : (
        <p className="muted">The server reads it and, if that can be done, signs in to the service that it is for.</p>
      )}
    </Section>
  );
}

function Remove({ row, may, onClose, onDone }: Props & { onDone: () => void }) {
  const client = useQueryClient();
  const removing = useMutation({
    mutationFn: () => api.delete("/api/v1/keychain/{credential}", { path: { credential: row.name } }),
    onSuccess: () => {
      toast(`${row.name} was removed`);
      void client.invalidateQueries({ queryKey: ["keychain"] });
      onDone();
    },
  });
  return (
    <Dialog
      title={`Remove ${row.name}?`}
      isOpen
      onClose={onClose}
      onSubmit={() => may.is && !removing.isPending && removing.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="danger" type="submit" may={may} busy={removing.isPending}>
            Remove {row.name}
          </Button>
        </>
      }
    >
      <p>Nothing of it remains to be read. It cannot be brought back, only stored again by who has its values.</p>
      {row.uses ? (
        <>
          <p>
            <strong>{format.plural(row.uses, "playbook")} will fail without it:</strong>
          </p>
          <UsedBy row={row} />
        </>
      ) : null}
      <CommandLine words={["keychain", "remove", row.name]} />
      {removing.isError ? <Failure error={removing.error} /> : null}
    </Dialog>
  );
}
