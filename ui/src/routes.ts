/** Where each page is. Addresses are made here and nowhere else; they are below the base, /ui. */
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

export interface Route {
  pattern: string;
  page: LazyExoticComponent<ComponentType>;
}

export const ROUTES: readonly Route[] = [
  { pattern: "/", page: lazy(() => import("./pages/home")) },
  { pattern: "/playbooks", page: lazy(() => import("./pages/playbooks")) },
  { pattern: "/playbooks/:path/:tab?", page: lazy(() => import("./pages/playbook")) },
  { pattern: "/executions", page: lazy(() => import("./pages/executions")) },
  { pattern: "/executions/:id/:tab?", page: lazy(() => import("./pages/execution")) },
  { pattern: "/schedules", page: lazy(() => import("./pages/schedules")) },
  { pattern: "/workers", page: lazy(() => import("./pages/workers")) },
  { pattern: "/keychain", page: lazy(() => import("./pages/keychain")) },
  { pattern: "/open", page: lazy(() => import("./pages/open")) },
];

/** A playbook's path is one word of the address, slashes encoded. */
export function playbookAddress(path: string, tab = ""): string {
  return `/playbooks/${encodeURIComponent(path)}${tab ? `/${tab}` : ""}`;
}

export function executionAddress(id: string, tab = "", query: Record<string, string | number> = {}): string {
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return `/executions/${id}${tab ? `/${tab}` : ""}${asked ? `?${asked}` : ""}`;
}

export function executionsAddress(query: Record<string, string> = {}): string {
  const asked = new URLSearchParams(query).toString();
  return asked ? `/executions?${asked}` : "/executions";
}
