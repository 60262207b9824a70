// Fails when the pages are heavier than they may be. Compressed bytes: what the index asks for at once and the home page, then each room apart.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const KB = 1000;
const LIMITS = { first: 170 * KB, editor: 180 * KB, graph: 180 * KB, page: 60 * KB };
const built = process.env.NOETL_UI_OUT ?? fileURLToPath(new URL("../../src/noetl/ui/built", import.meta.url));
const assets = readdirSync(`${built}/assets`);
const bytes = (name) => gzipSync(readFileSync(`${built}/assets/${name}`), { level: 9 }).length;
const index = readFileSync(`${built}/index.html`, "utf8");
const isFirst = (name) => index.includes(name) || /^home-/.test(name);
const faults = [];

function weigh(title, names, limit) {
  const size = names.reduce((sum, name) => sum + bytes(name), 0);
  console.log(`${title.padEnd(16)} ${(size / KB).toFixed(1).padStart(7)} kB of ${limit / KB}`);
  if (size > limit) faults.push(`${title} weighs ${(size / KB).toFixed(1)} kB; it may weigh ${limit / KB} kB`);
}

weigh("first page", assets.filter(isFirst), LIMITS.first);
for (const room of ["editor", "graph"]) {
  weigh(
    room,
    assets.filter((name) => name.toLowerCase().startsWith(`${room}-`)),
    LIMITS[room],
  );
}
for (const name of assets) {
  if (!isFirst(name) && !/^(editor|graph)-/i.test(name)) weigh(name, [name], LIMITS.page);
}
if (faults.length) {
  console.error(faults.join("\n"));
  process.exit(1);
}
