/**
 * A playbook's net: steps as nodes, arcs between them, and what happened laid over it. Load it lazily, it is a chunk of
 * its own: `const Graph = lazy(() => import("@/graph/Graph"))`.
 * The picture is for eyes; for readers and keyboards each node is a button, and beside it stands the same as a list.
 */
import "@xyflow/react/dist/base.css";
import "./graph.css";
import {
  Background,
  BaseEdge,
  Controls,
  type Edge,
  type EdgeProps,
  getSmoothStepPath,
  Handle,
  MarkerType,
  MiniMap,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStoreApi,
} from "@xyflow/react";
import { memo, useEffect, useMemo, useState } from "react";
import { Icon } from "@/parts/icons";
import { Status } from "@/parts/Status";
import { lookOf } from "@/parts/statuses";
import { useDark } from "@/parts/theme";
import { kindsOf, layOut } from "./layout";
import type { GraphArc, GraphDocument, GraphStep, Overlay } from "./model";

export type { GraphArc, GraphDocument, GraphStep, Overlay } from "./model";

interface GraphProps {
  graph: GraphDocument;
  /** By step's name. Without one the graph is a plan; a step without an entry is greyed as not run. */
  overlay?: ReadonlyMap<string, Overlay>;
  /** Arcs that were taken, as "source→target" or "source→target#order". */
  taken?: ReadonlySet<string>;
  chosen?: string | null;
  onChoose?: (step: string) => void;
  /** Keeps the chosen step in sight: for a cursor that moves. */
  isFollowing?: boolean;
  label?: string;
}

type StepNode = Node<{ step: GraphStep; overlay?: Overlay; isPlan: boolean; isChosen: boolean }, "step">;
const NODES = { step: memo(StepBox) };
const EDGES = { arc: memo(ArcLine) };
const LABEL_RISE = 24; // above the step that an arc leads to: there each has a place of its own
const LABEL_ROOM = 40; // that it takes
const LABEL_LETTERS = 30;
const READABLE = 0.45; // of its size: smaller, a step cannot be read
const MAP_FROM = 30; // steps from which a small map helps

export default function Graph(props: GraphProps) {
  const [isList, setList] = useState(false);
  return (
    <section className="graph" aria-label={props.label ?? `Graph of ${props.graph.name}`}>
      <div className="graph-tools switch" role="group" aria-label="How to show it">
        <button type="button" aria-pressed={!isList} onClick={() => setList(false)}>
          <Icon name="graph" /> Graph
        </button>
        <button type="button" aria-pressed={isList} onClick={() => setList(true)}>
          <Icon name="list" /> List
        </button>
      </div>
      {isList ? (
        <StepList {...props} />
      ) : (
        <ReactFlowProvider>
          <Picture {...props} />
        </ReactFlowProvider>
      )}
    </section>
  );
}

function Picture({ graph, overlay, taken, chosen, onChoose, isFollowing }: GraphProps) {
  const layout = useMemo(() => layOut(graph), [graph]);
  const dark = useDark();
  const nodes = useMemo(() => nodesOf(graph, layout.spots, overlay, chosen), [graph, layout, overlay, chosen]);
  const edges = useMemo(() => graph.arcs.map((arc, at) => edgeOf(arc, at, taken)), [graph, taken]);
  return (
    <div className="graph-picture">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODES}
        edgeTypes={EDGES}
        colorMode={dark ? "dark" : "light"}
        onNodeClick={(_, node) => onChoose?.(node.id)}
        // By keyboard. Not onSelectionChange: that one also tells of what `chosen` itself selected, and undoes its going.
        onNodesChange={(changes) => {
          for (const one of changes) if (one.type === "select" && one.selected) onChoose?.(one.id);
        }}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        minZoom={0.1}
        maxZoom={1.6}
        fitView
        fitViewOptions={{ padding: 0.12, maxZoom: 1 }}
        onlyRenderVisibleElements={graph.steps.length > MAP_FROM}
      >
        <Background gap={22} size={1} />
        <Controls showInteractive={false} />
        {graph.steps.length > MAP_FROM ? (
          <MiniMap pannable zoomable ariaLabel="Small map of the graph" nodeClassName={mapClass} />
        ) : null}
        {isFollowing && chosen ? <Follow step={chosen} /> : null}
      </ReactFlow>
    </div>
  );
}

function mapClass(node: Node): string {
  const { overlay } = (node as StepNode).data;
  return `map-${overlay?.status ? lookOf(overlay.status).tone : "idle"}`;
}

function Follow({ step }: { step: string }) {
  const flow = useReactFlow();
  const store = useStoreApi();
  useEffect(() => {
    const node = flow.getNode(step);
    if (!node || isInSight(node, store.getState())) return;
    const x = node.position.x + (node.width ?? 0) / 2;
    const y = node.position.y + (node.height ?? 0) / 2;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    void flow.setCenter(x, y, { zoom: Math.max(0.6, flow.getZoom()), duration: still ? 0 : 160 });
  }, [flow, store, step]);
  return null;
}

/** What is in sight already is not moved: a picture that jumps at every line is not looked at for long. */
function isInSight(node: Node, view: { transform: [number, number, number]; width: number; height: number }): boolean {
  const [left, top, zoom] = view.transform;
  const x = node.position.x * zoom + left;
  const y = node.position.y * zoom + top;
  const isWithin = x >= 0 && y >= 0 && x + (node.width ?? 0) * zoom <= view.width;
  return isWithin && y + (node.height ?? 0) * zoom <= view.height && zoom >= READABLE;
}

function nodesOf(
  graph: GraphDocument,
  spots: ReturnType<typeof layOut>["spots"],
  overlay: GraphProps["overlay"],
  chosen: string | null | undefined,
): StepNode[] {
  return graph.steps.map((step) => {
    const spot = spots.get(step.name) ?? { x: 0, y: 0, width: 160, height: 60 };
    const over = overlay?.get(step.name);
    return {
      id: step.name,
      type: "step",
      position: { x: spot.x, y: spot.y },
      width: spot.width,
      height: spot.height,
      selected: step.name === chosen,
      data: { step, overlay: over, isPlan: overlay === undefined, isChosen: step.name === chosen },
      ariaLabel: wordsOf(step, over),
      domAttributes: { "aria-roledescription": "step" },
    };
  });
}

function wordsOf(step: GraphStep, overlay?: Overlay): string {
  const words = [`step ${step.name}`];
  if (overlay?.status) words.push(lookOf(overlay.status).word);
  if (overlay?.loop) words.push(`${overlay.loop.done} of ${overlay.loop.total} done, ${overlay.loop.failed} failed`);
  if (overlay?.tokens) words.push(`${overlay.tokens} tokens`);
  return words.join(", ");
}

export function isTaken(arc: GraphArc, taken: ReadonlySet<string> | undefined): boolean {
  const way = `${arc.source}→${arc.target}`;
  return taken !== undefined && (taken.has(way) || taken.has(`${way}#${arc.order}`));
}

function arrowColour(arc: GraphArc, taken: ReadonlySet<string> | undefined): string {
  if (isTaken(arc, taken)) return "var(--accent)";
  return arc.is_failure ? "var(--bad)" : "var(--line-strong)";
}

function edgeOf(arc: GraphArc, at: number, taken: ReadonlySet<string> | undefined): Edge {
  const classes = ["arc"];
  if (arc.is_failure) classes.push("arc-failure");
  if (!arc.can_fire) classes.push("arc-dead");
  if (taken) classes.push(isTaken(arc, taken) ? "arc-taken" : "arc-untaken");
  const when = arc.when
    ? arc.when.length > LABEL_LETTERS
      ? `${arc.when.slice(0, LABEL_LETTERS - 1)}…`
      : arc.when
    : arc.is_fallback
      ? "else"
      : "";
  return {
    id: `${arc.source}→${arc.target}#${arc.order}.${at}`,
    source: arc.source,
    target: arc.target,
    type: "arc",
    label: when || undefined,
    labelShowBg: true,
    labelBgPadding: [5, 2],
    labelBgBorderRadius: 4,
    className: classes.join(" "),
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: arrowColour(arc, taken) },
    focusable: false,
  };
}

/** Its condition stands above the step that it leads to: halfway, those of one step would lie over each other. */
function ArcLine(props: EdgeProps) {
  const [path, midX, midY] = getSmoothStepPath(props);
  const isDown = props.targetY - props.sourceY > LABEL_ROOM;
  return (
    <BaseEdge
      id={props.id}
      path={path}
      markerEnd={props.markerEnd}
      label={props.label}
      labelShowBg={props.labelShowBg}
      labelBgPadding={props.labelBgPadding}
      labelBgBorderRadius={props.labelBgBorderRadius}
      labelX={isDown ? props.targetX : midX}
      labelY={isDown ? props.targetY - LABEL_RISE : midY}
    />
  );
}

function StepBox({ data }: NodeProps<StepNode>) {
  const { step, overlay, isPlan, isChosen } = data;
  const status = overlay?.status;
  const tone = status ? lookOf(status).tone : "idle";
  const isGrey = !isPlan && (status === undefined || status === "not_run" || status === "skipped");
  const classes = ["step", `tone-${tone}`];
  if (isGrey) classes.push("step-grey");
  if (isChosen) classes.push("is-chosen");
  if (!step.is_reached) classes.push("step-unreached");
  if (isPlan) classes.push("step-plan");
  return (
    <div className={classes.join(" ")}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <div className="step-head">
        <span className="step-name" title={step.description || step.name}>
          {step.name}
        </span>
        <Marks step={step} />
        {overlay?.tokens ? (
          <span className="step-tokens" title={`${overlay.tokens} tokens are here`}>
            {overlay.tokens}
          </span>
        ) : null}
      </div>
      {step.tasks.length ? <div className="step-kinds">{kindsOf(step)}</div> : null}
      {step.loops.length ? <LoopBar step={step} overlay={overlay} /> : null}
      {status ? (
        <div className="step-status">
          <Status status={status} plain />
          {(overlay?.runs ?? 0) > 1 ? <span className="muted">×{overlay?.runs}</span> : null}
          {overlay?.note ? <span className="muted">{overlay.note}</span> : null}
        </div>
      ) : null}
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

function Marks({ step }: { step: GraphStep }) {
  return (
    <span className="step-marks">
      {step.is_entry ? <Icon name="run" title="starts here" /> : null}
      {step.is_join ? <Icon name="join" title="waits for all tokens" /> : null}
      {step.has_admission ? <Icon name="filter" title="rules decide who enters" /> : null}
      {step.has_compensation ? <Icon name="retry" title="has a compensation" /> : null}
      {step.is_planned ? <Icon name="plus" title="added by a planner" /> : null}
    </span>
  );
}

function LoopBar({ step, overlay }: { step: GraphStep; overlay?: Overlay }) {
  const loop = overlay?.loop;
  const names = step.loops.map((one) => one.iterator).join(" × ");
  if (!loop) {
    return (
      <div className="step-loop">
        <Icon name="loop" /> {names}
      </div>
    );
  }
  const share = (value: number): string => `${loop.total ? (100 * value) / loop.total : 0}%`;
  return (
    <div className="step-loop">
      <Icon name="loop" title={`loop over ${names}`} />
      <span className="loop-bar">
        <span className="loop-done" style={{ width: share(loop.done) }} />
        <span className="loop-failed" style={{ width: share(loop.failed) }} />
        <span className="loop-flight" style={{ width: share(loop.in_flight) }} />
      </span>
      <span>
        {loop.done + loop.failed}/{loop.total}
      </span>
    </div>
  );
}

/** The same as words: each step with its status and where it leads. */
function StepList({ graph, overlay, taken, chosen, onChoose }: GraphProps) {
  return (
    <ol className="graph-list">
      {graph.steps.map((step) => {
        const over = overlay?.get(step.name);
        return (
          <li key={step.name} className={step.name === chosen ? "is-chosen" : ""}>
            <button
              type="button"
              className="link"
              onClick={() => onChoose?.(step.name)}
              aria-current={step.name === chosen || undefined}
            >
              {step.name}
            </button>
            {over?.status ? <Status status={over.status} plain /> : null}
            {over?.loop ? (
              <span className="muted">{`${over.loop.done} of ${over.loop.total} done, ${over.loop.failed} failed`}</span>
            ) : null}
            <span className="muted">{kindsOf(step)}</span>
            <ul>
              {graph.arcs
                .filter((arc) => arc.source === step.name)
                .map((arc) => (
                  <li key={`${arc.target} ${arc.order}`}>
                    → {arc.target}
                    {arc.when ? <code> when {arc.when}</code> : null}
                    {arc.is_failure ? " (on failure)" : ""}
                    {taken && isTaken(arc, taken) ? <strong> taken</strong> : null}
                  </li>
                ))}
            </ul>
          </li>
        );
      })}
    </ol>
  );
}
