/** Reads server-sent events out of text that arrives in pieces. (https://html.spec.whatwg.org/#parsing-an-event-stream) */
export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** A parser with a memory: feed it what arrived, it gives back the events that are complete. */
export class EventReader {
  lastId: string;
  retryMs: number | null = null;
  private rest = "";
  private data: string[] = [];
  private name = "";
  private id: string;

  constructor(lastId = "") {
    this.lastId = lastId;
    this.id = lastId;
  }

  feed(text: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    this.rest += text;
    // A lone \r at the end may be the first half of \r\n: it waits for what follows.
    const held = this.rest.endsWith("\r") ? "\r" : "";
    const lines = this.rest.slice(0, this.rest.length - held.length).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + held;
    for (const line of lines) {
      const event = this.take(line);
      if (event) found.push(event);
    }
    return found;
  }

  private take(line: string): ServerEvent | null {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.name = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
    return null;
  }

  private dispatch(): ServerEvent | null {
    this.lastId = this.id;
    const event = { id: this.id, event: this.name || "message", data: this.data.join("\n") };
    const isEmpty = this.data.length === 0;
    this.data = [];
    this.name = "";
    return isEmpty ? null : event;
  }
}
