import { useMay } from "@/api/identity";
import { Button, CommandLine, Empty } from "@/parts";
import { type Kind, starterOf } from "./documents";

const SAYS = {
  schedule: {
    title: "No schedule is there yet",
    text: "A schedule starts a playbook of the catalog by itself, by cron or every so often. This one would:",
  },
  trigger: {
    title: "No trigger is there yet",
    text: "A trigger starts a playbook of the catalog when a request or a message comes. This one would:",
  },
};

/** The first visit: a document to start from. */
export function Nothing({ kind, onNew }: { kind: Kind; onNew: () => void }) {
  const may = useMay()("author");
  return (
    <Empty title={SAYS[kind].title} icon={kind === "schedule" ? "clock" : "external"}>
      <p>{SAYS[kind].text}</p>
      <pre className="schedules-sample">{starterOf(kind, "reports/daily")}</pre>
      <p className="schedules-begin">
        <Button look="main" icon="plus" may={may} onClick={onNew}>
          Begin with it
        </Button>
        {may.is ? null : <span className="muted">{may.reason}</span>}
      </p>
      <CommandLine words={[kind, "apply", `${kind}s.yaml`]} />
    </Empty>
  );
}
