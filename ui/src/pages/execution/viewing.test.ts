import { expect, test } from "vitest";
import { isViewing } from "./viewing";

test("a file that was brought has an id that no store gives", () => {
  expect(isViewing("4611686018427387904")).toBe(true);
  expect(isViewing("9071081103257799931")).toBe(true);
});

test("an execution of a store is none, nor is what is no id", () => {
  expect(isViewing("4611686018427387903")).toBe(false);
  expect(isViewing("12")).toBe(false);
  expect(isViewing("")).toBe(false);
  expect(isViewing("99999999999999999999")).toBe(false);
  expect(isViewing("0x7fffffffffffffff")).toBe(false);
});
