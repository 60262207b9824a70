import { expect, test } from "vitest";
import { front, toFront } from "./fronts";

test("the dialog that was opened last is in front until it is closed, in whatever order they close", () => {
  const [first, second] = [{} as HTMLElement, {} as HTMLElement];
  expect(front()).toBe(null);
  const closeFirst = toFront(first);
  const closeSecond = toFront(second);
  expect(front()).toBe(second);
  closeFirst();
  expect(front()).toBe(second);
  closeSecond();
  expect(front()).toBe(null);
});
