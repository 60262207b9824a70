import { Icon } from "./icons";
import { lookOf } from "./statuses";

/** A status as a badge: icon and word. `plain` leaves the ground out, for dense rows; `word` says something else. */
export function Status({ status, plain, word }: { status: string; plain?: boolean; word?: string }) {
  const look = lookOf(status);
  return (
    <span className={`status tone-${look.tone} ${plain ? "status-plain" : ""}`} data-status={status}>
      <Icon name={look.icon} className={look.icon === "spin" ? "icon-spin" : ""} />
      <span>{word ?? look.word}</span>
    </span>
  );
}
