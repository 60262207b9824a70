/** The run form: a field for each input, with its default; the same run as a command line. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { api, type Schemas } from "@/api/client";
import { useMay } from "@/api/identity";
import { Asked, Button, CommandLine, Failure, Field, Icon, Section } from "@/parts";
import { executionAddress, playbookAddress } from "@/routes";
import { type FormField, fieldsOf, filled, OTHERS, runWords, type Typed } from "./form";

interface Props {
  path: string;
  version: number;
  isDirty: boolean;
}

export function RunTab({ path, version, isDirty }: Props) {
  const [, go] = useLocation();
  const asked = Number(new URLSearchParams(useSearch()).get("version")) || null;
  const choose = (next: number | null): void =>
    go(next === null ? playbookAddress(path, "run") : `${playbookAddress(path, "run")}?version=${next}`, {
      replace: true,
    });
  const query = useQuery({
    queryKey: ["catalog", "workload", path, asked ?? version],
    queryFn: ({ signal }) =>
      api.get("/api/v1/catalog/workload", { query: { path, version: asked ?? undefined }, signal }),
  });
  return (
    <div className="playbook-run">
      {isDirty ? (
        <p className="playbook-notice">
          <Icon name="alert" /> The text has changes that are not registered. A run takes version {asked ?? version}, as
          it is registered.
        </p>
      ) : null}
      <Asked query={query}>
        {(data) => (
          <Form key={data.version} data={data} newest={version} isNewest={asked === null} onVersion={choose} />
        )}
      </Asked>
    </div>
  );
}

function Form(props: {
  data: Schemas["Workload"];
  newest: number;
  isNewest: boolean;
  onVersion: (version: number | null) => void;
}) {
  const { data } = props;
  const fields = fieldsOf(data.workload);
  const may = useMay()("runner");
  const [, go] = useLocation();
  const [typed, setTyped] = useState<Typed>({});
  const [others, setOthers] = useState("");
  const [isTried, setTried] = useState(false);
  const { payload, faults } = filled(fields, typed, others);
  const isFaulty = Object.keys(faults).length > 0;
  const version = props.isNewest ? null : data.version;
  const run = useMutation({
    mutationFn: () =>
      api.post("/api/v1/executions", { body: { path: data.path, version: version ?? undefined, payload } as Start }),
    onSuccess: (started) => go(executionAddress(started.execution_id)),
  });
  const submit = (): void => {
    setTried(true);
    if (!isFaulty && may.is && !run.isPending) run.mutate();
  };
  return (
    <form
      className="playbook-run-columns"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Section title="Inputs" actions={<VersionChoice {...props} />}>
        {data.description ? <p className="playbook-description">{data.description}</p> : null}
        {fields.length ? (
          <div className="form">
            {fields.map((field) => (
              <Input
                key={field.name}
                field={field}
                value={Object.hasOwn(typed, field.name) ? (typed[field.name] ?? "") : field.shown}
                fault={Object.hasOwn(faults, field.name) ? faults[field.name] : undefined}
                onChange={(text) => setTyped({ ...typed, [field.name]: text })}
              />
            ))}
          </div>
        ) : (
          <p className="muted">This playbook has no workload: it runs without inputs.</p>
        )}
        <Others value={others} onChange={setOthers} fault={isTried || others ? faults[OTHERS] : undefined} />
      </Section>
      <Section title="Run">
        <Changed payload={payload} fields={fields} />
        <div className="row">
          <Button look="main" icon="run" type="submit" may={may} busy={run.isPending} disabled={isTried && isFaulty}>
            Run {data.path}
          </Button>
          {Object.keys(typed).length || others ? (
            <Button
              look="quiet"
              onClick={() => {
                setTyped({});
                setOthers("");
              }}
            >
              Back to the defaults
            </Button>
          ) : null}
        </div>
        {may.is ? null : <p className="muted">{may.reason}</p>}
        {run.isError ? <Failure error={run.error} title="It was not started" /> : null}
        <div className="playbook-command">
          <h3>As a command line</h3>
          <CommandLine words={runWords(data.path, version, payload)} />
        </div>
      </Section>
    </form>
  );
}

type Start = Schemas["Start"];

function VersionChoice(props: {
  data: Schemas["Workload"];
  newest: number;
  isNewest: boolean;
  onVersion: (version: number | null) => void;
}) {
  const id = useId();
  const versions = Array.from({ length: props.newest }, (_, at) => props.newest - at);
  return (
    <span className="playbook-select">
      <label htmlFor={id}>Version</label>
      <select
        id={id}
        value={props.isNewest ? "" : props.data.version}
        onChange={(event) => props.onVersion(event.target.value ? Number(event.target.value) : null)}
      >
        <option value="">newest ({props.newest})</option>
        {versions.map((version) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </span>
  );
}

/** What of the inputs is not the default. */
function Changed({ payload, fields }: { payload: Record<string, unknown>; fields: readonly FormField[] }) {
  const names = Object.keys(payload);
  if (!names.length) return <p className="muted">With {fields.length ? "all defaults" : "no inputs"}.</p>;
  return (
    <p>
      With {names.map((name) => <code key={name}>{name}</code>).reduce<React.ReactNode[]>(joined, [])} changed, the rest
      as by default.
    </p>
  );
}

function joined(words: React.ReactNode[], word: React.ReactNode): React.ReactNode[] {
  return words.length ? [...words, ", ", word] : [word];
}

interface InputProps {
  field: FormField;
  value: string;
  fault: string | undefined;
  onChange: (text: string) => void;
}

const HINTS = { text: "text", lines: "text", number: "number", switch: "yes or no", data: "JSON" } as const;

function Input({ field, value, fault, onChange }: InputProps) {
  const id = useId();
  const isChanged = value !== field.shown;
  const hint = isChanged ? `by default ${shortOf(field)}` : undefined;
  const label = (
    <span className="playbook-label">
      <code>{field.name}</code> <span className="muted">{HINTS[field.kind]}</span>
    </span>
  );
  if (field.kind === "switch") return <Switch label={label} value={value} hint={hint} onChange={onChange} />;
  const shared = {
    id,
    value,
    "aria-describedby": hint ? `${id}-hint` : undefined,
    "aria-invalid": fault !== undefined,
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  return (
    <Field label={label} id={id} hint={hint} error={fault}>
      {field.kind === "data" || field.kind === "lines" ? (
        <textarea {...shared} rows={Math.min(12, Math.max(1, value.split("\n").length))} />
      ) : (
        <input {...shared} inputMode={field.kind === "number" ? "decimal" : undefined} autoComplete="off" />
      )}
    </Field>
  );
}

function Switch(props: {
  label: React.ReactNode;
  value: string;
  hint: string | undefined;
  onChange: (text: string) => void;
}) {
  const { label, value, hint, onChange } = props;
  const id = useId();
  return (
    <div className="field">
      <span className="playbook-switch">
        <input
          type="checkbox"
          role="switch"
          id={id}
          checked={value === "true"}
          aria-checked={value === "true"}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        <label htmlFor={id}>{label}</label>
      </span>
      {hint ? (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

function shortOf(field: FormField): string {
  const text = field.kind === "data" ? (JSON.stringify(field.value) ?? "") : field.shown;
  return text === "" ? "empty" : text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

function Others(props: { value: string; onChange: (text: string) => void; fault: string | undefined }) {
  const id = useId();
  return (
    <details className="playbook-others">
      <summary>Values that the workload does not name</summary>
      <Field
        label="Further values"
        id={id}
        hint='A JSON mapping, as {"name": 1}. It is laid over the workload too.'
        error={props.fault}
      >
        <textarea
          id={id}
          rows={3}
          value={props.value}
          spellCheck={false}
          aria-describedby={`${id}-hint`}
          onChange={(event) => props.onChange(event.target.value)}
        />
      </Field>
    </details>
  );
}
