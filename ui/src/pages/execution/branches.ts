/** What is open in the timeline, with the pages of it that are here. */
import { useCallback, useRef, useState } from "react";
import { wordsOf } from "@/api/problem";
import { askAttempts, askIterations } from "./asking";
import { type Branch, belowOf, type Row } from "./rows";

/** The branches, what opens and closes one, and what asks for more of one. */
export function useBranches(id: string): [ReadonlyMap<string, Branch>, (row: Row) => void, (key: string) => void] {
  const [open, setOpen] = useState<ReadonlyMap<string, Branch>>(new Map());
  const asking = useRef(new Set<string>());
  const latest = useRef(open);
  latest.current = open;
  const toggle = useCallback((row: Row): void => {
    const below = belowOf(row);
    if (!below) return;
    setOpen((now) => {
      const next = new Map(now);
      if (!next.delete(row.key)) next.set(row.key, { below, next: undefined });
      return next;
    });
  }, []);
  const more = useCallback(
    (key: string): void => {
      const branch = latest.current.get(key);
      if (!branch || branch.next === null || branch.error || asking.current.has(key)) return;
      asking.current.add(key);
      const change = (next: Partial<Branch>): void =>
        setOpen((now) => {
          const was = now.get(key);
          return was ? new Map(now).set(key, { ...was, ...next }) : now;
        });
      void askBranch(id, branch)
        .then(change, (error) => change({ error: wordsOf(error) }))
        .finally(() => asking.current.delete(key));
    },
    [id],
  );
  return [open, toggle, more];
}

async function askBranch(id: string, branch: Branch): Promise<Partial<Branch>> {
  const { below, next } = branch;
  if (below.of === "iterations") {
    const page = await askIterations(id, below.loop, null, next ?? 0);
    return { iterations: [...(branch.iterations ?? []), ...page.iterations], next: page.next };
  }
  const page = await askAttempts(id, below.run, below.iteration, next ?? 0);
  return { attempts: [...(branch.attempts ?? []), ...page.attempts], next: page.next };
}
