/** The first visit: nothing is registered yet. Leads to a first execution, here or from the command line. */
import { useMay } from "@/api/identity";
import { Button, CommandLine, Icon } from "@/parts";
import { useNewPlaybook } from "../playbooks/NewPlaybook";

export function Welcome() {
  const may = useMay()("author");
  const { open, dialog } = useNewPlaybook();
  return (
    <div className="home-welcome">
      <section className="card home-way">
        <header className="home-way-head">
          <Icon name="edit" />
          <h2>Write a playbook here</h2>
        </header>
        <p>
          A playbook is a text that says which steps there are, what each does and what follows. You begin with a small
          one that works, and change it.
        </p>
        <ol className="home-steps">
          <li>Give it a name. The text is checked as you type, and its graph is drawn beside it.</li>
          <li>
            <strong>Register</strong> keeps it, as version 1.
          </li>
          <li>
            <strong>Run</strong> starts it; you watch it go, step by step.
          </li>
        </ol>
        <div className="row">
          <Button look="main" icon="plus" may={may} onClick={open}>
            New playbook
          </Button>
          {may.is ? null : <span className="muted">{may.reason}</span>}
        </div>
        {dialog}
      </section>
      <section className="card home-way">
        <header className="home-way-head">
          <Icon name="terminal" />
          <h2>Or from the command line</h2>
        </header>
        <p>Files that you have are checked, kept and run with three commands. What they do shows here at once.</p>
        <CommandSteps />
      </section>
    </div>
  );
}

function CommandSteps() {
  const steps = [
    ["Find the faults, all in one pass:", ["check", "hello.yaml"]],
    ["Keep it, under the path that it names:", ["catalog", "register", "hello.yaml"]],
    ["Run it:", ["run", "hello"]],
  ] as const;
  return (
    <ol className="home-steps">
      {steps.map(([says, words]) => (
        <li key={says}>
          {says}
          <CommandLine words={words} />
        </li>
      ))}
    </ol>
  );
}
