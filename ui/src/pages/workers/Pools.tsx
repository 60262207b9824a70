/** Pools: what is ready, held and parked in each, who is there, and why jobs wait. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "@/api/client";
import { Asked, Command, Duration, Empty, format, Icon, Section } from "@/parts";
import { type Pool, since, startWords, wantedAddress } from "./jobs";

export function usePools() {
  return useQuery({
    queryKey: ["workforce", "pools"],
    queryFn: ({ signal }) => api.get("/api/v1/pools", { signal }),
  });
}

export function Pools() {
  const query = usePools();
  return (
    <Section title="Pools" plain>
      <Asked query={query} what="Asking for pools">
        {({ pools }) =>
          pools.length ? (
            <ul className="workers-pools">
              {pools.map((pool) => (
                <One key={pool.pool} pool={pool} toldAt={query.dataUpdatedAt} />
              ))}
            </ul>
          ) : (
            <Empty title="No job waits, and none is under way" icon="check">
              A pool shows here with its first job, or with its first worker.
            </Empty>
          )
        }
      </Asked>
    </Section>
  );
}

function One({ pool, toldAt }: { pool: Pool; toldAt: number }) {
  const counts = ["ready", "leased", "parked"] as const;
  return (
    <li className="card workers-pool">
      <div className="workers-pool-head">
        <h3>{pool.pool}</h3>
        <span className="muted">{format.plural(pool.workers, "worker")}</span>
      </div>
      <dl className="workers-counts">
        {counts.map((state) => (
          <div key={state}>
            <dt>{state}</dt>
            <dd>
              <Link href={wantedAddress({ pool: pool.pool, state })} title={`Jobs of ${pool.pool} that are ${state}`}>
                {format.count(pool[state])}
              </Link>
            </dd>
          </div>
        ))}
        <div>
          <dt>oldest wait</dt>
          <dd>
            {pool.ready ? (
              <Duration ms={null} since={since(pool.oldest_wait_seconds, toldAt)} />
            ) : (
              <span className="muted">–</span>
            )}
          </dd>
        </div>
      </dl>
      {pool.reason ? (
        <div className="workers-reason tone-warn">
          <Icon name="alert" title="Why they wait" />
          <p>{pool.reason}</p>
          <Command words={startWords(pool.pool)} />
        </div>
      ) : null}
    </li>
  );
}
