/** All pages: who asks, what is asked again and when, the frame, and the page of the address. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { Router } from "wouter";
import { Problem } from "@/api/problem";
import { session } from "@/api/session";
import { Toasts } from "@/parts/toasts";
import { Frame } from "./Frame";
import { Login } from "./Login";

const TRIES = 3;

function makeClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // The bell says when something changed (api/live); nothing is asked on a timer or because a window was looked at.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        retry: (failures, error) => failures < TRIES && error instanceof Problem && error.isPassing,
      },
      mutations: { retry: false },
    },
  });
}

export function App() {
  const token = useSyncExternalStore(session.subscribe, session.token);
  // What one token may see, the next may not: its answers go with it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a client belongs to a token
  const client = useMemo(makeClient, [token]);
  useEffect(() => () => client.clear(), [client]);
  return (
    <QueryClientProvider client={client}>
      <Router base="/ui">
        {token ? <Frame key={token} /> : <Login />}
        <Toasts />
      </Router>
    </QueryClientProvider>
  );
}
