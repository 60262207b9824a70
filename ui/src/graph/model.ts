/** The graph of a playbook as the API gives it, and what a page lays over it. */
export interface GraphStep {
  name: string;
  description: string;
  line: number;
  end_line?: number;
  tasks: { label: string; kind: string; line?: number; end_line?: number }[];
  loops: { iterator: string; is_parallel: boolean; max_in_flight: number | null }[];
  is_entry: boolean;
  is_end: boolean;
  is_join: boolean;
  is_inclusive: boolean;
  is_reached: boolean;
  has_admission: boolean;
  has_compensation: boolean;
  is_planner: boolean;
  is_planned?: boolean;
}

export interface GraphArc {
  source: string;
  target: string;
  order: number;
  when: string | null;
  is_failure: boolean;
  is_fallback: boolean;
  can_fire: boolean;
  writes: string[];
  line: number;
}

export interface GraphDocument {
  name: string;
  entry: string;
  steps: GraphStep[];
  arcs: GraphArc[];
}

/** What happened to a step, laid over it. */
export interface Overlay {
  status?: string;
  runs?: number;
  /** Tokens that stand at it now. */
  tokens?: number;
  loop?: { total: number; done: number; failed: number; in_flight: number } | null;
  note?: string;
}
