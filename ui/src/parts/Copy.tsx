import { useEffect, useState } from "react";
import { Button } from "./Button";

const SHOWN_MS = 1500;

/** Copies a text; says so. Where the browser gives no clipboard (plain http), it selects nothing and says that. */
export function Copy({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = window.setTimeout(() => setSaid(""), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setSaid("Copied");
    } catch {
      setSaid("Not allowed here");
    }
  };
  return (
    <Button
      icon={said === "Copied" ? "check" : "copy"}
      look="quiet"
      size="s"
      onClick={() => void copy()}
      aria-live="polite"
    >
      {said || label}
    </Button>
  );
}
