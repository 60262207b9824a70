/** Ctrl-K: jump to a page, a playbook, an execution, or do what this page offers. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api } from "@/api/client";
import { executionAddress, playbookAddress } from "@/routes";
import { type PaletteCommand, score, useAllCommands } from "./commands";
import { Icon } from "./icons";

const FOUND_MAX = 6; // of each sort

async function look(typed: string, signal: AbortSignal) {
  const query = { q: typed, limit: FOUND_MAX };
  const [playbooks, executions] = await Promise.allSettled([
    api.get("/api/v1/catalog/recent", { query: { ...query, runs: 0 }, signal }),
    api.get("/api/v1/executions", { query, signal }),
  ]);
  return {
    playbooks: playbooks.status === "fulfilled" ? playbooks.value.playbooks : [],
    executions: executions.status === "fulfilled" ? executions.value.executions : [],
  };
}

/** One letter says little; one digit may be a whole number of an execution. */
function isWorthAsking(typed: string): boolean {
  return typed.length > 1 || /^\d$/.test(typed);
}

function useFound(typed: string): PaletteCommand[] {
  const [, go] = useLocation();
  const wanted = useDeferredValue(typed.trim());
  const commands = useAllCommands();
  const { data } = useQuery({
    queryKey: ["palette", wanted],
    queryFn: ({ signal }) => look(wanted, signal),
    enabled: isWorthAsking(wanted),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const own = commands
    .map((one) => ({ one, points: score(typed, one.title) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .map(({ one }) => one);
  if (!isWorthAsking(wanted)) return own;
  const playbooks = (data?.playbooks ?? []).map(({ path }) => ({
    id: `playbook ${path}`,
    title: path,
    hint: "playbook",
    icon: "playbook" as const,
    run: () => go(playbookAddress(path)),
  }));
  const executions = (data?.executions ?? []).map((row) => ({
    id: `execution ${row.execution_id}`,
    title: row.execution_id,
    hint: `${row.status} · ${row.path}`,
    icon: "run" as const,
    run: () => go(executionAddress(row.execution_id)),
  }));
  return [...own, ...playbooks, ...executions];
}

export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (!dialog || !isOpen) return;
    dialog.showModal();
    return () => dialog.close();
  }, [isOpen]);
  if (!isOpen) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the ground closes it; the key for that is Escape
    <dialog
      ref={element}
      className="palette"
      aria-label="Jump to"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <Choices onClose={onClose} />
    </dialog>
  );
}

function Choices({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const found = useFound(typed);
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });
  const take = (one: PaletteCommand | undefined): void => {
    if (!one) return;
    onClose();
    one.run();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((Math.min(at, found.length - 1) + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") take(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <div className="palette-box">
      <div className="palette-field">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={chosen ? `${id}-${chosen.id}` : undefined}
          aria-label="Page, playbook, execution or action"
          placeholder="Page, playbook, execution or action"
          value={typed}
          // biome-ignore lint/a11y/noAutofocus: a dialog that was asked for to type into
          autoFocus
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </div>
      <div role="listbox" id={id} aria-label="Found" className="palette-list" ref={list} tabIndex={-1}>
        {found.map((one) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of this list
          <div
            role="option"
            tabIndex={-1}
            key={one.id}
            id={`${id}-${one.id}`}
            aria-selected={one === chosen}
            className="palette-one"
            onClick={() => take(one)}
          >
            <Icon name={one.icon ?? "right"} />
            <span className="palette-title">{one.title}</span>
            {one.hint ? <span className="palette-hint">{one.hint}</span> : null}
          </div>
        ))}
      </div>
      {found.length === 0 ? (
        <p className="palette-none">
          Nothing is called so. An execution is found by its number, a playbook by its path.
        </p>
      ) : null}
    </div>
  );
}
