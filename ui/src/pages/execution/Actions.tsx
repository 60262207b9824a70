/** What may be done with an execution. Every deed has its dialog, and shows itself as a command line there. */
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { api, ask } from "@/api/client";
import { useMay } from "@/api/identity";
import { Button, CommandLine, Dialog, Field, IS_LIVE, toast, useCommands } from "@/parts";
import { refresh, type Shown } from "./asking";
import { commandValue, typed } from "./values";

const RerunDialog = lazy(() => import("./RerunDialog"));

/** What was asked for; its dialog is open until it is done or closed. */
export type Deed =
  | { deed: "cancel" | "resume" | "signal" | "export" }
  | { deed: "rerun"; step?: string; at?: number; changed?: Record<string, unknown> };

interface DeedProps {
  shown: Shown;
  deed: Deed | null;
  onDeed: (deed: Deed | null) => void;
}

export function Actions({ shown, deed, onDeed }: DeedProps) {
  const may = useMay()("runner");
  const isLive = IS_LIVE.has(shown.status);
  const isResumable = shown.status === "incident" || shown.status === "waiting" || shown.status === "running";
  const close = (): void => onDeed(null);
  useCommands(
    useMemo(
      () => [
        { id: "rerun", title: "Rerun this execution…", icon: "retry" as const, run: () => onDeed({ deed: "rerun" }) },
        {
          id: "export",
          title: "Export this execution",
          icon: "download" as const,
          run: () => onDeed({ deed: "export" }),
        },
        ...(isLive
          ? [
              {
                id: "cancel",
                title: "Cancel this execution…",
                icon: "stop" as const,
                run: () => onDeed({ deed: "cancel" }),
              },
            ]
          : []),
      ],
      [isLive, onDeed],
    ),
  );
  return (
    <div className="execution-actions">
      {isLive ? (
        <>
          <Button icon="stop" look="danger" may={may} onClick={() => onDeed({ deed: "cancel" })}>
            Cancel…
          </Button>
          <Button icon="edit" may={may} onClick={() => onDeed({ deed: "signal" })}>
            Signal…
          </Button>
        </>
      ) : null}
      {isResumable ? (
        <Button icon="run" may={may} onClick={() => onDeed({ deed: "resume" })}>
          Resume…
        </Button>
      ) : null}
      <Button icon="retry" may={may} onClick={() => onDeed({ deed: "rerun" })}>
        Rerun…
      </Button>
      <Button
        icon="fork"
        may={may}
        onClick={() => onDeed({ deed: "rerun", at: Math.max(3, shown.events - 2) })}
        title="A new execution that keeps what happened up to an event"
      >
        Fork…
      </Button>
      <Button icon="download" onClick={() => onDeed({ deed: "export" })}>
        Export…
      </Button>
      {deed?.deed === "cancel" ? <CancelDialog shown={shown} onClose={close} /> : null}
      {deed?.deed === "resume" ? <ResumeDialog shown={shown} onClose={close} /> : null}
      {deed?.deed === "signal" ? <SignalDialog shown={shown} onClose={close} /> : null}
      {deed?.deed === "export" ? <ExportDialog shown={shown} onClose={close} /> : null}
      {deed?.deed === "rerun" ? (
        <Suspense fallback={null}>
          <RerunDialog shown={shown} deed={deed} onClose={close} />
        </Suspense>
      ) : null}
    </div>
  );
}

interface One {
  shown: Shown;
  onClose: () => void;
}

/** Does a deed: busy meanwhile, said afterwards, and the execution asked for again. */
function useDeed({ shown, onClose }: One): [boolean, (deed: () => Promise<unknown>, said: string) => void] {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const run = async (deed: () => Promise<unknown>, said: string): Promise<void> => {
    setBusy(true);
    try {
      await deed();
      toast(said);
      onClose();
    } catch (error) {
      toast.failed(error);
    } finally {
      setBusy(false);
      refresh(client, shown.execution_id);
    }
  };
  return [isBusy, (deed, said) => void run(deed, said)];
}

function CancelDialog(props: One) {
  const { shown, onClose } = props;
  const id = shown.execution_id;
  const may = useMay()("runner");
  const [reason, setReason] = useState("");
  const [isBusy, run] = useDeed(props);
  const cancel = (): void =>
    run(
      () => api.post("/api/v1/executions/{execution_id}/cancel", { path: { execution_id: id }, body: { reason } }),
      `Cancelled ${id}`,
    );
  return (
    <Dialog
      title={`Cancel execution ${id}?`}
      isOpen
      onClose={onClose}
      onSubmit={cancel}
      actions={
        <>
          <Button onClick={onClose}>Let it run</Button>
          <Button look="danger" icon="stop" type="submit" may={may} busy={isBusy}>
            Cancel the execution
          </Button>
        </>
      }
    >
      <p>
        Nothing new starts, tasks under way are stopped. What was done stays in its log, and can be rerun from there.
      </p>
      <Field label="Reason" id="cancel-reason" hint="Optional; it stands in the log.">
        <input id="cancel-reason" value={reason} maxLength={1000} onChange={(event) => setReason(event.target.value)} />
      </Field>
      <CommandLine words={["cancel", id, ...(reason ? ["--reason", reason] : [])]} />
    </Dialog>
  );
}

function ResumeDialog(props: One) {
  const { shown, onClose } = props;
  const id = shown.execution_id;
  const may = useMay()("runner");
  const [isBusy, run] = useDeed(props);
  const resume = (): void =>
    run(
      () => api.post("/api/v1/executions/{execution_id}/resume", { path: { execution_id: id }, body: {} }),
      `Resumed ${id}`,
    );
  return (
    <Dialog
      title={`Resume execution ${id}`}
      isOpen
      onClose={onClose}
      onSubmit={resume}
      actions={
        <Button look="main" icon="run" type="submit" may={may} busy={isBusy}>
          Resume
        </Button>
      }
    >
      <p>
        It goes on where its log ends: after an incident whose cause is gone, or when nobody seems to work on it. What
        was done is not done again.
      </p>
      <CommandLine words={["resume", id]} />
    </Dialog>
  );
}

function SignalDialog(props: One) {
  const { shown, onClose } = props;
  const id = shown.execution_id;
  const may = useMay()("runner");
  const [name, setName] = useState("");
  const [text, setText] = useState("true");
  const [isBusy, run] = useDeed(props);
  const path = name.startsWith("ctx.") ? name : `ctx.${name}`;
  const isReady = /^ctx\.[^.\s]+(\.[^.\s]+)*$/.test(path);
  const waiting = shown.waiting as unknown as { step: string }[];
  const signal = (): void => {
    if (!isReady) return;
    run(
      () =>
        api.post("/api/v1/executions/{execution_id}/signal", {
          path: { execution_id: id },
          body: { set: { [path]: typed(text) } },
        }),
      `Wrote ${path}`,
    );
  };
  return (
    <Dialog
      title={`Signal execution ${id}`}
      isOpen
      onClose={onClose}
      onSubmit={signal}
      actions={
        <Button look="main" type="submit" may={may} busy={isBusy} disabled={!isReady}>
          Write it
        </Button>
      }
    >
      <p>
        Writes a value to ctx; steps that wait ask their rules again
        {waiting.length ? ` (${waiting.map((one) => one.step).join(", ")})` : ""}.
      </p>
      <div className="execution-pair">
        <Field label="Name in ctx" id="signal-name" hint="approved, or order.approved">
          <input id="signal-name" value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" />
        </Field>
        <Field label="Value" id="signal-value" hint="JSON; what is not JSON is text">
          <input id="signal-value" value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
        </Field>
      </div>
      <CommandLine words={["signal", id, "--set", `${isReady ? path : "ctx.NAME"}=${commandValue(typed(text))}`]} />
    </Dialog>
  );
}

function ExportDialog(props: One) {
  const { shown, onClose } = props;
  const id = shown.execution_id;
  const [isBusy, run] = useDeed(props);
  const name = `${shown.path.split("/").at(-1) ?? "execution"}-${id}.noetl`;
  const download = (): void =>
    run(async () => {
      const answer = await ask("GET", `/api/v1/executions/${id}/export`);
      save(await answer.blob(), name);
    }, `Exported ${name}`);
  return (
    <Dialog
      title={`Export execution ${id}`}
      isOpen
      onClose={onClose}
      onSubmit={download}
      actions={
        <Button look="main" icon="download" type="submit" busy={isBusy}>
          Download {name}
        </Button>
      }
    >
      <p>
        Its row, its playbooks and its whole log as one file. Dropped on <em>Open file…</em> of any server, it can be
        looked at there with all these views; large results that are kept elsewhere do not come along.
      </p>
      <CommandLine words={["export", id, "-o", name]} />
    </Dialog>
  );
}

/** Hands a file to the person. */
export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
