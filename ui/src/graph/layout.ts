/** Where steps stand: layers from top to bottom, by dagre. Pure; 200 steps in well under a second. */
import dagre from "@dagrejs/dagre";
import type { GraphArc, GraphDocument, GraphStep } from "./model";

export interface Spot {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  spots: Map<string, Spot>;
  width: number;
  height: number;
}

const LETTER = 7.2;
const WIDTH = { least: 150, most: 270 };
const HEIGHT = { head: 44, tasks: 20, loop: 22 };

export function sizeOf(step: GraphStep): { width: number; height: number } {
  const kinds = kindsOf(step).length;
  const longest = Math.max(step.name.length + 6, kinds);
  const width = Math.min(WIDTH.most, Math.max(WIDTH.least, longest * LETTER + 28));
  const height = HEIGHT.head + (step.tasks.length ? HEIGHT.tasks : 0) + (step.loops.length ? HEIGHT.loop : 0);
  return { width, height };
}

/** "http → python → postgres", what a step does in one line. */
export function kindsOf(step: GraphStep): string {
  const kinds = step.tasks.map((task) => task.kind);
  return kinds.length > 4 ? `${kinds.slice(0, 3).join(" → ")} → … ${kinds.length}` : kinds.join(" → ");
}

export function layOut(graph: GraphDocument): Layout {
  const net = new dagre.graphlib.Graph({ multigraph: true });
  net.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 64, edgesep: 14, marginx: 16, marginy: 16 });
  net.setDefaultEdgeLabel(() => ({}));
  for (const step of graph.steps) net.setNode(step.name, sizeOf(step));
  arcsThatPlace(graph).forEach((arc, at) => {
    // A failure's way is looked at last: it may bend, the way that is hoped for stays straight.
    net.setEdge(arc.source, arc.target, { weight: arc.is_failure ? 1 : 4, minlen: 1 }, String(at));
  });
  dagre.layout(net);
  const spots = new Map<string, Spot>();
  for (const name of net.nodes()) {
    const at = net.node(name);
    spots.set(name, { x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height });
  }
  const size = net.graph();
  return { spots, width: size.width ?? 0, height: size.height ?? 0 };
}

const LAYERS_CROSSED_MAX = 600; // by all arcs together: each costs as much as a step
const LEAP = 3; // layers that an arc may cross where they are many

/**
 * The arcs that decide where steps stand. In a net with many long leaps and ways back those are left to bend around
 * what the others placed: every step keeps the arc from the layer above it, so nothing moves up.
 */
function arcsThatPlace(graph: GraphDocument): GraphArc[] {
  const layers = layersOf(graph);
  const known = graph.arcs.filter((arc) => layers.has(arc.source) && layers.has(arc.target));
  const crossed = (arc: GraphArc): number => (layers.get(arc.target) ?? 0) - (layers.get(arc.source) ?? 0);
  const all = known.reduce((sum, arc) => sum + Math.abs(crossed(arc)), 0);
  if (all <= LAYERS_CROSSED_MAX) return known;
  return known.filter((arc) => crossed(arc) > 0 && crossed(arc) <= LEAP);
}

/** How deep each step is: one more than the deepest of those that lead to it, ways back not counted. */
function layersOf(graph: GraphDocument): Map<string, number> {
  const arcs = new Map<string, string[]>(graph.steps.map((step) => [step.name, []]));
  for (const arc of graph.arcs) if (arcs.has(arc.target)) arcs.get(arc.source)?.push(arc.target);
  const order = inOrder(arcs, [graph.entry, ...arcs.keys()]);
  const place = new Map(order.map((name, at) => [name, at]));
  const layers = new Map(order.map((name) => [name, 0]));
  for (const name of order) {
    for (const target of arcs.get(name) ?? []) {
      const isBack = (place.get(target) ?? 0) <= (place.get(name) ?? 0);
      if (!isBack) layers.set(target, Math.max(layers.get(target) ?? 0, (layers.get(name) ?? 0) + 1));
    }
  }
  return layers;
}

/** Each step after those that lead to it, ways back not counted. Without recursion: a net may be a long chain. */
function inOrder(arcs: Map<string, string[]>, roots: readonly string[]): string[] {
  const seen = new Set<string>();
  const ended: string[] = [];
  for (const root of roots) {
    const stack: [string, number][] = arcs.has(root) && !seen.has(root) ? [[root, 0]] : [];
    seen.add(root);
    while (stack.length) {
      const top = stack.at(-1) as [string, number];
      const next = arcs.get(top[0])?.[top[1]++];
      if (next === undefined) ended.push((stack.pop() as [string, number])[0]);
      else if (!seen.has(next)) {
        seen.add(next);
        stack.push([next, 0]);
      }
    }
  }
  return ended.reverse();
}
