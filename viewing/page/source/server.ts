/** Prompts from `learnable view`: pages out of the store's Parquet, as they are asked for. */

import { count, expandable, h, plainError, replace, share, short, visible } from "./dom";
import type { Explorer } from "./explore";
import type { Store } from "./state";
import type { Explanation, Prompt, Query, Row, Source, Summary } from "./types";

interface Version {
  set: string;
  name: string;
  version: string;
  created: string;
  kept: number;
}

interface Draw {
  policy: string;
  sampling: string;
  rollouts: number;
  changed: string;
  latest: { prompt_id: string | null; completion: string; reward: number | null; passed: boolean | null; reason: string; tokens: number }[];
}

const TICK = 2000; // milliseconds between looks at a store that is written
const PATIENCE = 300; // milliseconds between questions to a search that goes on

/** The token came in the address; it goes along in a header, and no further. */
const token = new URLSearchParams(location.search).get("token") ?? "";

async function ask<T>(path: string, given: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(`api/${path}?${new URLSearchParams(given)}`, { headers: { "x-token": token } });
  const found = await answer.json().catch(() => ({ error: `the server says ${answer.status}` }));
  if (!answer.ok) throw new Error(plainError(found));
  return found as T;
}

export class ServerSource implements Source {
  hasCompletions = true;
  private asked: Record<string, string> = {};
  private timer = 0;
  private latest = 0;
  private stamp = "";

  constructor(readonly summary: Summary, private set: string, private versions: Version[]) {}

  async prepare(): Promise<void> {} // the server does

  async query(query: Query, onProgress: (share: number, total?: number) => void): Promise<number> {
    const turn = ++this.latest;
    const { text, scope, form, decision, measure, min, max, sort, descending } = query;
    this.asked = { set: this.set, text: text.trim(), scope, form, decision, measure, min: String(min ?? ""), max: String(max ?? ""), sort, descending: String(descending) };
    for (;;) {
      const { total, searched } = await ask<{ total: number; searched: number }>("count", this.asked);
      if (searched >= 1 || turn !== this.latest) return total;
      onProgress(searched, total);
      await new Promise((done) => setTimeout(done, PATIENCE));
      if (turn !== this.latest) return total; // the server ends a search of which nobody asks any more
    }
  }

  async rows(from: number, to: number): Promise<Row[]> {
    return ask<Row[]>("rows", { ...this.asked, from: String(from), to: String(to) });
  }

  async find(id: string): Promise<number> {
    return (await ask<{ place: number }>("find", { ...this.asked, id })).place;
  }

  async row(id: string): Promise<Row | null> {
    return ask<Row | null>("row", { set: this.set, id });
  }

  async prompt(id: string): Promise<Prompt | null> {
    return ask<Prompt | null>("prompt", { set: this.set, id });
  }

  async explain(id: string, index: number): Promise<Explanation | null> {
    return ask<Explanation | null>("explain", { set: this.set, id, index: String(index) });
  }

  /** Which version is looked at. */
  picker(store: Store): HTMLElement {
    const select = h("select", { "aria-label": "Set and version" }, ...this.versions.map((one) =>
      h("option", { value: one.set, selected: one.set === this.set }, `${one.name} ${one.version}, ${count(one.kept)} kept`)));
    select.addEventListener("change", () => store.set({ set: select.value, prompt: "", completion: null, form: "", decision: "" }));
    return select;
  }

  /** Look every other second whether the store has more, and tell the list of prompts. */
  watch(explorer: Explorer | null): void {
    clearInterval(this.timer);
    if (!explorer) return;
    this.timer = window.setInterval(async () => {
      const { stamp } = await ask<{ stamp: string }>("stamp").catch(() => ({ stamp: this.stamp }));
      if (this.stamp && stamp !== this.stamp) await explorer.refresh();
      this.stamp = stamp;
    }, TICK);
  }

  /** What is being written: rollouts by policy, the latest of them first. */
  live(store: Store): HTMLElement {
    const host = h("div", { class: "overview live" });
    const title = (): HTMLElement => h("h1", { class: "unseen" }, "What was written last");
    const look = async (): Promise<void> => {
      try {
        const draws = await ask<Draw[]>("live");
        replace(host, title(), ...draws.map((draw) => drawn(draw, store)), draws.length ? null : h("p", { class: "note" }, "The store has no rollouts yet."));
      } catch (error) {
        replace(host, h("p", { class: "note" }, `The server does not answer: ${String(error)}`));
      }
    };
    void look();
    setInterval(() => host.isConnected && void look(), TICK);
    return host;
  }
}

function drawn(draw: Draw, store: Store): HTMLElement {
  const open = (id: string): HTMLElement => h("button", { class: "quiet", type: "button", "aria-label": "open prompt", click: () => store.set({ tab: "prompts", prompt: id, completion: null }) }, "open");
  return h("section", {},
    h("h2", {}, draw.policy), h("p", { class: "says" }, `${short(draw.rollouts)} rollouts, sampling ${draw.sampling}, last written ${draw.changed}`),
    h("div", { class: "cards" }, ...draw.latest.map((one) => h("section", { class: "card" },
      h("header", {}, h("span", { class: "reward" }, share(one.reward)),
        h("span", { class: one.passed ? "verdict right" : "verdict" }, one.reward === null ? "not scored yet" : one.passed ? "✓ passed" : "✗ not passed"),
        one.prompt_id ? h("span", { class: "buttons" }, open(one.prompt_id)) : null),
      one.reason ? h("p", { class: "reason" }, visible(one.reason)) : null,
      h("div", { class: "body" }, expandable(one.completion, 400, (part) => h("pre", { class: "text", dir: "auto" }, visible(part))))))));
}

export async function openServer(store: Store): Promise<Source> {
  const versions = await ask<Version[]>("sets");
  if (!versions.length) throw new Error("the store has no curated set yet: find-learnable makes one");
  const set = versions.some((one) => one.set === store.state.set) ? store.state.set : versions[0].set;
  return new ServerSource(await ask<Summary>("summary", { set }), set, versions);
}
