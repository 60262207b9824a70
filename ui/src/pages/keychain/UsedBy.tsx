import { Link } from "wouter";
import { format } from "@/parts";
import { playbookAddress } from "@/routes";

/** The playbooks that declare a credential, each a way to it. */
export function UsedBy({ row, most }: { row: { used_by: readonly string[]; uses: number }; most?: number }) {
  const shown = row.used_by.slice(0, most);
  const hidden = row.uses - shown.length;
  return (
    <ul className="keychain-uses">
      {shown.map((path) => (
        <li key={path}>
          <Link href={playbookAddress(path)}>{path}</Link>
        </li>
      ))}
      {hidden > 0 ? <li className="muted">and {format.count(hidden)} more</li> : null}
    </ul>
  );
}
