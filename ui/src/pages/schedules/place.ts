/** What of the page is shown; the address says so. */
import { useLocation, useSearch } from "wouter";
import type { Kind } from "./documents";

export interface Place {
  kind: Kind;
  /** Whose details are open. */
  shown: string;
  /** Whose document is being written; "" is a new one, null none. */
  edited: string | null;
}

export function readPlace(search: string): Place {
  const asked = new URLSearchParams(search);
  return {
    kind: asked.get("tab") === "triggers" ? "trigger" : "schedule",
    shown: asked.get("show") ?? "",
    edited: asked.get("edit"),
  };
}

export function placeAddress(place: Partial<Place> & { kind: Kind }): string {
  const words = new URLSearchParams();
  if (place.kind === "trigger") words.set("tab", "triggers");
  if (place.shown) words.set("show", place.shown);
  if (place.edited !== undefined && place.edited !== null) words.set("edit", place.edited);
  const text = words.toString();
  return text ? `/schedules?${text}` : "/schedules";
}

export function usePlace(): [Place, (place: Partial<Place> & { kind: Kind }, replace?: boolean) => void] {
  const search = useSearch();
  const [, go] = useLocation();
  return [readPlace(search), (place, replace = false) => go(placeAddress(place), { replace })];
}
