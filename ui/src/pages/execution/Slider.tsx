/** The slider over the events: arrows go one by one, Shift ten, page keys from mark to mark; play goes by itself. */
import { type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import { Button, format } from "@/parts";
import type { EventDocument, Mark } from "./asking";
import { moveOf, nextStop, within } from "./travel";

const PLAY_MS = 450;

interface SliderProps {
  seq: number;
  last: number;
  marks: readonly Mark[];
  onSeq: (seq: number) => void;
  /** What stands at `seq` is in sight: play waits for it. */
  isReady: boolean;
  event: EventDocument | undefined;
  children: ReactNode;
}

export function Slider({ seq, last, marks, onSeq, isReady, event, children }: SliderProps) {
  const [isPlaying, setPlaying] = usePlay(seq, last, marks, onSeq, isReady);
  const press = (pressed: KeyboardEvent): void => {
    const next = moveOf(pressed.key, pressed.shiftKey, seq, last, marks);
    if (pressed.key === " ") setPlaying(!isPlaying);
    else if (next === null) return;
    else onSeq(next);
    pressed.preventDefault();
  };
  const here = marks.find((mark) => mark.seq === seq);
  return (
    <div className="card execution-slider">
      <div className="execution-slider-row">
        <div className="execution-slider-buttons" role="group" aria-label="Move through the events">
          <Button icon={isPlaying ? "pause" : "run"} size="s" look="main" onClick={() => setPlaying(!isPlaying)}>
            {isPlaying ? "Pause" : "Play"}
          </Button>
          <Button icon="left" size="s" aria-label="The event before" onClick={() => onSeq(within(seq - 1, last))} />
          <Button icon="right" size="s" aria-label="The next event" onClick={() => onSeq(within(seq + 1, last))} />
        </div>
        <div className="execution-slider-track">
          <Marks marks={marks} last={last} onSeq={onSeq} />
          <input
            type="range"
            min={1}
            max={Math.max(1, last)}
            value={seq}
            aria-label="Event"
            aria-valuetext={`event ${seq} of ${last}${event ? `, ${event.name}${event.step ? ` of ${event.step}` : ""}` : ""}`}
            onChange={(changed) => onSeq(Number(changed.target.value))}
            onKeyDown={press}
          />
        </div>
        <label className="execution-slider-seq">
          <span className="hidden-words">Number of the event</span>
          <input
            type="number"
            min={1}
            max={last}
            value={seq}
            onChange={(changed) => changed.target.value && onSeq(within(Number(changed.target.value), last))}
          />
          <span className="muted nowrap">of {format.count(last)}</span>
        </label>
      </div>
      <div className="execution-slider-row">
        <p className="execution-slider-event" aria-live={isPlaying ? "off" : "polite"}>
          <span className="mono">{event?.name ?? here?.name ?? "…"}</span>
          {event?.step ? <strong>{event.step}</strong> : null}
          {event ? <span className="muted nowrap">{format.exact(Date.parse(event.timestamp))}</span> : null}
        </p>
        <div className="execution-slider-actions">{children}</div>
      </div>
      <p className="execution-hint">
        <kbd>←</kbd> <kbd>→</kbd> one event, <kbd>Shift</kbd> ten, <kbd>PgUp</kbd> <kbd>PgDn</kbd> from mark to mark,{" "}
        <kbd>Home</kbd> <kbd>End</kbd>, <kbd>Space</kbd> plays.
      </p>
    </div>
  );
}

function usePlay(
  seq: number,
  last: number,
  marks: readonly Mark[],
  onSeq: (seq: number) => void,
  isReady: boolean,
): [boolean, (isPlaying: boolean) => void] {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying || !isReady) return;
    const next = nextStop(marks, seq, last);
    if (next === null) {
      setPlaying(false);
      return;
    }
    const timer = window.setTimeout(() => onSeq(next), PLAY_MS);
    return () => window.clearTimeout(timer);
  }, [isPlaying, isReady, marks, seq, last, onSeq]);
  const play = (wanted: boolean): void => {
    if (wanted && seq >= last) onSeq(1);
    setPlaying(wanted);
  };
  return [isPlaying, play];
}

/** Landmarks as ticks. They are for pointers and eyes; keys have Page Up and Page Down. */
function Marks({ marks, last, onSeq }: { marks: readonly Mark[]; last: number; onSeq: (seq: number) => void }) {
  return (
    <svg
      className="execution-marks"
      aria-hidden="true"
      focusable="false"
      viewBox="0 0 1000 12"
      preserveAspectRatio="none"
    >
      {marks.map((mark) => {
        const x = last > 1 ? ((mark.seq - 1) / (last - 1)) * 1000 : 0;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: it is hidden from readers, who have the slider
          <g key={mark.seq} className={`execution-mark is-${mark.kind}`} onClick={() => onSeq(mark.seq)}>
            <title>{`${format.count(mark.seq)} ${mark.name}${mark.step ? ` ${mark.step}` : ""}`}</title>
            <line x1={x} x2={x} y1={mark.kind === "failure" ? 0 : 4} y2={12} vectorEffect="non-scaling-stroke" />
          </g>
        );
      })}
    </svg>
  );
}
