/** One stored result: the first mebibyte of it as a table or JSON, and all of it as a download. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask } from "@/api/client";
import { Button, Data, Failure, format, Loading, toast } from "@/parts";
import { save } from "./Actions";
import { previewOf } from "./preview";

const READ_MAX = 1024 * 1024;

export function Reference({ id, seq }: { id: string; seq: number }) {
  const address = `/api/v1/executions/${id}/results?seq=${seq}`;
  const [isBusy, setBusy] = useState(false);
  const query = useQuery({
    queryKey: ["execution", id, "result", seq],
    queryFn: ({ signal }) => read(address, signal),
    gcTime: 60_000,
  });
  const download = async (): Promise<void> => {
    setBusy(true);
    try {
      save(await (await ask("GET", address)).blob(), `${id}-${seq}.${endingOf(query.data?.media ?? "")}`);
    } catch (error) {
      toast.failed(error);
    } finally {
      setBusy(false);
    }
  };
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="Reading the result" />;
  const { preview, size, media } = query.data;
  const isText = preview.kind === "text" || preview.kind === "bytes";
  return (
    <div className="execution-part">
      <div className="execution-bar">
        <span className="execution-lead">
          <span>{media || "no type"}</span>
          <span>{size === null ? "size unknown" : format.bytes(size)}</span>
          {preview.isCut ? <span className="execution-warn">the beginning of it; the download has all</span> : null}
        </span>
        <Button size="s" icon="download" busy={isBusy} onClick={() => void download()}>
          Download
        </Button>
      </div>
      {isText ? (
        <pre className="execution-text">{String(preview.value)}</pre>
      ) : (
        <Data value={preview.value} label="result" />
      )}
    </div>
  );
}

function endingOf(media: string): string {
  const endings: Record<string, string> = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "text/csv": "csv",
    "text/plain": "txt",
  };
  return endings[media.split(";")[0] ?? ""] ?? "bin";
}

/** Reads at most READ_MAX bytes, and leaves the rest where it is. */
async function read(address: string, signal: AbortSignal) {
  const cutting = new AbortController();
  signal.addEventListener("abort", () => cutting.abort());
  const response = await ask("GET", address, { signal: cutting.signal });
  const media = response.headers.get("content-type") ?? "";
  const told = response.headers.get("content-length");
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  const reader = response.body?.getReader();
  while (reader) {
    const { value, done } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > READ_MAX) {
      isCut = true;
      cutting.abort();
      break;
    }
  }
  const bytes = new Uint8Array(Math.min(size, READ_MAX));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece.subarray(0, Math.max(0, READ_MAX - at)), at);
    at += Math.min(piece.length, READ_MAX - at);
  }
  return { preview: previewOf(bytes, media, isCut), media, size: told === null ? (isCut ? null : size) : Number(told) };
}
