/** Rows that come page by page, for a table that asks for more when its end comes into sight. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

export interface Paged<Row> {
  rows: readonly Row[];
  more: () => void;
  isMore: boolean;
  isLoading: boolean;
  error: unknown;
  retry: () => void;
}

export function usePaged<Page extends { next: number | null }, Row>(
  key: readonly unknown[],
  ask: (after: number, signal: AbortSignal) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
  isOn = true,
): Paged<Row> & { first: Page | undefined } {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ signal, pageParam }) => ask(pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last: Page) => last.next,
    enabled: isOn,
  });
  const { fetchNextPage, hasNextPage, isFetching } = query;
  const pages = query.data?.pages;
  // biome-ignore lint/correctness/useExhaustiveDependencies: how rows are found in a page does not change
  const rows = useMemo(() => (pages ?? []).flatMap(rowsOf), [pages]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return {
    rows,
    more,
    isMore: hasNextPage,
    isLoading: query.isPending && isOn,
    error: query.error,
    retry: () => void query.refetch(),
    first: pages?.[0],
  };
}
