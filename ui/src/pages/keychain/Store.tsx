/** Stores a credential. A value is read out of its field once, when it is sent, and the field is emptied at once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import { api } from "@/api/client";
import type { Permission } from "@/api/identity";
import { Button, CommandLine, Dialog, Failure, Field, toast } from "@/parts";
import { type Asked, faultOfName, fieldsOf, KINDS, kindNamed, setWords } from "./credentials";

interface Props {
  name: string;
  kind: string;
  /** It is there already: its name and kind stay. */
  isThere: boolean;
  may: Permission;
  onClose: () => void;
  /** It is stored; as onClose where that is not given. */
  onDone?: () => void;
}

export function Store(props: Props) {
  const { isThere, may, onClose } = props;
  const [name, setName] = useState(props.name);
  const [kindName, setKind] = useState(kindNamed(props.kind).kind);
  const [way, setWay] = useState(0);
  const [fault, setFault] = useState("");
  const fields = useRef<HTMLDivElement>(null);
  const kind = kindNamed(kindName);
  const keeping = useKeeping(props.onDone ?? onClose);
  const id = useId();
  const submit = async (): Promise<void> => {
    if (!may.is || keeping.isPending) return;
    const taken = await takeValues(fields.current);
    const short = fieldsOf(kind, way).filter((one) => one.isNeeded && !(one.name in taken));
    const wrong =
      faultOfName(name) || (short.length ? `Still needed: ${short.map((one) => one.name).join(", ")}.` : "");
    setFault(wrong ? `${wrong} Secret fields were emptied: give them again.` : "");
    if (!wrong) keeping.mutate({ name, kind: kindName, fields: taken });
  };
  return (
    <Dialog
      title={isThere ? `Replace the values of ${props.name}` : "Store a credential"}
      isOpen
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" may={may} busy={keeping.isPending}>
            Store it, encrypted
          </Button>
        </>
      }
    >
      <p className="muted">
        Values go to the server once, are kept there encrypted, and are never shown to anybody, here or elsewhere.
      </p>
      <Field label="Name" id={`${id}-name`} hint="As playbooks declare it under keychain.">
        <input
          id={`${id}-name`}
          value={name}
          readOnly={isThere}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="Kind" id={`${id}-kind`}>
        <select
          id={`${id}-kind`}
          value={kindName}
          onChange={(event) => {
            setKind(event.target.value);
            setWay(0);
          }}
        >
          {KINDS.map((one) => (
            <option key={one.kind}>{one.kind}</option>
          ))}
        </select>
      </Field>
      {kind.needs.length > 1 ? (
        <fieldset className="switch" aria-label="How it is given">
          {kind.needs.map((needed, at) => (
            <button type="button" key={needed.join()} aria-pressed={way === at} onClick={() => setWay(at)}>
              {needed.length > 1 ? "by its parts" : `as ${needed[0]}`}
            </button>
          ))}
        </fieldset>
      ) : null}
      <div className="keychain-fields" ref={fields} key={`${kindName} ${way}`}>
        {fieldsOf(kind, way).map((one) => (
          <Value key={one.name} id={`${id}-${one.name}`} asked={one} />
        ))}
      </div>
      {fault ? (
        <p className="field-error" role="alert">
          {fault}
        </p>
      ) : null}
      {keeping.isError ? <Failure error={keeping.error} title="It was not stored" /> : null}
      <p className="muted">
        On the command line each field is asked for unseen{kind.is_open ? ", and further ones with --field NAME=-" : ""}
        :
      </p>
      <CommandLine words={setWords(name || "NAME", kindName)} />
    </Dialog>
  );
}

function Value({ id, asked }: { id: string; asked: Asked }) {
  const label = (
    <>
      {asked.name} {asked.isNeeded ? null : <span className="muted">(may be left out)</span>}
    </>
  );
  const type = asked.isFile ? "file" : asked.isSecret ? "password" : "text";
  return (
    <Field label={label} id={id} hint={asked.isFile ? "The file that holds it." : undefined}>
      <input
        id={id}
        name={asked.name}
        type={type}
        autoComplete={asked.isSecret ? "new-password" : "off"}
        spellCheck={false}
        data-secret={asked.isSecret || undefined}
      />
    </Field>
  );
}

/** What was given, by field. Secret fields are empty from then on, whatever becomes of it. */
async function takeValues(place: HTMLElement | null): Promise<Record<string, unknown>> {
  const taken: Record<string, unknown> = {};
  for (const field of place?.querySelectorAll("input") ?? []) {
    const file = field.files?.[0];
    const text = field.type === "file" ? "" : field.value;
    if (field.dataset.secret) field.value = "";
    const value = file ? await file.text() : text;
    if (value) taken[field.name] = field.name === "params" ? structured(value) : value;
  }
  return taken;
}

/** A mapping where the text is one. */
function structured(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function useKeeping(onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, kind, fields }: { name: string; kind: string; fields: Record<string, unknown> }) =>
      api.put("/api/v1/keychain/{credential}", { path: { credential: name }, body: { kind, fields } }),
    gcTime: 0, // what was sent is forgotten with the form
    onSuccess: (row) => {
      toast(`${row.name} is stored, as version ${row.version}`);
      void client.invalidateQueries({ queryKey: ["keychain"] });
      onDone();
    },
  });
}
