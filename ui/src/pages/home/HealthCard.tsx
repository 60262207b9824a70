import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "@/api/client";
import { Asked, Command, Section, Status } from "@/parts";
import { checkLines, type HealthLine, poolLines } from "./health";

/** Store, queue and workers: how each is, and what to do where it is not well. */
export function HealthCard() {
  const health = useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => api.get("/api/v1/health", { signal }),
  });
  const pools = useQuery({
    queryKey: ["workforce", "pools"],
    queryFn: ({ signal }) => api.get("/api/v1/pools", { signal }),
  });
  return (
    <Section title="Health" actions={<Link href="/workers">Workers</Link>}>
      <ul className="home-rows">
        <Asked query={health}>{(data) => <Lines lines={checkLines(data)} />}</Asked>
        <Asked query={pools}>{(data) => <Lines lines={poolLines(data.pools)} />}</Asked>
      </ul>
    </Section>
  );
}

function Lines({ lines }: { lines: readonly HealthLine[] }) {
  return lines.map((line) => (
    <li key={line.name} className="home-health">
      <Status status={line.status} plain word={line.name} />
      <span className="home-health-says">{line.says}</span>
      {line.advice ? (
        <p className="home-advice">
          {line.advice} {line.command ? <Command words={line.command} /> : null}
        </p>
      ) : null}
    </li>
  ));
}
