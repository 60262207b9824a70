/** What tasks printed and what happened, as one stream of lines: filtered, followed, virtualised. */
import { type MouseEvent, memo, useEffect, useId, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { addressOf } from "@/api/client";
import { useStream } from "@/api/stream";
import { Button, Command, Empty, Failure, format, Icon, IS_LIVE, Loading, lookOf } from "@/parts";
import { executionAddress } from "@/routes";
import { type LogLine, useGraph } from "./asking";
import type { TabProps } from "./index";
import { type FILTERS, type Filter, filterOf, useLines } from "./lines";
import { isViewing } from "./viewing";
import { useRows } from "./window";

const ROW = 22;
const LEVELS = ["debug", "info", "warning", "error"] as const;

export default function LogsTab({ shown }: TabProps) {
  const id = shown.execution_id;
  const [search, setSearch] = useSearchParams();
  const filter = filterOf(search);
  const isLive = IS_LIVE.has(shown.status);
  const change = (name: (typeof FILTERS)[number], value: string): void =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return (
    <div className="execution-part">
      <Filters id={id} filter={filter} onChange={change} />
      <Lines key={JSON.stringify(filter)} id={id} filter={filter} isLive={isLive} last={shown.events} />
    </div>
  );
}

function Filters(props: {
  id: string;
  filter: Filter;
  onChange: (name: (typeof FILTERS)[number], value: string) => void;
}) {
  const { filter, onChange } = props;
  const graph = useGraph(props.id);
  const [text, setText] = useState(filter.q ?? "");
  const [iteration, setIteration] = useState(filter.iteration ?? "");
  const base = useId();
  useEffect(() => {
    const timer = window.setTimeout(() => {
      if (text !== (filter.q ?? "")) onChange("q", text);
      if (iteration !== (filter.iteration ?? "")) onChange("iteration", iteration);
    }, 300);
    return () => window.clearTimeout(timer);
  }, [text, iteration, filter.q, filter.iteration, onChange]);
  const steps = graph.data?.graph?.steps ?? [];
  return (
    <div className="execution-filters" role="search" aria-label="Which lines">
      <label htmlFor={`${base}q`}>
        <span className="hidden-words">Text</span>
        <input
          id={`${base}q`}
          type="search"
          placeholder="Text in the line"
          maxLength={200}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label htmlFor={`${base}step`}>
        <span className="hidden-words">Step</span>
        <select id={`${base}step`} value={filter.step ?? ""} onChange={(event) => onChange("step", event.target.value)}>
          <option value="">every step</option>
          {steps.map((step) => (
            <option key={step.name} value={step.name}>
              {step.name}
            </option>
          ))}
        </select>
      </label>
      <label htmlFor={`${base}iteration`}>
        <span className="hidden-words">Iteration</span>
        <input
          id={`${base}iteration`}
          type="number"
          min={0}
          placeholder="iteration"
          value={iteration}
          onChange={(event) => setIteration(event.target.value)}
        />
      </label>
      <label htmlFor={`${base}level`}>
        <span className="hidden-words">Level</span>
        <select
          id={`${base}level`}
          value={filter.level ?? ""}
          onChange={(event) => onChange("level", event.target.value)}
        >
          <option value="">every level</option>
          {LEVELS.slice(1).map((level) => (
            <option key={level} value={level}>
              {level}
              {level === "error" ? "" : " and above"}
            </option>
          ))}
        </select>
      </label>
      {(["run", "task"] as const).map((name) =>
        filter[name] ? (
          <button key={name} type="button" className="chip" aria-pressed="true" onClick={() => onChange(name, "")}>
            {name} {filter[name]} <Icon name="cross" title="remove" />
          </button>
        ) : null,
      )}
      {isViewing(props.id) ? null : <Command words={["events", props.id, "--follow"]} />}
    </div>
  );
}

function Lines({ id, filter, isLive, last }: { id: string; filter: Filter; isLive: boolean; last: number }) {
  const lines = useLines(id, filter, isLive ? last : 0);
  const [isFollowing, setFollowing] = useState(isLive);
  const [, go] = useLocation();
  const address =
    isLive && lines.streamFrom !== null ? addressOf(`/api/v1/executions/${id}/logs/stream`, {}, { ...filter }) : null;
  const stream = useStream(
    address,
    (events) => lines.append(events.map((event) => JSON.parse(event.data) as LogLine)),
    String(lines.streamFrom ?? 0),
  );
  const rows = lines.rows;
  const seen = useRows(rows.length, ROW);
  const { element, bring } = seen;
  const top = useRef(0);
  const { more, isMore } = lines;
  useEffect(() => {
    if (isMore && seen.end >= rows.length - 50) more();
  }, [isMore, seen.end, rows.length, more]);
  useEffect(() => {
    if (isFollowing && rows.length) bring(rows.length - 1);
  }, [isFollowing, rows.length, bring]);
  const scrolled = (): void => {
    if (!element) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 2 * ROW;
    const isUp = element.scrollTop < top.current; // by a person: what follows goes down only
    top.current = element.scrollTop;
    if (isFollowing && isUp) setFollowing(false);
    else if (!isFollowing && !isUp && isAtEnd && isLive && !isMore) setFollowing(true);
  };
  // One ear for the links of all lines: a hundred links with hooks of their own would make scrolling stutter.
  const follow = (event: MouseEvent): void => {
    const link = (event.target as Element).closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(link.pathname.replace(/^\/ui/, "") + link.search);
  };
  const toEnd = async (): Promise<void> => {
    if (isMore) await lines.jumpToEnd(last);
    setFollowing(isLive);
    requestAnimationFrame(() => bring(lines.count() - 1));
  };
  if (lines.error && !rows.length) return <Failure error={lines.error} retry={more} />;
  if (!rows.length) {
    if (isMore) return <Loading what="Reading the log" />;
    return (
      <Empty title={Object.keys(filter).length ? "No line answers these filters" : "Nothing was said yet"} icon="list">
        {isLive ? "New lines appear here by themselves." : "Take a filter away, or print something in a task."}
      </Empty>
    );
  }
  return (
    <>
      <div className="execution-bar">
        <p className="execution-lead">
          <span>
            {format.plural(rows.length, "line")}
            {isMore ? " so far" : ""}
          </span>
          {lines.from > 0 ? (
            <Button size="s" look="quiet" busy={lines.isBusy} onClick={lines.earlier}>
              Load earlier lines
            </Button>
          ) : null}
        </p>
        <span className="execution-lead">
          {isLive ? (
            <Button
              size="s"
              icon={isFollowing ? "pause" : "down"}
              aria-pressed={isFollowing}
              onClick={() => (isFollowing ? setFollowing(false) : void toEnd())}
            >
              {isFollowing ? `Following${stream.state === "live" ? "" : ` (${stream.state})`}` : "Follow"}
            </Button>
          ) : null}
          <Button size="s" look="quiet" icon="down" onClick={() => void toEnd()}>
            To the end
          </Button>
        </span>
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: it hears the links in it, and Enter on a link is a click */}
      <div
        className="execution-log"
        ref={seen.ref}
        onScroll={scrolled}
        onClick={follow}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Lines"
      >
        <div className="execution-log-body" style={{ height: seen.total }}>
          {rows.slice(seen.first, seen.end).map((line, at) => (
            <OneLine key={`${line.seq}.${line.line}`} id={id} line={line} top={(seen.first + at) * ROW} />
          ))}
        </div>
      </div>
    </>
  );
}

const OneLine = memo(function OneLine({ id, line, top }: { id: string; line: LogLine; top: number }) {
  const look = lookOf(line.level);
  return (
    <div
      className={`execution-line is-${line.level} is-${line.source} tone-${look.tone}`}
      style={{ transform: `translateY(${top}px)` }}
    >
      <a
        href={`/ui${executionAddress(id, "travel", { seq: line.seq })}`}
        className="execution-line-at"
        title={`${format.exact(Date.parse(line.at))}, event ${line.seq}`}
      >
        {format.clock(Date.parse(line.at))}
      </a>
      <span className="execution-line-level">{line.level === "info" ? "" : line.level}</span>
      <span className="execution-line-place" title={placeOf(line)}>
        {placeOf(line)}
      </span>
      <span className="execution-line-text" title={line.text}>
        {line.text}
      </span>
    </div>
  );
});

function placeOf(line: LogLine): string {
  if (!line.step) return "";
  return line.iteration === null ? line.step : `${line.step}[${line.iteration}]`;
}
