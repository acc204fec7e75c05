/** One prompt: what was asked, what is right, what is known, and its completions side by side. */

import { interval } from "./charts";
import { copyButton, count, expandable, h, percent, replace, share, visible, words } from "./dom";
import type { Store } from "./state";
import { failedCase, isPoem, isProgram, parts, plainText, poem, program, wanted } from "./texts";
import type { Completion, Prompt, Row, Source } from "./types";

const SHOWN = 24; // completions at first
const MEANINGS: Record<string, string> = {
  keep: "worth training on",
  too_easy: "saturated",
  too_hard: "beyond the policy",
  zero_std: "its completions score alike",
  low_std: "its completions score almost alike",
  undecided: "its completions do not tell yet",
  over_quota: "good enough, but there were others enough",
  predicted_too_easy: "saturated, as was predicted of prompts like it",
  predicted_too_hard: "beyond the policy, as was predicted of prompts like it",
  unasked: "not sampled, since others were enough",
  not_scored: "no completion has an honest score",
  duplicate: "repeats another prompt",
  contaminated: "repeats an item of an evaluation set",
};

export class Detail {
  readonly element = h("article", { class: "detail", "aria-label": "Prompt", tabindex: "-1" });
  private shown = "";
  private row: Row | null = null;
  private prompt: Prompt | null = null;
  private all = false;

  constructor(private source: Source, private store: Store) {}

  /** Show a prompt; where it is shown already, only move to the completion. */
  async open(id: string, again = false): Promise<void> {
    if (id !== this.shown || again) {
      this.shown = id;
      this.all = false;
      const [row, prompt] = await Promise.all([this.source.row(id), this.source.prompt(id)]);
      if (this.shown !== id) return;
      this.row = row;
      this.prompt = prompt;
      this.render();
      if (!again) this.element.scrollTop = 0;
    }
    this.mark();
  }

  /** How many completions there are, for the arrow keys. */
  get length(): number {
    return this.prompt?.completions.length ?? 0;
  }

  get chosen(): Completion | null {
    const at = this.store.state.completion;
    return this.prompt?.completions.find((one) => one.index === at) ?? null;
  }

  /** Go to the next completion or the one before. */
  step(by: number): void {
    const list = this.prompt?.completions ?? [];
    if (!list.length) return;
    const now = list.findIndex((one) => one.index === this.store.state.completion);
    const next = Math.max(0, Math.min(list.length - 1, now < 0 ? 0 : now + by));
    if (next >= SHOWN && !this.all) {
      this.all = true;
      this.render();
    }
    this.store.set({ completion: list[next].index });
  }

  private mark(): void {
    const at = this.store.state.completion;
    for (const card of this.element.querySelectorAll<HTMLElement>("[data-completion]")) {
      const is = card.dataset.completion === String(at);
      card.classList.toggle("chosen", is);
      if (card.matches("button")) card.setAttribute("aria-pressed", String(is));
      else if (is) card.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  private render(): void {
    const { row, prompt } = this;
    if (!row) {
      replace(this.element, h("p", { class: "note" }, "This set has no such prompt."));
      return;
    }
    replace(this.element, this.head(row), this.asked(row, prompt), prompt ? wanted(prompt) : null, this.known(row), prompt ? this.carried(prompt) : null, this.group(row, prompt));
  }

  private head(row: Row): HTMLElement {
    const decision = String(row.decision ?? "none");
    const close = (): void => this.store.set({ prompt: "", completion: null });
    return h("header", { class: "detail-head" },
      h("div", {},
        h("h2", {}, String(row.form)),
        h("p", { class: "says" }, h("span", { class: `decision ${decision === "keep" ? "kept" : "out"}` }, words(decision)), ` · ${MEANINGS[decision] ?? "not kept"} · ${row.part}`)),
      h("div", { class: "buttons" }, copyButton(String(row.prompt_id), "copy id", "copy id of the prompt"), copyButton(location.href, "copy link", "copy link to this"),
        h("button", { class: "quiet", type: "button", "aria-label": "close the prompt", click: close }, "close")));
  }

  private asked(row: Row, prompt: Prompt | null): HTMLElement {
    const text = prompt?.prompt ?? String(row.head ?? "");
    const whole = typeof text === "string" ? text : text.map(([role, content]) => `${role}: ${content}`).join("\n\n");
    const shown = typeof text === "string" ? plainText(text, "text asked")
      : h("div", {}, ...text.map(([role, content]) => h("div", { class: "turn" }, h("span", { class: "role" }, role), plainText(content, "text asked"))));
    const cut = !prompt && row.cut ? h("p", { class: "note" }, `The file has the first ${count(this.source.summary.sample?.head ?? 0)} characters of this prompt: \`learnable show\` and \`learnable view\` have all.`) : null;
    return h("section", { "aria-label": "Prompt text" }, h("p", { class: "label" }, "prompt", copyButton(whole, "copy", "copy prompt")), shown, cut);
  }

  private known(row: Row): HTMLElement {
    const facts: [string, string][] = [];
    const fact = (name: string, value: string | false): void => { if (value) facts.push([name, value]); };
    const number = (key: string): number | null => (typeof row[key] === "number" ? (row[key] as number) : null);
    if (number("n")) fact("group", `${count(row.n)} completions count, std ${share(row.std)}, ${percent(row.pass_rate)} passed`);
    fact("chances", number("p_keep") !== null && `${percent(row.p_keep)} likely to belong in the set, ${percent(row.p_in_band)} to lie in the band`);
    fact("usable", number("usable_at_g") !== null && `${percent(row.usable_at_g)} of groups of ${this.source.summary.group_size} would have some spread`);
    fact("learnability", number("expected_within_variance") !== null && `expected variance inside its group ${share(row.expected_within_variance, 3)}, at most .25`);
    fact("paid", number("rollouts") !== null && `${count(row.rollouts)} rollouts, ${count(row.tokens)} tokens${row.errors ? `, ${count(row.errors)} without a score` : ""}`);
    fact("triage", row.triage !== null && row.triage !== undefined && `${words(row.triage)}: ${row.evidence ?? ""}`);
    fact("repeats", Boolean(row.collides_with) && String(row.collides_with));
    fact("before", row.before !== null && row.before !== row.decision && words(row.before));
    fact("from", `${row.source}${row.difficulty === null ? "" : `, difficulty ${row.difficulty}`}, judged by ${row.verifier}`);
    return h("section", { class: "known", "aria-label": "What is known of it" },
      number("mean") === null ? null : h("div", { class: "true-mean" }, h("span", { class: "label" }, "mean reward"),
        interval(number("mean"), number("ci_low"), number("ci_high"), this.source.summary.band),
        h("span", { class: "says" }, number("ci_low") === null ? "" : `true mean ${share(row.ci_low)} to ${share(row.ci_high)}, 90 % interval`)),
      h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, visible(value))])));
  }

  private carried(prompt: Prompt): HTMLElement | null {
    const entries = Object.entries(prompt.carried);
    if (!entries.length) return null;
    return h("details", { class: "carried" }, h("summary", {}, `${count(entries.length)} columns of its source`),
      h("dl", { class: "facts" }, ...entries.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, expandable(String(value), 300, (part) => h("span", {}, visible(part))))])));
  }

  private group(row: Row, prompt: Prompt | null): HTMLElement {
    const completions = prompt?.completions ?? [];
    if (!completions.length) return h("p", { class: "note" }, this.why(row, prompt));
    const poems = isPoem(prompt as Prompt, String(row.verifier)), programs = isProgram(prompt as Prompt);
    const shown = this.all ? completions : completions.slice(0, SHOWN);
    const showAll = (): void => { this.all = true; this.render(); this.mark(); };
    return h("section", { "aria-label": "Completions" },
      h("h3", {}, `${count(completions.length)} completions, best first`),
      this.strip(completions),
      h("div", { class: `cards${poems ? " of-poems" : programs ? " of-programs" : ""}` }, ...shown.map((one) => this.card(one, prompt as Prompt, row, poems, programs))),
      shown.length < completions.length ? h("p", {}, h("button", { class: "more", type: "button", click: showAll }, `show all ${count(completions.length)} completions`)) : null);
  }

  private why(row: Row, prompt: Prompt | null): string {
    if (row.decision === "duplicate" || row.decision === "contaminated") return "It was never sampled.";
    if (row.certified_by === "moved") return "Its certificate was moved from the rollouts of an earlier policy: see the version before.";
    if (!row.rollouts) return "It was never sampled: its certificate is that of prompts like it.";
    if (!this.source.hasCompletions) return "No completions are here: the set lay in no store when this was written.";
    return prompt ? "The store does not hold its completions." : "Its completions are not in this file, which has those of a random sample: `learnable show` and `learnable view` have them.";
  }

  /** A mark for each completion at its reward's height: a press goes there. */
  private strip(completions: Completion[]): HTMLElement {
    return h("div", { class: "strip", role: "group", "aria-label": "Rewards, best first" }, ...completions.map((one) => {
      const told = one.reward === null ? "no score" : `reward ${share(one.reward)}`;
      const mark = h("span", { class: one.reward === null ? "mark none" : one.passed ? "mark passed" : "mark" });
      mark.style.height = `${4 + 20 * (one.reward ?? 0)}px`;
      return h("button", { type: "button", "data-completion": one.index, "aria-pressed": "false", "aria-label": `completion ${one.index}, ${told}`, title: `#${one.index}, ${told}`,
        click: () => this.store.set({ completion: one.index }) }, mark);
    }));
  }

  private card(one: Completion, prompt: Prompt, row: Row, poems: boolean, programs: boolean): HTMLElement {
    const judged = one.reward === null ? words(one.verdict ?? "not scored") : one.passed ? "✓ passed" : "✗ not passed";
    const ended = one.finish === "length" ? "ran out of tokens after" : "ended after";
    const body = h("div", { class: "body" });
    const draw = (): void => replace(body, poems ? poem(one) : programs ? program(one) : plainText(one.text));
    draw();
    const explain = async (button: HTMLElement): Promise<void> => {
      button.textContent = "reading …";
      one.explanation = await this.source.explain(prompt.id, one.index);
      button.textContent = one.explanation ? "" : "cannot be explained";
      if (one.explanation) { button.remove(); draw(); }
    };
    const offered = poems && !one.explanation && !this.source.summary.sample;
    return h("section", { class: "card", "data-completion": one.index, "aria-label": `Completion ${one.index}` },
      h("header", {},
        h("span", { class: "index" }, `#${one.index}`),
        h("span", { class: "reward" }, share(one.reward)),
        h("span", { class: one.reward === null ? "verdict wrong" : one.passed ? "verdict right" : "verdict" }, judged),
        h("span", { class: "buttons" },
          offered ? h("button", { class: "quiet", type: "button", click: (event: Event) => void explain(event.currentTarget as HTMLElement) }, "explain") : null,
          copyButton(one.text, "copy", `copy completion ${one.index}`))),
      h("p", { class: "ended" }, `${ended} ${count(one.tokens)} tokens${one.verdict === "truncated" ? ", judged cut short" : ""}${one.counts ? "" : ", left out of the group"}`),
      one.reason ? expandable(one.reason, 600, (part) => h("p", { class: "reason" }, visible(part))) : null,
      parts(one), programs ? failedCase(one, prompt) : null,
      one.reasoning ? h("details", { class: "thought" }, h("summary", {}, `thought, ${count(one.reasoning_tokens)} tokens`), plainText(one.reasoning)) : null,
      body);
  }
}
