/** A file that was brought to be looked at: its id is above every id that a store gives. Nothing can be done to it. */
const FIRST_ID = 2n ** 62n;

export function isViewing(id: string): boolean {
  return /^\d{1,19}$/.test(id) && BigInt(id) >= FIRST_ID;
}
