/** Training runs: their curves as small pictures, what raised an alarm first. */

import { curve } from "./charts";
import { h, words } from "./dom";
import { section, table } from "./overview";
import type { Run } from "./types";

const FIRST = ["reward", "eval_reward", "within_group_std", "zero_std_share", "frac_reward_zero_std", "pass_rate", "eval_pass_rate", "kl", "entropy", "completion_length", "clipped_ratio", "grad_norm", "loss"];

export function training(runs: Run[]): HTMLElement {
  if (!runs.length) return h("p", { class: "note" }, "No training run is shown here: `learnable report --run` adds one.");
  return h("div", { class: "overview" }, ...runs.map(one));
}

function one(run: Run): HTMLElement {
  const rung = new Set(run.alarms.map((alarm) => alarm.metric));
  const place = (name: string): number => (rung.has(name) ? -1 : FIRST.includes(name) ? FIRST.indexOf(name) : 99);
  const sorted = run.curves.filter((one) => one.values.length).sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
  const charts = sorted.map((found) => curve(found, run));
  const shown = charts.slice(0, 12), more = charts.slice(12);
  return section(`run-${run.name}`, run.name, run.verdict || `${run.steps} steps so far`,
    run.alarms.length
      ? table("Alarms", ["step", "since", "severity", "rule", "what happened", "what helped others"],
        run.alarms.map((alarm) => [String(alarm.step), String(alarm.since), h("span", { class: "flag" }, alarm.severity), words(alarm.rule), alarm.says, alarm.helped]), [0, 1])
      : h("p", {}, "No alarm."),
    h("div", { class: "small-charts" }, ...shown),
    more.length ? h("details", {}, h("summary", {}, `${more.length} more curves`), h("div", { class: "small-charts" }, ...more)) : null);
}
