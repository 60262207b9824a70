import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./Button";
import { toFront } from "./fronts";

interface DialogProps {
  title: ReactNode;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the bottom; Close stands there if there are none. */
  actions?: ReactNode;
  /** Enter in a field, or a button of type submit. */
  onSubmit?: () => void;
  kind?: "dialog" | "drawer";
  wide?: boolean;
}

/** The browser's own modal dialog: it keeps the focus, Escape closes it, and the page behind is out of reach. */
export function Dialog({ title, isOpen, onClose, children, actions, onSubmit, kind = "dialog", wide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    if (!dialog || !isOpen) return;
    if (!dialog.open) dialog.showModal();
    const leave = toFront(dialog);
    return () => {
      leave();
      dialog.close();
    };
  }, [isOpen]);
  if (!isOpen) return null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the ground closes it; the key for that is Escape, which the element has
    <dialog
      ref={element}
      className={`${kind} ${wide ? "dialog-wide" : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <form className="dialog-form" onSubmit={submit}>
        <header className="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button icon="cross" look="quiet" size="s" onClick={onClose} aria-label="Close" title="Close (Escape)" />
        </header>
        <div className="dialog-body">{children}</div>
        <footer className="dialog-foot">{actions ?? <Button onClick={onClose}>Close</Button>}</footer>
      </form>
    </dialog>
  );
}

/** The same at the side of the window, for details of what is on the page. */
export function Drawer(props: Omit<DialogProps, "kind">) {
  return <Dialog {...props} kind="drawer" />;
}
