/**
 * Writes package-lock.json anew after a change of package.json: `npm run lock`.
 *
 * A registry that lacks the builds for other platforms makes npm leave them out, and `npm ci` then refuses the lock. Each
 * is named by its parent in one exact version, so it is put in: where its platform is, npm fetches it by name.
 * No address of a registry stands in the lock.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const LOCK = new URL("../package-lock.json", import.meta.url);
const SYSTEMS = new Set([
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
]);
const PROCESSORS = new Set([
  "arm",
  "arm64",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
]);
const EXACT = /^\d+\.\d+\.\d+[\w.-]*$/;

function entry(name, version, parent) {
  const words = name.split("/").at(-1).split("-");
  const cpu = words.filter((word) => PROCESSORS.has(word));
  const os = words.filter((word) => SYSTEMS.has(word));
  const libc = words.includes("musl") ? ["musl"] : [];
  return {
    version,
    ...(cpu.length ? { cpu } : {}),
    ...(parent.dev ? { dev: true } : {}),
    ...(libc.length ? { libc } : {}),
    license: parent.license,
    optional: true,
    ...(os.length ? { os } : {}),
  };
}

function completed(packages) {
  const whole = { ...packages };
  for (const parent of Object.values(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      if (EXACT.test(version)) whole[`node_modules/${name}`] ??= entry(name, version, parent);
    }
  }
  for (const one of Object.values(whole)) delete one.resolved;
  return Object.fromEntries(Object.entries(whole).sort(([a], [b]) => (a < b ? -1 : 1)));
}

execFileSync("npm", ["install", "--package-lock-only"], { cwd: new URL("..", import.meta.url), stdio: "inherit" });
const lock = JSON.parse(readFileSync(LOCK, "utf8"));
writeFileSync(LOCK, `${JSON.stringify({ ...lock, packages: completed(lock.packages) }, null, 2)}\n`);
