/** A file that is dragged over the window can be dropped anywhere: an exported execution is looked at. */
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Icon } from "@/parts/icons";
import { bring } from "./brought";

const GONE_MS = 250; // while a file is over the window, the browser says so more often than this

export function DropTarget() {
  const [, go] = useLocation();
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    let timer: number | undefined;
    const end = (): void => {
      window.clearTimeout(timer);
      setOver(false);
    };
    const over = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // or the browser would open the file in place of the page
      event.dataTransfer.dropEffect = "copy";
      setOver(true);
      window.clearTimeout(timer);
      timer = window.setTimeout(end, GONE_MS);
    };
    const drop = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      end();
      const file = event.dataTransfer.files[0];
      if (!file) return;
      bring(file);
      go("/open");
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      end();
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, [go]);
  if (!isOver) return null;
  return (
    <div className="drop" role="status">
      <p>
        <Icon name="open" />
        Drop an exported execution here to look at it
      </p>
    </div>
  );
}
