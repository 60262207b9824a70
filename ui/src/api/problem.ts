/** A request that was refused or did not arrive. `code` is stable, `detail` is for people and says what to do. */
export class Problem extends Error {
  readonly status: number; // 0: there was no answer
  readonly code: string;
  readonly detail: string;
  readonly traceId: string;
  readonly findings: Finding[];

  constructor(facts: { status: number; code: string; detail: string; trace_id?: string; findings?: Finding[] }) {
    super(facts.detail);
    this.name = "Problem";
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.traceId = facts.trace_id ?? "";
    this.findings = facts.findings ?? [];
  }

  /** Whether asking again may help: nobody answered, or somebody said "later". */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

export interface Finding {
  code: string;
  rule: string;
  severity: "error" | "warning" | "info";
  path: string;
  line: number;
  column: number;
  message: string;
  why?: string;
  fix?: string;
}

export const UNREACHABLE = "unreachable";

/** What an answer that is not good says of itself. */
export async function problemOf(response: Response): Promise<Problem> {
  const status = response.status;
  try {
    const told = (await response.json()) as { code?: string; detail?: string; trace_id?: string; findings?: Finding[] };
    if (told.code && told.detail) return new Problem({ ...told, status, code: told.code, detail: told.detail });
  } catch {
    // Not problem+json: something between the page and the server answered.
  }
  return new Problem({
    status,
    code: `http-${status}`,
    detail: `the server answered ${status} ${response.statusText}`,
  });
}

export function unreachable(): Problem {
  const detail =
    "the server does not answer. Is it running? `noetl server status` says so; the page tries again by itself.";
  return new Problem({ status: 0, code: UNREACHABLE, detail });
}

/** Any error as words for people. */
export function wordsOf(error: unknown): string {
  if (error instanceof Problem) return error.detail;
  return error instanceof Error ? error.message : String(error);
}
