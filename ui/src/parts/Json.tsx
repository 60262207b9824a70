import { useState } from "react";
import { Copy } from "./Copy";
import { CHILDREN_MAX, linesOf } from "./jsonLines";

const OPEN_DEPTH = 2; // how deep a value is open at first

/** A value as a tree that opens and closes. All of it is text: markup in a payload shows as markup. */
export function Json({
  value,
  label = "value",
  openDepth = OPEN_DEPTH,
  bare,
}: {
  value: unknown;
  label?: string;
  openDepth?: number;
  bare?: boolean;
}) {
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const [more, setMore] = useState<Readonly<Record<string, number>>>({});
  const lines = linesOf(
    value,
    (path, depth) => depth < openDepth !== turned.has(path),
    (path) => more[path] ?? CHILDREN_MAX,
  );
  const turn = (path: string): void => {
    const next = new Set(turned);
    if (!next.delete(path)) next.add(path);
    setTurned(next);
  };
  return (
    <div className={`json ${bare ? "json-bare" : ""}`}>
      <div className="json-tools">
        <Copy text={() => JSON.stringify(value, null, 2) ?? ""} label="Copy JSON" />
      </div>
      <ul className="json-lines" aria-label={label}>
        {lines.map((line) => (
          <li
            key={`${line.path}${line.kind === "more" ? "+" : ""}`}
            className="json-line"
            style={{ paddingLeft: `${line.depth * 1.1}rem` }}
          >
            {line.kind === "more" ? (
              <button
                type="button"
                className="json-more"
                onClick={() => setMore({ ...more, [line.path]: (more[line.path] ?? CHILDREN_MAX) + CHILDREN_MAX * 5 })}
              >
                {line.text} more
              </button>
            ) : (
              <>
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
                <span className={`json-${line.kind}`}>{line.text}</span>
              </>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
