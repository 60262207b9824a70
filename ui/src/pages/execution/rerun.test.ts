import { expect, test } from "vitest";
import { faultOf, namesOf, setOf, wordsOf } from "./rerun";

const rows = namesOf({ factor: 0, note: "hi" }, { divisor: 0, orders: [1, 2] }, "step");

test("from the beginning only the workload can be changed", () => {
  expect(namesOf({ factor: 0 }, { divisor: 0 }, "beginning").map((row) => row.name)).toEqual(["workload.factor"]);
  expect(rows.map((row) => row.name)).toEqual(["ctx.divisor", "ctx.orders", "workload.factor", "workload.note"]);
});

test("only what differs is sent", () => {
  const edited = { "ctx.divisor": "4", "ctx.orders": "[1,2]", "workload.note": "hi", "workload.factor": " 0 " };
  expect(setOf(rows, edited, [], "step")).toEqual({ "ctx.divisor": 4 });
});

test("values by name are sent, faulty ones are not", () => {
  const free = [
    { id: 1, name: "ctx.limits.max", text: "10" },
    { id: 2, name: "not a name", text: "1" },
    { id: 3, name: "", text: "" },
  ];
  expect(setOf(rows, {}, free, "step")).toEqual({ "ctx.limits.max": 10 });
  expect(free.map((row) => faultOf(row, "step") === "")).toEqual([true, false, true]);
  expect(faultOf({ id: 1, name: "ctx.a", text: "1" }, "beginning")).toContain("empty");
});

test("the same as a command line", () => {
  const words = wordsOf("7", { from: "step", step: "price" }, { "ctx.divisor": 4 }, true, String);
  expect(words).toEqual(["rerun", "7", "--from", "price", "--set", "ctx.divisor=4", "--playbook", "playbook.yaml"]);
  expect(wordsOf("7", { from: "event", at: 12 }, {}, false, String)).toEqual(["rerun", "7", "--at", "12"]);
});
