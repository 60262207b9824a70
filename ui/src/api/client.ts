/**
 * Asks the server. Paths, queries, bodies and answers are typed by the server's own declarations (schema.d.ts):
 *
 *     const page = await api.get("/api/v1/executions", { query: { status: "failed" }, signal });
 *     await api.post("/api/v1/executions/{execution_id}/cancel", { path: { execution_id }, body: { reason } });
 */
import { Problem, problemOf, unreachable } from "./problem";
import type { components, paths } from "./schema";
import { session } from "./session";

export type Schemas = components["schemas"];
export type Method = "get" | "post" | "put" | "delete";

type Of<P extends keyof paths, M extends Method> = paths[P][M];
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: { responses: unknown } } ? P : never;
}[keyof paths];
type Parameters<O> = O extends { parameters: infer G } ? G : never;
type QueryOf<O> = Parameters<O> extends { query?: infer Q } ? Exclude<Q, undefined> : never;
type WordsOf<O> = Parameters<O> extends { path: infer W } ? W : never;
type BodyOf<O> = O extends { requestBody?: { content: infer C } }
  ? C extends { "application/json": infer B }
    ? B
    : C[keyof C]
  : never;
type Good<R> = R extends Record<number, unknown> ? R[Extract<keyof R, 200 | 201 | 202>] : never;
export type AnswerOf<O> = O extends { responses: infer R }
  ? Good<R> extends { content: infer C }
    ? C[keyof C]
    : undefined
  : never;
/** The answer of an operation: `Answer<"/api/v1/executions">`. */
export type Answer<P extends keyof paths, M extends Method = "get"> = AnswerOf<Of<P, M>>;

interface Settings {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}
type Asked<O> = Settings &
  ([WordsOf<O>] extends [never] ? { path?: never } : { path: WordsOf<O> }) &
  ([QueryOf<O>] extends [never] ? { query?: never } : { query?: QueryOf<O> }) &
  ([BodyOf<O>] extends [never] ? { body?: never } : { body: BodyOf<O> });
type Rest<O> = [WordsOf<O>] extends [never] ? ([BodyOf<O>] extends [never] ? [Asked<O>?] : [Asked<O>]) : [Asked<O>];

interface Loose extends Settings {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** The address of an operation: its words filled in, its query written out; what is undefined or null is left out. */
export function addressOf(
  path: string,
  words: Record<string, string | number> = {},
  query: Record<string, unknown> = {},
) {
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(String(words[name] ?? "")));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  return text ? `${filled}?${text}` : filled;
}

/** A request with the token in its header. Raises Problem for whatever is no good answer; the token goes if it is unknown. */
export async function ask(
  method: string,
  address: string,
  init: Settings & { body?: BodyInit } = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = session.token();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(address, { method, headers, body: init.body, signal: init.signal, cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && token === session.token()) session.drop();
  throw problem;
}

async function askJson(method: Method, path: string, asked: Loose = {}): Promise<unknown> {
  const isText = typeof asked.body === "string" || asked.body instanceof Blob;
  const given = isText ? (asked.body as BodyInit) : asked.body === undefined ? undefined : JSON.stringify(asked.body);
  const headers = {
    ...(given !== undefined && !isText ? { "Content-Type": "application/json" } : {}),
    ...asked.headers,
  };
  const address = addressOf(path, asked.path, asked.query);
  const response = await ask(method.toUpperCase(), address, { headers, body: given, signal: asked.signal });
  if (response.status === 204) return undefined;
  const isJson = response.headers.get("content-type")?.includes("json");
  return isJson ? response.json() : response.text();
}

export const api = {
  get: <P extends PathsWith<"get">>(path: P, ...rest: Rest<Of<P, "get">>) =>
    askJson("get", path, rest[0] as Loose) as Promise<Answer<P, "get">>,
  post: <P extends PathsWith<"post">>(path: P, ...rest: Rest<Of<P, "post">>) =>
    askJson("post", path, rest[0] as Loose) as Promise<Answer<P, "post">>,
  put: <P extends PathsWith<"put">>(path: P, ...rest: Rest<Of<P, "put">>) =>
    askJson("put", path, rest[0] as Loose) as Promise<Answer<P, "put">>,
  delete: <P extends PathsWith<"delete">>(path: P, ...rest: Rest<Of<P, "delete">>) =>
    askJson("delete", path, rest[0] as Loose) as Promise<Answer<P, "delete">>,
  /** An operation that is named by text: for bodies and answers that are not JSON. */
  any: <T>(method: Method, path: string, asked?: Loose) => askJson(method, path, asked) as Promise<T>,
};

export { Problem };
