/** Markdown as elements. Everything in it is text to React: there is no way for markup to get in. */
import { Fragment, type ReactNode, useMemo } from "react";
import { type Block, blocksOf, type Inline } from "./markdown";

export function Markdown({ text, topLevel = 3 }: { text: string; topLevel?: 2 | 3 | 4 }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return <div className="playbook-markdown">{blocks.map((block, at) => drawn(block, at, topLevel))}</div>;
}

function drawn(block: Block, at: number, topLevel: number): ReactNode {
  switch (block.kind) {
    case "heading": {
      const Heading = `h${Math.min(6, topLevel + block.level - 1)}` as "h3";
      return <Heading key={at}>{inlines(block.parts)}</Heading>;
    }
    case "paragraph":
      return <p key={at}>{inlines(block.parts)}</p>;
    case "quote":
      return <blockquote key={at}>{inlines(block.parts)}</blockquote>;
    case "code":
      return (
        <pre key={at}>
          <code>{block.text}</code>
        </pre>
      );
    case "rule":
      return <hr key={at} />;
    case "list": {
      const List = block.isNumbered ? "ol" : "ul";
      return (
        <List key={at}>
          {block.items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the blocks of a text have no other name than their place
            <li key={index}>
              {inlines(item.parts)}
              {item.blocks.map((one, below) => drawn(one, below, topLevel))}
            </li>
          ))}
        </List>
      );
    }
    case "table":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <div key={at} className="playbook-markdown-table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>{block.head.map((cell, index) => headCell(cell, index))}</tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <tr key={index}>{row.map((cell, column) => bodyCell(cell, column))}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

function headCell(parts: Inline[], at: number): ReactNode {
  return (
    <th key={at} scope="col">
      {inlines(parts)}
    </th>
  );
}

function bodyCell(parts: Inline[], at: number): ReactNode {
  return <td key={at}>{inlines(parts)}</td>;
}

function inlines(parts: readonly Inline[]): ReactNode {
  return parts.map((part, at) => {
    const key = `${at}`;
    if (part.kind === "text") return <Fragment key={key}>{part.text}</Fragment>;
    if (part.kind === "code") return <code key={key}>{part.text}</code>;
    if (part.kind === "strong") return <strong key={key}>{inlines(part.parts)}</strong>;
    if (part.kind === "emphasis") return <em key={key}>{inlines(part.parts)}</em>;
    return (
      <Fragment key={key}>
        {inlines(part.parts)}
        {part.address ? <span className="muted"> ({part.address})</span> : null}
      </Fragment>
    );
  });
}
