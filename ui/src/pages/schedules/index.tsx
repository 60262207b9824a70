/** Schedules and triggers: what starts playbooks without anybody asking. */
import "./schedules.css";
import { useMemo } from "react";
import { useMay } from "@/api/identity";
import { Button, Command, Page, Tabs, useCommands } from "@/parts";
import { DocumentEditor } from "./DocumentEditor";
import { KINDS } from "./documents";
import { usePlace } from "./place";
import { ScheduleDrawer } from "./ScheduleDrawer";
import { ScheduleList } from "./ScheduleList";
import { TriggerDrawer } from "./TriggerDrawer";
import { TriggerList } from "./TriggerList";

const TABS = [
  { id: "schedule", title: "Schedules" },
  { id: "trigger", title: "Triggers" },
];

export default function SchedulesPage() {
  const [place, go] = usePlace();
  const may = useMay()("author");
  const { kind, shown, edited } = place;
  const begin = (): void => go({ kind, edited: "" });
  useNewCommands(go);
  if (edited !== null) {
    return (
      <DocumentEditor
        key={`${kind} ${edited}`}
        kind={kind}
        name={edited}
        onDone={() => go({ kind })}
        onLeave={() => go({ kind })}
      />
    );
  }
  const close = (): void => go({ kind });
  const edit = (): void => go({ kind, edited: shown });
  return (
    <Page
      title="Schedules and triggers"
      name="Schedules and triggers"
      actions={
        <>
          <Command words={[kind, "list"]} />
          <Button look="main" icon="plus" may={may} onClick={begin}>
            New {kind}
          </Button>
        </>
      }
    >
      <Tabs
        tabs={TABS}
        chosen={kind}
        onChoose={(id) => go({ kind: id === "trigger" ? "trigger" : "schedule" })}
        label="What starts playbooks by itself"
      >
        {kind === "schedule" ? <ScheduleList onNew={begin} /> : <TriggerList onNew={begin} />}
      </Tabs>
      {shown && kind === "schedule" ? <ScheduleDrawer key={shown} name={shown} onClose={close} onEdit={edit} /> : null}
      {shown && kind === "trigger" ? <TriggerDrawer key={shown} name={shown} onClose={close} onEdit={edit} /> : null}
    </Page>
  );
}

function useNewCommands(go: ReturnType<typeof usePlace>[1]): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the way to go is the same whenever it is made
  const commands = useMemo(
    () =>
      (["schedule", "trigger"] as const).map((kind) => ({
        id: `new ${kind}`,
        title: `New ${KINDS[kind].title.toLowerCase()}`,
        icon: "plus" as const,
        run: () => go({ kind, edited: "" }),
      })),
    [],
  );
  useCommands(commands);
}
