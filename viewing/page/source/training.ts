/** Training runs: their curves as small pictures, what raised an alarm first. */

import { curve } from "./charts";
import { h, words } from "./dom";
import { section, table } from "./overview";
import type { Curve, Run } from "./types";

const FIRST = ["reward", "eval_reward", "within_group_std", "zero_std_share", "pass_rate", "eval_pass_rate", "kl", "entropy", "completion_length", "clipped_ratio", "grad_norm", "loss"];

export function training(runs: Run[]): HTMLElement {
  if (!runs.length) return h("p", { class: "note" }, "No training run is shown here: `learnable report --run` adds one.");
  return h("div", { class: "overview" }, h("h1", { class: "unseen" }, "Training runs"), ...runs.map(one));
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

function one(run: Run): HTMLElement {
  const rung = new Set(run.alarms.map((alarm) => alarm.metric));
  const isFlat = ({ values }: Curve): boolean => values.every((value) => value === values[0]);
  const place = (one: Curve): number => (rung.has(one.name) ? -1 : isFlat(one) ? 100 : FIRST.includes(one.name) ? FIRST.indexOf(one.name) : 99);
  const sorted = run.curves.filter((one) => one.values.length).sort((a, b) => place(a) - place(b) || a.name.localeCompare(b.name));
  const charts = sorted.map((found) => curve(found, run));
  const shown = charts.slice(0, 12), more = charts.slice(12);
  return section(`run-${run.name}`, run.name, sentence(run.verdict || `${run.steps} steps so far`),
    run.alarms.length
      ? table("Alarms", ["step", "since", "severity", "rule", "what happened", "what helped others"],
        run.alarms.map((alarm) => [String(alarm.step), String(alarm.since), h("span", { class: "flag" }, alarm.severity), words(alarm.rule), alarm.says, alarm.helped]), [0, 1])
      : h("p", { class: "says" }, "No alarm."),
    h("div", { class: "small-charts" }, ...shown),
    more.length ? h("details", { class: "more-charts" }, h("summary", {}, `${more.length} more curves`), h("div", { class: "small-charts" }, ...more)) : null);
}
