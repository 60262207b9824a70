/** Who one is and what one may. A page hides or greys out what the role may not, and says which role may. */
import { useQuery } from "@tanstack/react-query";
import { type Answer, api } from "./client";
import { session } from "./session";

export const ROLES = ["viewer", "runner", "author", "admin"] as const;
export type Role = (typeof ROLES)[number];

export type Identity = Answer<"/api/v1/identity">;

export function isAtLeast(role: string | undefined, least: Role): boolean {
  return ROLES.indexOf(role as Role) >= ROLES.indexOf(least);
}

export function useIdentity() {
  return useQuery({
    queryKey: ["identity"],
    queryFn: ({ signal }) => api.get("/api/v1/identity", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: session.token() !== "",
  });
}

export interface Permission {
  is: boolean;
  /** Why not, for a title or a tooltip; "" if one may. */
  reason: string;
}

/** `const may = useMay(); may("runner").is`: whether this token may, and if not, why. */
export function useMay(): (least: Role) => Permission {
  const { data } = useIdentity();
  return (least) => {
    if (isAtLeast(data?.role, least)) return { is: true, reason: "" };
    const has = data ? `; this token has ${data.role}` : "";
    return { is: false, reason: `this needs the role ${least}${has}` };
  };
}
