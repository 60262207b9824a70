/** Values of two executions that differ, side by side. All of it is text. */
import { format } from "@/parts";
import type { Difference } from "./values";

const SHOWN_MAX = 200;

export function DifferenceTable({
  rows,
  before,
  after,
}: {
  rows: readonly Difference[];
  before: string;
  after: string;
}) {
  return (
    <div className="execution-scroll">
      <table className="execution-changes">
        <thead>
          <tr>
            <th scope="col">Value</th>
            <th scope="col">In {before}</th>
            <th scope="col">In {after}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN_MAX).map((row) => (
            <tr key={row.path}>
              <th scope="row">
                <code>{row.path || "the value"}</code>
              </th>
              <td className="execution-before">
                {row.kind === "added" ? <em>not there</em> : <code>{brief(row.before)}</code>}
              </td>
              <td className="execution-after">
                {row.kind === "removed" ? <em>not there</em> : <code>{brief(row.after)}</code>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > SHOWN_MAX ? <p className="muted">and {format.count(rows.length - SHOWN_MAX)} more</p> : null}
    </div>
  );
}

/** A value in one line, as JSON. */
export const brief = (value: unknown): string => format.cut(JSON.stringify(value) ?? "", 300);
