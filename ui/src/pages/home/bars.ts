/** The last 24 hours as bars: how high each part is. Pure. */
import type { Schemas } from "@/api/client";

export type Hour = Schemas["HourRow"];
export const PARTS = ["success", "failed", "cancelled"] as const;

export interface Bar {
  hour: Hour;
  total: number;
  /** From the bottom: where each part begins and how high it is, in shares of the whole height. */
  parts: { name: (typeof PARTS)[number]; from: number; height: number }[];
}

const LEAST = 0.025; // one failure among a thousand successes must still be seen

export function barsOf(hours: readonly Hour[]): { bars: Bar[]; most: number } {
  const most = niceMost(Math.max(0, ...hours.map(totalOf)));
  return { most, bars: hours.map((hour) => barOf(hour, most)) };
}

function barOf(hour: Hour, most: number): Bar {
  let from = 0;
  const parts: Bar["parts"] = [];
  for (const name of PARTS) {
    if (!hour[name]) continue;
    const height = Math.max(LEAST, hour[name] / most);
    parts.push({ name, from, height });
    from += height;
  }
  const tall = Math.max(1, from); // what the least heights add must not stand out at the top
  const fitted = parts.map((one) => ({ ...one, from: one.from / tall, height: one.height / tall }));
  return { hour, total: totalOf(hour), parts: fitted };
}

export function totalOf(hour: Hour): number {
  return hour.success + hour.failed + hour.cancelled;
}

/** A round number that is not below: 1, 2, 5, 10, 20, 50 … */
export function niceMost(value: number): number {
  if (value <= 1) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((one) => one * size >= value) ?? 10) * size;
}
