/** The columns of the list of prompts: what they are called, what they mean, how wide they are. */

import { count, percent, share, words } from "./dom";
import type { Row, Value } from "./types";

export interface Column {
  key: string;
  label: string;
  means: string;
  width: string;
  figure: boolean;
  show: (value: Value, row: Row) => string;
}

const text = (key: string, label: string, means: string, width = "minmax(6rem, 9rem)"): Column => ({
  key, label, means, width, figure: false, show: (value) => (value === null ? "" : String(value)),
});
const figure = (key: string, label: string, means: string, show: (value: Value) => string = (v) => share(v)): Column => ({
  key, label, means, width: "4.6rem", figure: true, show,
});

export const KNOWN: Column[] = [
  { ...text("decision", "decision", "keep, or why not", "8.4rem"), show: words },
  text("form", "form", "the finest named kind of prompt", "minmax(6rem, 10rem)"),
  text("head", "prompt", "how the prompt begins", "minmax(12rem, 1fr)"),
  { ...figure("mean", "mean reward", "mean reward with the 90 % interval of the true one, over the band"), width: "13rem" },
  figure("n", "n", "completions that count", count),
  figure("tokens", "tokens", "tokens of its completions", count),
  figure("std", "std", "standard deviation of its rewards"),
  figure("pass_rate", "pass rate", "share that passed"),
  figure("p_keep", "p keep", "chance that it belongs in the set"),
  figure("p_in_band", "p in band", "chance that its true mean is in the band"),
  figure("usable_at_g", "usable", "chance that a group of the trainer's size has some spread", percent),
  figure("expected_within_variance", "learnability", "expected variance inside its group", (v) => share(v, 3)),
  figure("rollouts", "rollouts", "completions that were made", count),
  figure("errors", "errors", "completions without an honest score", count),
  figure("n_truncated", "cut", "completions that ran out of tokens", count),
  figure("difficulty", "difficulty", "the source's own scale", (v) => (v === null ? "–" : String(v))),
  text("part", "part", "train, test, rejects or reserve", "5rem"),
  text("family", "family", "what priors are fitted to"),
  text("verifier", "verifier", "what judges it"),
  text("source", "source", "where it came from"),
  { ...text("triage", "triage", "what the evidence says of a prompt that was never solved", "8rem"), show: words },
  { ...text("before", "before", "its decision in the version before", "8rem"), show: words },
  text("prompt_id", "id", "content id of prompt, verifier and spec", "12rem"),
];

/** All columns of this set: the known ones, and the mean of each component of rewards. */
export function columnsOf(components: string[]): Column[] {
  return [...KNOWN, ...components.map((name) => figure(`component/${name}`, name, `mean of the component ${name}`))];
}

/** What prompts can be filtered by a range of. */
export function measuresOf(components: string[]): Column[] {
  return columnsOf(components).filter((column) => column.figure);
}
