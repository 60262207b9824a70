import { expect, test } from "vitest";
import { score } from "./commands";
import { keyOf } from "./shortcuts";
import { lookOf } from "./statuses";

test("the beginning of a text is the best answer, then that of a word, then the middle, then letters in order", () => {
  const points = ["orders/daily", "shop/orders", "reorders", "o-r-d-e-r"].map((text) => score("order", text));

  expect(points).toEqual([...points].sort((a, b) => b - a));
  expect(new Set(points).size).toBe(4);
  expect(score("order", "playbooks")).toBe(0);
  expect(score("", "anything")).toBeGreaterThan(0);
});

test("a key is the same with Ctrl and with ⌘, in capitals and without", () => {
  const none = { ctrlKey: false, metaKey: false, altKey: false };

  expect(keyOf({ ...none, key: "K", ctrlKey: true })).toBe("mod+k");
  expect(keyOf({ ...none, key: "k", metaKey: true })).toBe("mod+k");
  expect(keyOf({ ...none, key: "Escape" })).toBe("Escape");
});

test("a status that nobody knows is shown as its own word", () => {
  expect(lookOf("half_done")).toMatchObject({ word: "half done", tone: "idle" });
  expect(lookOf("failed")).toMatchObject({ word: "failed", tone: "bad" });
});
