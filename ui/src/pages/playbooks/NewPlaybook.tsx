/** Asks for the path of a new playbook, then leads to its page, where it is written. Nothing is kept before it is registered. */
import { type ReactNode, useCallback, useId, useState } from "react";
import { useLocation } from "wouter";
import { useIdentity } from "@/api/identity";
import { Button, CommandLine, Dialog, Field } from "@/parts";
import { playbookAddress } from "@/routes";
import { faultOfPath } from "./starter";

export function newAddress(path: string): string {
  return `${playbookAddress(path)}?new`;
}

export function useNewPlaybook(): { open: () => void; dialog: ReactNode } {
  const [isOpen, setOpen] = useState(false);
  const open = useCallback(() => setOpen(true), []);
  return { open, dialog: isOpen ? <NewPlaybook onClose={() => setOpen(false)} /> : null };
}

function NewPlaybook({ onClose }: { onClose: () => void }) {
  const { data: identity } = useIdentity();
  const [path, setPath] = useState(identity?.path_prefix ? `${identity.path_prefix.replace(/\/$/, "")}/` : "");
  const [isTried, setTried] = useState(false);
  const [, go] = useLocation();
  const id = useId();
  const fault = faultOfPath(path);
  const begin = (): void => {
    setTried(true);
    if (fault) return;
    onClose();
    go(newAddress(path));
  };
  return (
    <Dialog
      title="New playbook"
      isOpen
      onClose={onClose}
      onSubmit={begin}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit">
            Write it
          </Button>
        </>
      }
    >
      <Field
        label="Path"
        id={id}
        hint="Where the catalog keeps it: words between slashes, as reports/daily. The text can change it later."
        error={isTried && fault ? fault : undefined}
      >
        <input
          id={id}
          autoFocus
          value={path}
          placeholder="reports/daily"
          spellCheck={false}
          autoCapitalize="off"
          onChange={(event) => setPath(event.target.value.trim())}
        />
      </Field>
      <p className="muted">Have a file already?</p>
      <CommandLine words={["catalog", "register", "FILE.yaml"]} />
    </Dialog>
  );
}
