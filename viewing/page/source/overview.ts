/** The first view: what was kept and what it cost, then everything that explains it. */

import { bar, forecast, histogram, intervals } from "./charts";
import { count, h, percent, share, short, words } from "./dom";
import type { Store } from "./state";
import type { FormRow, Spend, Summary } from "./types";

type Cell = string | Node;

export function table(caption: string, heads: string[], rows: Cell[][], figures: number[] = []): HTMLElement {
  const cell = (content: Cell, at: number): HTMLElement => h("td", { class: figures.includes(at) ? "number" : null }, content);
  return h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head, at) => h("th", { scope: "col", class: figures.includes(at) ? "number" : null }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell))))));
}

export function section(id: string, title: string, says: string, ...content: (Node | null | false)[]): HTMLElement {
  return h("section", { "aria-labelledby": `title-${id}`, id: `section-${id}` },
    h("h2", { id: `title-${id}` }, title), says ? h("p", { class: "says" }, says) : null, ...content);
}

export function overview(summary: Summary, store: Store): HTMLElement {
  return h("div", { class: "overview" },
    headline(summary), findings(summary), rewards(summary), forms(summary, store), certificates(summary),
    h("div", { class: "columns" }, forecasts(summary), spend(summary, store)),
    components(summary), reasons(summary), changes(summary, store), recipe(summary), sample(summary));
}

function headline(summary: Summary): HTMLElement {
  const { totals } = summary;
  const figure = (value: string, name: string, more: string): HTMLElement =>
    h("div", { class: "figure-card" }, h("dt", {}, name), h("dd", { class: "large" }, value), h("dd", { class: "more" }, more));
  const each = totals.kept ? totals.rollouts / totals.kept : null;
  return h("div", { class: "headline" },
    h("h1", {}, `${count(totals.kept)} of ${count(totals.prompts)} prompts are worth training on`),
    h("p", { class: "lead" },
      `Their mean ${summary.band.signal === "pass" ? "pass rate" : "reward"} lies between ${share(summary.band.low)} and ${share(summary.band.high)}. `,
      totals.precision === null ? "" : `The true mean of ${percent(totals.precision)} of them is expected to lie there too.`),
    h("dl", { class: "figures" },
      figure(count(totals.kept), "kept", `${count(totals.train)} to train on, ${count(totals.test)} held out`),
      figure(short(totals.rollouts), "rollouts paid", `${each === null ? "–" : each.toFixed(1)} for each kept prompt`),
      figure(short(totals.tokens), "tokens", totals.rollouts ? `${count(totals.tokens / totals.rollouts)} a completion` : ""),
      figure(totals.usable < 100 ? totals.usable.toFixed(1) : count(totals.usable), "usable groups", `of ${count(totals.train)}, at ${count(summary.group_size)} completions each`),
      figure(count(totals.errors), "without a score", totals.truncated ? `and ${count(totals.truncated)} cut short` : "completions that nobody could judge")));
}

const SHOWN = 4; // findings at first

function findings(summary: Summary): HTMLElement | null {
  if (!summary.findings?.length) return null;
  const told = summary.findings.map((one) =>
    h("li", {}, h("span", { class: "flag" }, words(one.code)), h("span", { class: "told" }, one.text, one.forms.length && !one.text.includes(one.forms[0]) ? ` (${one.forms.join(", ")})` : "")));
  const most = told.length > SHOWN + 1 ? SHOWN : told.length; // one more is shown at once
  return section("findings", "Before you train", "", h("ul", { class: "findings" }, ...told.slice(0, most)),
    most < told.length && h("details", {}, h("summary", {}, `${told.length - most} more`), h("ul", { class: "findings" }, ...told.slice(most))));
}

const LEGEND = (): HTMLElement => h("p", { class: "legend" }, h("span", { class: "key kept" }), "kept", h("span", { class: "key other" }), "not kept");

function rewards(summary: Summary): HTMLElement {
  const charts = [histogram(summary.means, summary.band, "Prompts by the mean reward of their group.", "prompts")];
  if (summary.scores) {
    charts.push(histogram(summary.scores.rewards, null, `${count(summary.scores.completions)} completions by their own reward.`, "completions"));
  }
  return section("rewards", "Rewards", "", LEGEND(), charts.length > 1 ? h("div", { class: "columns" }, ...charts) : charts[0]);
}

function forms(summary: Summary, store: Store): HTMLElement | null {
  const rows = (summary.forms ?? []).filter((row) => row.form);
  if (!rows.length) return null;
  const sorted = [...rows].sort((a, b) => (b.learnability ?? -1) - (a.learnability ?? -1));
  const top = Math.max(0.01, ...sorted.map((row) => Math.max(row.within_std ?? 0, row.between_std ?? 0)));
  const best = Math.max(0.01, ...sorted.map((row) => row.learnability ?? 0));
  const open = (row: FormRow): HTMLElement => h("button", { class: "link", type: "button",
    click: () => store.set({ tab: "prompts", form: row.form ?? "", prompt: "" }) }, row.form ?? "");
  return section("forms", "Learnability by form",
    "GRPO learns from what differs inside a group. Spread between prompts alone teaches nothing.",
    table("Forms, most learnable first", ["form", "family", "kept", "of", "mean", "learnability", "std within groups", "std between groups", "zero-std"],
      sorted.map((row) => [
        open(row), row.family, count(row.kept), count(row.prompts), share(row.mean),
        bar([[(row.learnability ?? 0) / best, "kept"]], share(row.learnability, 3)),
        bar([[(row.within_std ?? 0) / top, "kept"]], share(row.within_std)),
        bar([[(row.between_std ?? 0) / top, "other"]], share(row.between_std)), percent(row.zero_std_share),
      ]), [2, 3, 4, 8]));
}

function certificates(summary: Summary): HTMLElement | null {
  if (!summary.certificates.length) return null;
  return section("certificates", "Certificates", "What is known of each prompt's true mean reward.",
    intervals(summary.certificates, summary.band, summary.totals.prompts));
}

function forecasts(summary: Summary): HTMLElement | null {
  const { forecast: told } = summary;
  if (!told || (!told.curated.length && !told.pool.length)) return null;
  return section("forecast", "Forecast", "A group whose rewards are all equal has no gradient.",
    forecast(told.curated, told.pool, summary.group_size));
}

function spend(summary: Summary, store: Store): HTMLElement {
  const top = Math.max(1, ...summary.spend.map((row) => row.rollouts));
  const open = (row: Spend): HTMLElement => h("button", { class: "link", type: "button",
    click: () => store.set({ tab: "prompts", decision: row.decision, prompt: "" }) }, words(row.decision));
  return section("spend", "Spend by outcome", "Where the rollouts went.",
    table("Rollouts by decision", ["decision", "prompts", "rollouts", "tokens"],
      summary.spend.map((row) => [open(row), count(row.prompts), bar([[row.rollouts / top, row.decision === "keep" ? "kept" : "other"]], count(row.rollouts)), count(row.tokens)]), [1, 3]));
}

function components(summary: Summary): HTMLElement | null {
  const rows = summary.components ?? [];
  if (!rows.length) return null;
  const top = Math.max(0.01, ...rows.map((row) => row.within_std ?? 0));
  const sorted = [...rows].sort((a, b) => a.family.localeCompare(b.family) || a.form.localeCompare(b.form) || (b.explained ?? -1) - (a.explained ?? -1));
  const told = sorted.map((row) => [
    row.form, row.component, share(row.mean), percent(row.share_zero), percent(row.share_one),
    bar([[(row.within_std ?? 0) / top, "kept"]], share(row.within_std)), bar([[row.explained ?? 0, "kept"]], percent(row.explained)),
  ]);
  const list = table("Components of rewards", ["form", "component", "mean", "always 0", "always 1", "std within groups", "of the reward's variance"], told, [2, 3, 4]);
  return section("components", "Components",
    "Which parts of the reward vary inside groups, and how much of its variance goes along with each.",
    told.length > 16 ? h("details", {}, h("summary", {}, `${count(told.length)} components of ${count(new Set(rows.map((row) => row.form)).size)} forms`), list) : list);
}

function reasons(summary: Summary): HTMLElement | null {
  const rows = summary.scores?.reasons ?? [];
  if (!rows.length) return null;
  const failed = rows.filter((row) => row.verdict.endsWith("_error"));
  const others = rows.filter((row) => !row.verdict.endsWith("_error"));
  const list = (caption: string, chosen: typeof rows): HTMLElement => table(caption, ["judged", "reason", "completions", "such as"],
    chosen.map((row) => [h("span", { class: "judged" }, row.passed ? "passed" : row.passed === null ? words(row.verdict) : "not passed"), row.reason, count(row.len), h("span", { class: "example" }, row.example)]), [2]);
  return section("reasons", "Errors and reasons",
    failed.length ? "Errors are failures of the verifier or the engine: they count as no score, not as zero." : "No verifier and no engine failed. What verifiers said of completions:",
    failed.length ? list("Errors", failed) : null, others.length ? list("What verifiers say of completions", others) : null);
}

function changes(summary: Summary, store: Store): HTMLElement | null {
  if (!summary.parent || !summary.changes.length) return null;
  const moved = summary.changes.filter(([before, now]) => before !== now);
  const same = summary.changes.filter(([before, now]) => before === now).reduce((sum, row) => sum + row[2], 0);
  const still = summary.shelf_life ? ` ${percent(summary.shelf_life.share)} of the old set is expected to be still in the band.` : "";
  return section("changes", `Changed since ${summary.parent}`, `${count(same)} prompts are decided as before.${still}`,
    moved.length ? table("Decisions that changed", ["before", "now", "prompts"],
      moved.map(([before, now, many]) => [before === null ? "not in it" : words(before), now === null ? "–" : words(now), count(many)]), [2]) : null,
    moved.length ? h("p", {}, h("button", { class: "link", type: "button", click: () => store.set({ tab: "prompts", decision: "changed", prompt: "" }) }, "list them")) : null);
}

function recipe(summary: Summary): HTMLElement {
  const told: [string, string][] = [
    ["policy", summary.policy], ["made", summary.created.replace("T", " ").replace("+00:00", " UTC")], ["engine", summary.engine],
    ["sampling", Object.entries(summary.sampling).map(([name, value]) => `${words(name)} ${JSON.stringify(value)}`).join(", ")],
    ["band", `${share(summary.band.low)} to ${share(summary.band.high)} of the mean ${summary.band.signal}, std of ${share(summary.band.min_std)} or more`],
    ["preset", summary.preset?.name ?? ""], ["seed", String(summary.seed)],
    ["verifiers", Object.entries(summary.verifiers ?? {}).map(([name, version]) => `${name} ${version}`).join(", ")],
    ["machine", Object.entries(summary.conditions ?? {}).map(([name, found]) => `${name}: ${Object.entries(found).map((one) => one.join(" ")).join(", ").replaceAll("_", " ")}`).join("; ")],
    ["lengths", summary.lengths ? `half of the completions have at most ${count(summary.lengths.p50)} tokens, 95 in 100 at most ${count(summary.lengths.p95)}, the longest ${count(summary.lengths.longest)}` : ""],
  ];
  return section("recipe", "How it was made", "", h("dl", { class: "recipe" },
    ...told.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

export function sample(summary: Summary): HTMLElement | null {
  const { sample: told } = summary;
  if (!told) return null;
  const all = told.with_completions === told.prompts;
  const text = !told.has_store
    ? "The set lay in no store when this report was written, so it has no completions: `learnable report --store` names one."
    : all
      ? `All ${count(told.completions)} completions of all ${count(told.prompts)} prompts are in this file.`
      : `This file has the figures of all ${count(told.prompts)} prompts, and ${count(told.completions)} completions: those of ${count(told.with_completions)} prompts, ` +
        `picked at random from every form and decision. Of the others it has the first ${count(told.head)} characters. \`learnable view\` shows all.`;
  return section("sample", "What is in this file", "", h("p", {}, text));
}
