import { describe, expect, it } from "vitest";
import { faultOfName, fieldsOf, KINDS, kindNamed, proofWords, setWords, variableOf } from "./credentials";

describe("the fields of a kind", () => {
  it("are those of the chosen way, needed ones first, secrets marked", () => {
    const postgres = kindNamed("postgres_credential");
    expect(fieldsOf(postgres, 0).map((one) => one.name)).toEqual(["dsn"]);
    const second = fieldsOf(postgres, 1);
    expect(second.slice(0, 4).map((one) => one.name)).toEqual(["host", "user", "password", "database"]);
    expect(second.find((one) => one.name === "password")).toMatchObject({ isSecret: true, isNeeded: true });
    expect(second.find((one) => one.name === "port")).toMatchObject({ isSecret: false, isNeeded: false });
  });

  it("that have several lines come as files", () => {
    expect(fieldsOf(kindNamed("gcs"), 0)[0]).toMatchObject({ isFile: true, isSecret: true });
  });

  it("are never none", () => {
    for (const kind of KINDS) expect(fieldsOf(kind, 0).some((one) => one.isNeeded)).toBe(true);
  });
});

it("a name is checked before it is sent", () => {
  expect(faultOfName("")).toContain("name");
  expect(faultOfName(" a")).not.toBe("");
  expect(faultOfName("orders_api")).toBe("");
});

it("no command line holds a value", () =>
  expect(setWords("a", "bearer")).toEqual(["keychain", "set", "a", "--kind", "bearer"]));

it("the variable of a name", () => expect(variableOf("orders-api")).toBe("NOETL_SECRET_ORDERS_API"));

it("a proof says what was tried, and whose fault it is", () => {
  const proof = { name: "a", kind: "oauth2", origin: "", tried: ["read", "token"] };
  expect(proofWords({ ...proof, is_ok: true, error: null, is_unreachable: false })).toBe("It works (read, token).");
  expect(proofWords({ ...proof, is_ok: false, error: "refused", is_unreachable: true })).toContain("did not answer");
});
