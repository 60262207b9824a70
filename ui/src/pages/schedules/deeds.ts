/** What is done to a schedule or a trigger, each also as a command line. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { toast } from "@/parts";
import { executionAddress } from "@/routes";
import { KINDS, type Kind, type Schedule } from "./documents";

export type Deed = "pause" | "resume" | "run";

export function wordsOf(deed: Deed, row: Schedule): string[] {
  return ["schedule", deed, row.name];
}

export interface Done {
  text: string;
  execution: string | null;
}

/** Says what was done, where nothing covers it. */
export const TOLD = {
  onSuccess: ({ text, execution }: Done): void =>
    execution ? toast(text, { href: executionAddress(execution), text: execution }) : toast(text),
  onError: (error: unknown): void => toast.failed(error),
};

/** Pause, resume, run now. */
export function useDeed() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ deed, row }: { deed: Deed; row: Schedule }): Promise<Done> => {
      const path = { name: row.name };
      if (deed === "run") {
        const begun = await api.post("/api/v1/schedules/{name}/run", { path, body: {} });
        return { text: `${row.name} was started:`, execution: begun.execution_id };
      }
      if (deed === "pause") {
        await api.post("/api/v1/schedules/{name}/pause", { path, body: {} });
        return { text: `${row.name} rests.`, execution: null };
      }
      await api.post("/api/v1/schedules/{name}/resume", { path, body: {} });
      return { text: `${row.name} goes on.`, execution: null };
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedules"] }),
  });
}

export function useRemoving(kind: Kind, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) =>
      kind === "schedule"
        ? api.delete("/api/v1/schedules/{name}", { path: { name } })
        : api.delete("/api/v1/triggers/{name}", { path: { name } }),
    onSuccess: (_, name) => {
      toast(`${name} was removed`);
      onDone();
    },
    onSettled: () => client.invalidateQueries({ queryKey: [KINDS[kind].many] }),
  });
}
