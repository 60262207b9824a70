import { expect, test } from "vitest";
import { EventReader, type ServerEvent } from "./sse";

function read(...pieces: string[]): ServerEvent[] {
  const reader = new EventReader();
  return pieces.flatMap((piece) => reader.feed(piece));
}

test("an event has its name, its id and its lines of data", () => {
  expect(read("id: 7\nevent: step.done\ndata: {\ndata: }\n\n")).toEqual([
    { id: "7", event: "step.done", data: "{\n}" },
  ]);
});

test("what is not complete waits for the rest, wherever it was cut", () => {
  const text = "id: 12\r\nevent: a\r\ndata: one\r\n\r\nid: 13\r\ndata: two\r\n\r\n";
  const whole = read(text);

  for (let at = 1; at < text.length; at += 1) expect(read(text.slice(0, at), text.slice(at))).toEqual(whole);
  expect(read(...text)).toEqual(whole);
  expect(whole.map((one) => one.data)).toEqual(["one", "two"]);
});

test("comments and fields without data make no event", () => {
  expect(read(": still here\n\n", "retry: 2000\n\n", "event: x\n\n", "id: 3\n\n")).toEqual([]);
});

test("the last id stays for what comes without one, and survives an event without data", () => {
  const reader = new EventReader("4");
  reader.feed("data: a\n\n");
  expect(reader.lastId).toBe("4");
  reader.feed("id: 9\n\n");

  expect(reader.lastId).toBe("9");
  expect(reader.feed("data: b\n\n")).toEqual([{ id: "9", event: "message", data: "b" }]);
});

test("an id counts only when its event is complete: what was cut off is asked for again", () => {
  const reader = new EventReader("1");
  reader.feed("id: 2\ndata: half");

  expect(reader.lastId).toBe("1");
});

test("one space after the colon is taken off and no more, and a field may have none", () => {
  expect(read("data:  x\ndata:y\ndata\n\n")[0]?.data).toBe(" x\ny\n");
});

test("an id with a null is ignored and a retry that is no number too", () => {
  const reader = new EventReader();
  reader.feed("id: a\0b\nretry: soon\ndata: x\n\nretry: 150\ndata: y\n\n");

  expect(reader.lastId).toBe("");
  expect(reader.retryMs).toBe(150);
});
