/** What can be done to several executions at once, and to which of them. Pure. */
import type { Schemas } from "@/api/client";
import { IS_LIVE } from "@/parts/statuses";
import type { Row } from "./filters";

export type Action = Schemas["Bulk"]["action"];
export const AT_ONCE = 200; // as many as one request may name

export interface ActionWords {
  title: string;
  /** "Cancel 3 executions" */
  doing: string;
  done: string;
  /** Why a row is left out. */
  leftOut: string;
  says: string;
}

export const ACTIONS: Record<Action, ActionWords> = {
  cancel: {
    title: "Cancel",
    doing: "Cancel",
    done: "cancelled",
    leftOut: "ended already",
    says: "What runs is stopped, what they called too, and compensations run.",
  },
  rerun: {
    title: "Rerun",
    doing: "Rerun",
    done: "started again",
    leftOut: "not ended yet",
    says: "Each starts as a new execution with the same inputs; those there are stay as they are.",
  },
  resume: {
    title: "Resume",
    doing: "Resume",
    done: "taken up",
    leftOut: "ended already",
    says: "Each goes on where its log ends. Tasks whose end is recorded are not run again.",
  },
};

export function applies(action: Action, row: Row): boolean {
  const isLive = IS_LIVE.has(row.status);
  if (action === "rerun") return !isLive || row.status === "incident";
  return isLive;
}

/** The command line of an action on one execution. */
export function wordsOf(action: Action, id: string, options: { reason: string; fromFailed: boolean }): string[] {
  if (action === "cancel" && options.reason) return ["cancel", id, "--reason", options.reason];
  if (action === "rerun" && options.fromFailed) return ["rerun", id, "--from-failed"];
  return [action, id];
}

/** Ids in requests of at most so many. */
export function parts<T>(all: readonly T[], most = AT_ONCE): T[][] {
  const found: T[][] = [];
  for (let at = 0; at < all.length; at += most) found.push(all.slice(at, at + most));
  return found;
}
