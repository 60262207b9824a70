/** Expressions that were asked, newest first, for as long as the window is open. */
const MOST = 20;
const key = (id: string): string => `noetl.expressions.${id}`;

export function historyOf(id: string, kept: Pick<Storage, "getItem"> = sessionStorage): string[] {
  try {
    const found: unknown = JSON.parse(kept.getItem(key(id)) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function addToHistory(
  id: string,
  expression: string,
  kept: Pick<Storage, "getItem" | "setItem"> = sessionStorage,
): string[] {
  const next = [expression, ...historyOf(id, kept).filter((one) => one !== expression)].slice(0, MOST);
  try {
    kept.setItem(key(id), JSON.stringify(next));
  } catch {
    // full or forbidden: it is a comfort, not a need
  }
  return next;
}
