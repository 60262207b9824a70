import { describe, expect, it } from "vitest";
import { faultOfPath, starterText } from "./starter";

describe("a new playbook", () => {
  it("has its path and name in its text", () => {
    const text = starterText("team/daily_report");
    expect(text).toContain("  name: daily_report\n  path: team/daily_report\n");
  });

  it.each(["2026", "no", "true", "1e3", "a.b"])("keeps a name that YAML would read as something else: %s", (name) => {
    expect(starterText(name)).toContain(`  name: "${name}"\n`);
  });

  it.each(["a", "team/daily-report", "a.b/c_d", "2026/03"])("may be called %s", (path) =>
    expect(faultOfPath(path)).toBe(""),
  );

  it.each(["", "/a", "a/", "a//b", "a b", "../x", "a/..", 'a"b', "a\nb", "é"])("may not be called %j", (path) =>
    expect(faultOfPath(path)).not.toBe(""),
  );
});
