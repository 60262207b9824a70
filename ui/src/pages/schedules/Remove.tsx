import { useMay } from "@/api/identity";
import { Button, CommandLine, Dialog, Failure } from "@/parts";
import { useRemoving } from "./deeds";
import type { Kind } from "./documents";

/** Asks before a schedule or trigger goes. */
export function Remove(props: { kind: Kind; name: string; onClose: () => void; onDone: () => void }) {
  const { kind, name, onClose } = props;
  const may = useMay()("author");
  const removing = useRemoving(kind, props.onDone);
  return (
    <Dialog
      title={`Remove ${name}?`}
      isOpen
      onClose={onClose}
      onSubmit={() => may.is && !removing.isPending && removing.mutate(name)}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="danger" type="submit" may={may} busy={removing.isPending}>
            Remove {name}
          </Button>
        </>
      }
    >
      <p>It starts nothing any more, and its counts go with it. What it started goes on, and stays in the list.</p>
      <CommandLine words={[kind, "remove", name]} />
      {removing.isError ? <Failure error={removing.error} /> : null}
    </Dialog>
  );
}
