import { useId, useState } from "react";
import { Button } from "./Button";
import { Copy } from "./Copy";
import { commandLineAt } from "./format";

/**
 * An action as a command line: `<Command words={["cancel", id]} />` shows and copies `noetl cancel ID --server URL`.
 * Words are quoted for a shell here; give them as they are.
 */
export function Command({ words, label = "As a command line" }: { words: readonly string[]; label?: string }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <span className="command">
      <Button
        icon="terminal"
        look="quiet"
        size="s"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </Button>
      {isOpen ? (
        <span id={id} className="command-box">
          <CommandLine words={words} />
        </span>
      ) : null}
    </span>
  );
}

/** The command line itself, always open: for empty states and dialogs. */
export function CommandLine({ words }: { words: readonly string[] }) {
  const line = commandLineAt(window.location.origin, words);
  return (
    <span className="command-line">
      <span className="command-row">
        <code>{line}</code>
        <Copy text={line} />
      </span>
      {line.includes(" --server ") ? (
        <span className="command-note">
          It takes the token of the server’s own home; elsewhere give yours in <code>NOETL_TOKEN</code>.
        </span>
      ) : null}
    </span>
  );
}
