/** What the Python side writes: see `viewing/summary.py`, `viewing/prompts.py` and `viewing/details.py`. */

export type Value = string | number | boolean | null;
export type Row = Record<string, Value>;

export interface Bins {
  kept: number[];
  others: number[];
}

export interface FormRow {
  family: string;
  form?: string;
  prompts: number;
  kept: number;
  rollouts: number | null;
  mean: number | null;
  learnability: number | null;
  zero_std_share: number | null;
  errors: number | null;
  within_std: number | null;
  between_std: number | null;
  learnable: boolean | null;
}

export interface ComponentRow {
  family: string;
  form: string;
  component: string;
  mean: number | null;
  share_zero: number | null;
  share_one: number | null;
  within_std: number | null;
  between_std: number | null;
  explained: number | null;
}

export interface ForecastRow {
  group_size: number;
  zero_std_share: number;
  usable_rate: number;
  mean_abs_advantage: number;
}

export interface Curve {
  name: string;
  steps: number[];
  values: number[];
}

export interface Alarm {
  rule: string;
  metric: string;
  severity: string;
  since: number;
  step: number;
  says: string;
  helped: string;
}

export interface Run {
  name: string;
  steps: number;
  curves: Curve[];
  alarms: Alarm[];
  verdict: string;
  curated: string[];
}

export interface ReasonRow {
  verdict: string;
  passed: boolean | null;
  reason: string;
  example: string;
  len: number;
}

export interface Scores {
  completions: number;
  rewards: Bins;
  reasons: ReasonRow[];
  components: string[];
}

export interface Totals {
  prompts: number;
  kept: number;
  train: number;
  test: number;
  rollouts: number;
  tokens: number;
  truncated: number;
  errors: number;
  usable: number;
  precision: number | null;
}

export interface Spend {
  decision: string;
  prompts: number;
  rollouts: number;
  tokens: number;
}

export interface Summary {
  name: string;
  version: string;
  parent: string | null;
  policy: string;
  created: string;
  engine: string;
  group_size: number;
  seed: number;
  band: { low: number; high: number; min_std: number; signal: string };
  sampling: Record<string, Value>;
  verifiers?: Record<string, string>;
  conditions?: Record<string, Record<string, string>>;
  preset?: { name: string };
  lengths?: { p50: number; p95: number; longest: number };
  forms?: FormRow[];
  components?: ComponentRow[];
  findings?: { code: string; subject: string; forms: string[]; text: string }[];
  forecast?: { curated: ForecastRow[]; pool: ForecastRow[] };
  totals: Totals;
  spend: Spend[];
  means: Bins;
  certificates: [number, number, number, boolean][];
  changes: [string | null, string | null, number][];
  shelf_life?: { share: number; low: number; high: number };
  levels: Record<string, string[]>;
  runs: Run[];
  scores: Scores | null;
  sample: {
    prompts: number;
    with_completions: number;
    completions: number;
    explained: number;
    blocks: number;
    head: number;
    heads: number;
    has_store: boolean;
  } | null;
}

export interface Styled {
  text: string;
  marks: string;
  figures: [string, string][][];
  ends_block: boolean;
}

export interface Explanation {
  headings: string[];
  lines: Styled[];
  parts: { name: string; value: number; weight: number; strict: number | null; needs: number | null }[];
  hints: string[];
}

export interface Completion {
  index: number;
  reward: number | null;
  passed: boolean | null;
  verdict: string | null;
  reason: string;
  counts: boolean;
  tokens: number;
  finish: string;
  components: Record<string, number>;
  text: string;
  reasoning?: string;
  reasoning_tokens?: number;
  explanation?: Explanation | null;
}

export interface Prompt {
  id: string;
  prompt: string | [string, string][];
  spec: Record<string, unknown>;
  carried: Record<string, Value>;
  completions: Completion[];
}

export interface Query {
  text: string;
  scope: "prompts" | "completions" | "both";
  form: string;
  decision: string;
  measure: string;
  min: number | null;
  max: number | null;
  sort: string;
  descending: boolean;
}

/** Where prompts come from: the file itself, or a server. */
export interface Source {
  summary: Summary;
  /** Get ready for what may be asked next, while nobody waits. */
  prepare(): Promise<void>;
  /** Whether completions can be searched and opened at all. */
  hasCompletions: boolean;
  /** Choose prompts; `onProgress` hears the share that was searched and, where they can be seen, how many were found so far. */
  query(query: Query, onProgress: (share: number, total?: number) => void): Promise<number>;
  /** The rows of the last query from one place to another; `onMore` hears when they have more than they had at first. */
  rows(from: number, to: number, onMore: () => void): Promise<Row[]>;
  /** The place of a prompt in the last query, or -1. */
  find(id: string): Promise<number>;
  row(id: string): Promise<Row | null>;
  prompt(id: string): Promise<Prompt | null>;
  explain(id: string, index: number): Promise<Explanation | null>;
}
