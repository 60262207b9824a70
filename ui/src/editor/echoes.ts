/**
 * Tells a text that somebody else put in from one that the editor itself told of: what it tells comes back as its value
 * a little later, and by then more may have been typed, which must not be undone. Pure.
 */
export interface Echoes {
  told: string[];
}

const KEPT = 32; // texts that were told and did not come back yet

export function tell(echoes: Echoes, text: string): void {
  echoes.told.push(text);
  if (echoes.told.length > KEPT) echoes.told.shift();
}

/** Whether a value is an echo; those that were told before it will not come any more. */
export function isEcho(echoes: Echoes, value: string): boolean {
  const at = echoes.told.indexOf(value);
  if (at >= 0) echoes.told.splice(0, at + 1);
  return at >= 0;
}

/** The smallest change that makes one text of another: what they share at both ends stays, with the cursor in it. */
export function changeOf(text: string, wanted: string): { from: number; to: number; insert: string } {
  const most = Math.min(text.length, wanted.length);
  let from = 0;
  while (from < most && text[from] === wanted[from]) from += 1;
  let end = 0;
  while (end < most - from && text[text.length - 1 - end] === wanted[wanted.length - 1 - end]) end += 1;
  return { from, to: text.length - end, insert: wanted.slice(from, wanted.length - end) };
}
