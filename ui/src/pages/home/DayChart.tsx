/** What ended in the last 24 hours, hour by hour: bars for eyes, a table for whoever would rather read. */
import { useState } from "react";
import { Link } from "wouter";
import { Empty, format, Section } from "@/parts";
import { executionsAddress } from "@/routes";
import { type Bar, barsOf, type Hour, PARTS } from "./bars";

const TONES = { success: "ok", failed: "bad", cancelled: "idle" } as const;
const LABEL_EVERY = 4;

export function DayChart({ hours }: { hours: readonly Hour[] }) {
  const [isTable, setTable] = useState(false);
  const { bars, most } = barsOf(hours);
  const isEmpty = bars.every((bar) => bar.total === 0);
  return (
    <Section
      title="Last 24 hours"
      actions={
        <fieldset className="switch" aria-label="How to show it">
          <button type="button" aria-pressed={!isTable} onClick={() => setTable(false)}>
            Chart
          </button>
          <button type="button" aria-pressed={isTable} onClick={() => setTable(true)}>
            Table
          </button>
        </fieldset>
      }
    >
      {isTable ? <Hours hours={hours} /> : isEmpty ? <Quiet /> : <Picture bars={bars} most={most} />}
    </Section>
  );
}

function Quiet() {
  return <Empty title="Nothing ended in the last day">What ends shows here, hour by hour.</Empty>;
}

function Picture({ bars, most }: { bars: readonly Bar[]; most: number }) {
  return (
    <figure className="home-chart">
      <div className="home-chart-scale" aria-hidden="true">
        <span>{format.count(most)}</span>
        <span>{most > 1 ? format.count(most / 2) : ""}</span>
        <span>0</span>
      </div>
      <ol className="home-bars">
        {bars.map((bar, at) => (
          <li key={bar.hour.at}>
            <HourBar bar={bar} />
            <span className="home-bar-label" aria-hidden="true">
              {at % LABEL_EVERY === bars.length % LABEL_EVERY ? hourOf(bar.hour.at) : ""}
            </span>
          </li>
        ))}
      </ol>
      <figcaption className="home-legend">
        {PARTS.map((name) => (
          <span key={name} className={`tone-${TONES[name]}`}>
            <i className={`home-part-${name}`} /> {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Leads to what began in that hour; what ended in it mostly began then. */
function HourBar({ bar }: { bar: Bar }) {
  const words = `${hourOf(bar.hour.at)}: ${PARTS.map((name) => `${bar.hour[name]} ${name}`).join(", ")}`;
  if (!bar.total) return <span className="home-bar" title={words} />;
  return (
    <Link className="home-bar" href={hourAddress(bar.hour)} title={words} aria-label={words}>
      {bar.parts.map((part) => (
        <span
          key={part.name}
          className={`home-part home-part-${part.name} tone-${TONES[part.name]}`}
          style={{ bottom: `${part.from * 100}%`, height: `${part.height * 100}%` }}
        />
      ))}
    </Link>
  );
}

function hourAddress(hour: Hour): string {
  const from = Date.parse(hour.at);
  return executionsAddress({ since: new Date(from).toISOString(), until: new Date(from + 3_600_000).toISOString() });
}

function hourOf(at: string): string {
  return format.clock(Date.parse(at)).slice(0, 5);
}

function Hours({ hours }: { hours: readonly Hour[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className="home-hours" tabIndex={0} role="region" aria-label="Hours">
      <table>
        <thead>
          <tr>
            <th scope="col">Hour</th>
            {PARTS.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hours.toReversed().map((hour) => (
            <tr key={hour.at}>
              <th scope="row">{hourOf(hour.at)}</th>
              {PARTS.map((name) => (
                <td key={name} className={hour[name] ? "" : "muted"}>
                  {format.count(hour[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
