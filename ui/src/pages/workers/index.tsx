/** Workers and pools: who is there, who holds what, and what waits for whom. */
import "./workers.css";
import { Command, Page } from "@/parts";
import { JobTable } from "./JobTable";
import { Pools } from "./Pools";
import { WorkerTable } from "./WorkerTable";

export default function WorkersPage() {
  return (
    <Page title="Workers" name="Workers" actions={<Command words={["worker", "status"]} />}>
      <Pools />
      <WorkerTable />
      <JobTable />
    </Page>
  );
}
