/** The text that a new playbook begins with: small, and it checks. Pure. */

// As a path: words between slashes, without what a shell, an address or YAML would take for something else.
const PATH = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/;
const PATH_MAX = 200;

/** What is wrong with a path, and how to write it; "" if nothing is. */
export function faultOfPath(path: string): string {
  if (!path) return "Give it a path, as reports/daily.";
  if (path.length > PATH_MAX) return `A path has at most ${PATH_MAX} characters.`;
  if (!PATH.test(path)) return "A path is words between slashes: letters, digits, _ . and -, as reports/daily.";
  return "";
}

export function starterText(path: string): string {
  const name = path.split("/").at(-1) ?? path;
  const lines = [
    "apiVersion: noetl.io/v2",
    "kind: Playbook",
    "metadata:",
    `  name: ${scalar(name)}`,
    `  path: ${scalar(path)}`,
    "  description: Greets whom the workload names.",
    "workload: # the inputs, with their defaults; a run may give others",
    "  name: world",
    "workflow:",
    "  - step: greet",
    "    tool:",
    "      kind: python",
    "      input:",
    '        name: "{{ workload.name }}"',
    "        code: |",
    "          result = f\"hello, {input['name']}\"",
  ];
  return `${lines.join("\n")}\n`;
}

// A name such as 2026 or no would be read as another type.
function scalar(text: string): string {
  return /^[A-Za-z_][A-Za-z0-9_/-]{3,}$/.test(text) && !/^(true|false|null)$/i.test(text) ? text : `"${text}"`;
}
