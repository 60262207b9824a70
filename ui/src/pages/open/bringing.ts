/** Brings a file to the server, and says how far it is. */
import type { Schemas } from "@/api/client";
import { type Finding, Problem, unreachable } from "@/api/problem";
import { session } from "@/api/session";

export const BYTES_MAX = 64 * 1024 * 1024;
export type Viewing = Schemas["ViewingRow"];

/** Why a file is not worth bringing; "" if it is. */
export function faultOfFile(file: { size: number; name: string }): string {
  if (file.size === 0) return "The file is empty. `noetl export ID --output FILE` writes one that is not.";
  if (file.size > BYTES_MAX) {
    return "The file is larger than 64 MiB, which is the most that a server takes to look at. `noetl import FILE` keeps it instead.";
  }
  return "";
}

/** The line of a damaged file and the reason, out of the server's words; null: they are about something else. */
export function damageOf(words: string): { line: number; why: string } | null {
  const found = /^line (\d+) of the exported execution: (.*)$/s.exec(words);
  return found ? { line: Number(found[1]), why: found[2] ?? "" } : null;
}

/** fetch() does not tell how much of a body has gone, so this is the older way. `onPart` hears shares of 1. */
export function bringViewing(file: Blob, onPart: (share: number) => void, signal: AbortSignal): Promise<Viewing> {
  return new Promise((resolve, reject) => {
    const asking = new XMLHttpRequest();
    asking.open("POST", "/api/v1/viewings");
    asking.setRequestHeader("Content-Type", "application/x-ndjson");
    asking.setRequestHeader("Authorization", `Bearer ${session.token()}`);
    asking.upload.onprogress = (event) => event.lengthComputable && onPart(event.loaded / event.total);
    asking.onerror = () => reject(unreachable());
    asking.onload = () => {
      const told = documentOf(asking.responseText);
      if (asking.status === 201 && told) resolve(told as unknown as Viewing);
      else reject(problemIn(asking.status, told));
    };
    signal.addEventListener("abort", () => asking.abort());
    asking.send(file);
  });
}

function documentOf(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function problemIn(status: number, told: Record<string, unknown> | null): Problem {
  if (status === 401) session.drop();
  return new Problem({
    status,
    code: String(told?.code ?? `http-${status}`),
    detail: String(told?.detail ?? `the server answered ${status}`),
    trace_id: told?.trace_id === undefined ? undefined : String(told.trace_id),
    findings: (told?.findings ?? []) as Finding[],
  });
}
