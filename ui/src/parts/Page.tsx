import { type ReactNode, useEffect } from "react";

/** The frame of one page: its title (also the window's), its actions to the right, then what it shows. */
export function Page(props: {
  title: ReactNode;
  name: string;
  lead?: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${props.name} · NoETL`;
  }, [props.name]);
  return (
    <div className={`page ${props.wide ? "page-wide" : ""}`}>
      <header className="page-head">
        <div className="page-title">
          <h1>{props.title}</h1>
          {props.lead ? <div className="page-lead">{props.lead}</div> : null}
        </div>
        {props.actions ? <div className="page-actions">{props.actions}</div> : null}
      </header>
      {props.children}
    </div>
  );
}

/** A part of a page with a heading of its own. */
export function Section(props: { title: ReactNode; actions?: ReactNode; children: ReactNode; plain?: boolean }) {
  return (
    <section className={`section ${props.plain ? "" : "card"}`}>
      <header className="section-head">
        <h2>{props.title}</h2>
        {props.actions ? <div className="section-actions">{props.actions}</div> : null}
      </header>
      {props.children}
    </section>
  );
}

/** Names and values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A field of a form: label, the control, what it is for, what is wrong with it. */
export function Field(props: {
  label: ReactNode;
  id: string;
  hint?: ReactNode;
  error?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={`field ${props.error ? "field-bad" : ""}`}>
      <label htmlFor={props.id}>{props.label}</label>
      {props.children}
      {props.hint ? (
        <p className="field-hint" id={`${props.id}-hint`}>
          {props.hint}
        </p>
      ) : null}
      {props.error ? (
        <p className="field-error" role="alert">
          {props.error}
        </p>
      ) : null}
    </div>
  );
}
