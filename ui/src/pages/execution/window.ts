/**
 * Which rows are in sight, where all are of one height. Nothing is kept per row, so a hundred thousand of them cost what
 * ten do, and one more costs nothing.
 */
import { useCallback, useEffect, useState } from "react";

export interface Rows {
  /** For the element that scrolls. */
  ref: (element: HTMLDivElement | null) => void;
  element: HTMLDivElement | null;
  first: number;
  /** The one after the last. */
  end: number;
  total: number;
  bring: (index: number) => void;
}

interface Seen {
  first: number;
  count: number;
}

/** The rows to draw: those in sight, and some around them. */
export function rangeOf(seen: Seen, count: number, around: number): { first: number; end: number } {
  const first = Math.min(Math.max(0, seen.first - around), Math.max(0, count - 1));
  return { first, end: Math.min(count, seen.first + seen.count + around) };
}

/** Where to scroll so that a row is in sight; null: it is. */
export function scrollFor(index: number, row: number, top: number, height: number, head = 0): number | null {
  const from = index * row;
  if (from < top) return from;
  const to = from + row + head;
  return to > top + height ? to - height : null;
}

/** `head`: what stands fixed above the rows, in pixels. */
export function useRows(count: number, row: number, around = 12, head = 0): Rows {
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [seen, setSeen] = useState<Seen>({ first: 0, count: 40 });
  useEffect(() => {
    if (!element) return;
    const look = (): void => {
      const first = Math.floor(element.scrollTop / row);
      const fits = Math.ceil(element.clientHeight / row) + 1;
      setSeen((now) => (now.first === first && now.count === fits ? now : { first, count: fits }));
    };
    const sizes = new ResizeObserver(look);
    element.addEventListener("scroll", look, { passive: true });
    sizes.observe(element);
    look();
    return () => {
      element.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, [element, row]);
  const bring = useCallback(
    (index: number): void => {
      if (!element) return;
      const to = scrollFor(index, row, element.scrollTop, element.clientHeight, head);
      if (to !== null) element.scrollTop = to;
    },
    [element, row, head],
  );
  return { ref: setElement, element, ...rangeOf(seen, count, around), total: count * row, bring };
}
