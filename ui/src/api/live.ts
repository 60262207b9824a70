/**
 * One bell for all pages: a single stream, /api/v1/changes. When it rings for a subject, whatever was asked about that
 * subject is asked again. So the first word of a query's key is its subject: ["executions", …], ["workforce", …].
 */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { FollowState } from "./following";
import { session } from "./session";
import { followTogether, sharedName } from "./sharing";
import type { ServerEvent } from "./sse";

export const SUBJECTS = [
  "executions",
  "workforce",
  "schedules",
  "triggers",
  "catalog",
  "health",
  "overview",
  "keychain",
] as const;
export type Subject = (typeof SUBJECTS)[number];

const TOGETHER_MS = 250; // bells within this long are answered once
type Bell = (subject: Subject, row: unknown) => void;

let state: FollowState = "connecting";
const watchers = new Set<() => void>();
const bells = new Set<Bell>();

function tell(next: FollowState): void {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher();
}

/** Keeps the connection while the pages are open. Used once, by the frame of all pages. */
export function useLive(): void {
  const client = useQueryClient();
  useEffect(() => {
    const waiting = new Set<string>();
    let timer: number | undefined;
    let wasLive = false;
    const answer = (): void => {
      timer = undefined;
      for (const subject of waiting) void client.invalidateQueries({ queryKey: [subject] });
      waiting.clear();
    };
    const ring = (subject: string): void => {
      waiting.add(subject);
      timer ??= window.setTimeout(answer, TOGETHER_MS);
    };
    const stop = followTogether(sharedName("changes", session.token()), {
      address: "/api/v1/changes",
      onEvents: (events) => {
        for (const event of events) hear(event, ring);
      },
      onState: (next) => {
        const isBack = next === "live" && wasLive && state !== "live";
        if (isBack) for (const subject of SUBJECTS) ring(subject); // what rang meanwhile was not heard
        wasLive ||= next === "live";
        tell(next);
      },
    });
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [client]);
}

function hear(event: ServerEvent, ring: (subject: string) => void): void {
  ring(event.event);
  if (!bells.size) return;
  const row = rowOf(event.data);
  for (const bell of bells) bell(event.event as Subject, row);
}

function rowOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** How the connection is: for the quiet mark in the frame. */
export function useLiveState(): FollowState {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

/** Hears each bell itself, with the row that came with it: for pages that change one row without asking again. */
export function useBell(bell: Bell): void {
  useEffect(() => {
    bells.add(bell);
    return () => {
      bells.delete(bell);
    };
  }, [bell]);
}
