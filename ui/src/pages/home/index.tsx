/** Home: how things stand, at a glance; on the first visit, how to begin. */
import "./home.css";
import { useQuery } from "@tanstack/react-query";
import { api } from "@/api/client";
import { useMay } from "@/api/identity";
import { Asked, Button, ButtonLink, Page } from "@/parts";
import { useNewPlaybook } from "../playbooks/NewPlaybook";
import { DayChart } from "./DayChart";
import { HealthCard } from "./HealthCard";
import { Failed, NextSchedules, Tiles, UnderWay } from "./Lists";
import { Welcome } from "./Welcome";

export default function HomePage() {
  const overview = useQuery({
    queryKey: ["overview"],
    queryFn: ({ signal }) => api.get("/api/v1/overview", { signal }),
  });
  const catalog = useQuery({
    queryKey: ["catalog", "any"],
    queryFn: ({ signal }) => api.get("/api/v1/catalog", { query: { limit: 1 }, signal }),
  });
  const isFirst = catalog.data?.playbooks.length === 0;
  return (
    <Page
      title={isFirst ? "Welcome to NoETL" : "Home"}
      name="Home"
      lead={isFirst ? "Nothing is registered yet. Two ways to begin:" : undefined}
      actions={isFirst ? undefined : <Actions />}
    >
      {isFirst ? <Welcome /> : null}
      <Asked query={overview} what="Asking how things stand">
        {(data) => (
          <>
            {isFirst ? null : <Tiles overview={data} />}
            {isFirst ? null : (
              <div className="home-columns">
                <div className="home-column">
                  <UnderWay />
                  <Failed />
                </div>
                <div className="home-column">
                  <DayChart hours={data.hours} />
                  <HealthCard />
                  <NextSchedules schedules={data.schedules} />
                </div>
              </div>
            )}
            {isFirst ? <HealthCard /> : null}
          </>
        )}
      </Asked>
    </Page>
  );
}

function Actions() {
  const may = useMay()("author");
  const { open, dialog } = useNewPlaybook();
  return (
    <>
      <ButtonLink href="/playbooks" icon="run">
        Run a playbook
      </ButtonLink>
      <Button look="main" icon="plus" may={may} onClick={open}>
        New playbook
      </Button>
      {dialog}
    </>
  );
}
