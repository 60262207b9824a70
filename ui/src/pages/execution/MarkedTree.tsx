/** A value as a tree in which some places are marked: ctx with what an event changed. All of it is text. */
import { useMemo, useState } from "react";
import { Copy } from "@/parts";
import { CHILDREN_MAX, linesOf } from "@/parts/jsonLines";
import { changedPaths, isChanged } from "./travel";

const OPEN_DEPTH = 2;

export function MarkedTree({ value, changed, label }: { value: unknown; changed: readonly string[]; label: string }) {
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const marks = useMemo(() => changedPaths(changed), [changed]);
  const lines = linesOf(
    value,
    (path, depth) => (depth < OPEN_DEPTH || leads(path, marks)) !== turned.has(path),
    () => CHILDREN_MAX,
  );
  const turn = (path: string): void => {
    const next = new Set(turned);
    if (!next.delete(path)) next.add(path);
    setTurned(next);
  };
  return (
    <div className="json">
      <div className="json-tools">
        <Copy text={() => JSON.stringify(value, null, 2) ?? ""} label="Copy JSON" />
      </div>
      <ul className="json-lines" aria-label={label}>
        {lines.map((line) => (
          <li
            key={`${line.path}${line.kind === "more" ? "+" : ""}`}
            className={`json-line ${isChanged(line.path, marks) ? "execution-changed" : ""}`}
            style={{ paddingLeft: `${line.depth * 1.1}rem` }}
          >
            {line.isBranch ? (
              <button
                type="button"
                className="json-fold"
                aria-expanded={line.isOpen}
                aria-label={`${line.isOpen ? "Close" : "Open"} ${line.name ?? label}`}
                onClick={() => turn(line.path)}
              />
            ) : (
              <span className="json-fold" aria-hidden="true" />
            )}
            {line.name !== null ? <span className="json-name">{line.name}: </span> : null}
            <span className={`json-${line.kind}`}>{line.kind === "more" ? `${line.text} more` : line.text}</span>
            {marks.has(line.path) ? <span className="execution-tag">changed</span> : null}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Whether something that changed lies below: it is opened, so that the mark is in sight. */
function leads(path: string, marks: ReadonlySet<string>): boolean {
  for (const mark of marks) if (mark.startsWith(`${path}.`) || mark.startsWith(`${path}[`)) return true;
  return false;
}
