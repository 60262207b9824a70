import type { ReactNode } from "react";
import { Icon } from "@/parts";

/** The last error, in the server's words, and what follows from it. */
export function Fault({ words, advice, at }: { words: string; advice: string; at?: ReactNode }) {
  if (!words) return null;
  return (
    <div className="schedules-fault tone-bad">
      <Icon name="alert" title="Last error" />
      <p>
        <strong>{words}</strong>
        <span className="muted">
          {at} {advice}
        </span>
      </p>
    </div>
  );
}
