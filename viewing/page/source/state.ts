/** What is shown, as the address has it behind its `#`: a copied address opens the same. */

import type { Query } from "./types";

export type Tab = "overview" | "prompts" | "training" | "live";

export interface State extends Query {
  tab: Tab;
  set: string;
  prompt: string;
  completion: number | null;
  columns: string[];
}

export const COLUMNS = ["decision", "form", "head", "mean", "n", "tokens"];
const START: State = {
  tab: "overview",
  set: "",
  prompt: "",
  completion: null,
  columns: COLUMNS,
  text: "",
  scope: "both",
  form: "",
  decision: "",
  measure: "mean",
  min: null,
  max: null,
  sort: "",
  descending: false,
};

export function read(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (name: string): number | null => {
    const text = given.get(name);
    return text === null || text === "" || !Number.isFinite(Number(text)) ? null : Number(text);
  };
  const tab = given.get("tab");
  const scope = given.get("scope");
  return {
    tab: tab === "prompts" || tab === "training" || tab === "live" ? tab : "overview",
    set: given.get("set") ?? "",
    prompt: given.get("prompt") ?? "",
    completion: number("completion"),
    columns: given.get("columns")?.split(",").filter(Boolean) ?? START.columns,
    text: given.get("q") ?? "",
    scope: scope === "prompts" || scope === "completions" ? scope : "both",
    form: given.get("form") ?? "",
    decision: given.get("decision") ?? "",
    measure: given.get("measure") ?? START.measure,
    min: number("min"),
    max: number("max"),
    sort: given.get("sort") ?? "",
    descending: given.get("order") === "down",
  };
}

export function write(state: State): string {
  const told = new URLSearchParams();
  const tell = (name: string, value: string | number | null, usual: string | number | null): void => {
    if (value !== usual && value !== null) told.set(name, String(value));
  };
  tell("set", state.set, "");
  tell("tab", state.tab, START.tab);
  tell("q", state.text, "");
  tell("scope", state.scope, START.scope);
  tell("form", state.form, "");
  tell("decision", state.decision, "");
  tell("measure", state.measure, START.measure);
  tell("min", state.min, null);
  tell("max", state.max, null);
  tell("sort", state.sort, "");
  if (state.sort && state.descending) told.set("order", "down");
  tell("columns", state.columns.join(","), START.columns.join(","));
  tell("prompt", state.prompt, "");
  tell("completion", state.completion, null);
  return `#${told.toString()}`;
}

type Listener = (state: State, before: State) => void;

export class Store {
  state: State = read(location.hash);
  private listeners: Listener[] = [];

  constructor() {
    const follow = (): void => this.adopt(read(location.hash));
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Change something; a new entry of the history only where one would want to go back to. */
  set(change: Partial<State>): void {
    const next = { ...this.state, ...change };
    const isPlace = next.tab !== this.state.tab || next.set !== this.state.set || (!this.state.prompt && next.prompt);
    const hash = write(next);
    if (hash !== write(this.state)) history[isPlace ? "pushState" : "replaceState"](null, "", hash);
    this.adopt(next);
  }

  private adopt(next: State): void {
    const before = this.state;
    if (write(before) === write(next)) return;
    this.state = next;
    for (const listener of this.listeners) listener(next, before);
  }
}
