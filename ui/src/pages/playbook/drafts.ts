/**
 * Texts that were changed and not registered. They stay while the tab is open, whatever page one goes to; before the
 * tab is closed or loaded again the browser asks. They are in memory only, and belong to the token that wrote them.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { session } from "@/api/session";
import { toast } from "@/parts";
import { playbookAddress } from "@/routes";

interface Draft {
  text: string;
  /** The version that it was begun from; null: none was registered. */
  base: number | null;
}

const drafts = new Map<string, Draft>();
const LEAVE_MS = 50;

function keyOf(path: string): string {
  return `${session.token()}\n${path}`;
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function keep(path: string, draft: Draft | null): void {
  if (draft) drafts.set(keyOf(path), draft);
  else drafts.delete(keyOf(path));
  if (drafts.size) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
}

export interface DraftState {
  text: string;
  isDirty: boolean;
  base: number | null;
  set: (text: string) => void;
  discard: () => void;
}

/** `original`: the text that is registered, or that a new one begins with; null while it is asked for. */
export function useDraft(path: string, original: string | null, version: number | null): DraftState {
  const [draft, setDraft] = useState<Draft | null>(() => drafts.get(keyOf(path)) ?? null);
  const latest = useRef({ original, version, draft });
  latest.current = { original, version, draft };
  const set = useCallback(
    (text: string) => {
      const now = latest.current;
      const next = text === now.original ? null : { text, base: now.draft ? now.draft.base : now.version };
      keep(path, next);
      setDraft(next);
    },
    [path],
  );
  const discard = useCallback(() => {
    keep(path, null);
    setDraft(null);
  }, [path]);
  useGoodbye(path);
  return {
    text: draft?.text ?? original ?? "",
    isDirty: draft !== null,
    base: draft ? draft.base : version,
    set,
    discard,
  };
}

/** Whoever leaves a page with changes hears that they are kept. */
function useGoodbye(path: string): void {
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    window.clearTimeout(timer.current);
    return () => {
      timer.current = window.setTimeout(() => {
        if (drafts.has(keyOf(path))) {
          toast(`Your changes to ${path} are kept until this tab is closed.`, {
            href: playbookAddress(path),
            text: "Go back",
          });
        }
      }, LEAVE_MS);
    };
  }, [path]);
}
