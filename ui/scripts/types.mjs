// Writes src/api/schema.d.ts from the operations that the server declares. No server runs for it: Python prints them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapi, { astToString } from "openapi-typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const target = fileURLToPath(new URL("../src/api/schema.d.ts", import.meta.url));
const python = existsSync(`${root}.venv/bin/python`) ? `${root}.venv/bin/python` : "python3";
const text = execFileSync(python, ["-m", "noetl.api.openapi"], { cwd: root, maxBuffer: 64 * 1024 * 1024 });

// What the pages ask is under /api/v1, and a refusal has one shape: neither the rest nor 15 refusals each are worth a line.
function asked(document) {
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith("/api/v1/"));
  for (const operation of paths.flatMap(([, methods]) => Object.values(methods))) {
    const good = Object.entries(operation.responses).filter(([status]) => status < "400");
    operation.responses = Object.fromEntries(good);
  }
  return { ...document, paths: Object.fromEntries(paths) };
}

const written = `// Written by \`npm run types\` from the operations of src/noetl/api. Not to be edited.\n${astToString(
  await openapi(asked(JSON.parse(text.toString())), {
    emptyObjectsUnknown: true, // a mapping of anything may hold anything
    defaultNonNullable: false, // what has a default may be left out
  }),
)}`;

if (process.argv.includes("--check")) {
  if (!existsSync(target) || readFileSync(target, "utf8") !== written) {
    console.error("ui/src/api/schema.d.ts differs from the server's operations: run `npm run types` in ui/ and commit");
    process.exit(1);
  }
} else {
  writeFileSync(target, written);
}
