/** The stream of one subject (the events or the log of an execution) in a component. */
import { useEffect, useRef, useState } from "react";
import { type FollowState, follow } from "./following";
import type { Problem } from "./problem";
import type { ServerEvent } from "./sse";

export interface Stream {
  state: FollowState;
  problem: Problem | null;
}

/**
 * Follows `address` while the component is there; null follows nothing. `onEvents` gets what arrived together, so that
 * a thousand events are one change of state. `lastId`: what is here already; only its first value counts.
 */
export function useStream(address: string | null, onEvents: (events: ServerEvent[]) => void, lastId = ""): Stream {
  const [stream, setStream] = useState<Stream>({ state: "connecting", problem: null });
  const latest = useRef(onEvents);
  latest.current = onEvents;
  const first = useRef(lastId);
  first.current = lastId;
  useEffect(() => {
    if (!address) return;
    return follow({
      address,
      lastId: first.current,
      onEvents: (events) => latest.current(events),
      onState: (state, problem) => setStream({ state, problem: problem ?? null }),
    });
  }, [address]);
  return stream;
}
