/** The page: opens what it was given, and puts the views under their tabs. */

import { count, h, replace } from "./dom";
import { Explorer } from "./explore";
import { FileSource } from "./file";
import { overview } from "./overview";
import { openServer, type ServerSource } from "./server";
import { Store, type State, type Tab } from "./state";
import { training } from "./training";
import type { Source } from "./types";

const KEYS: [string, string][] = [
  ["/", "search"], ["j, k or ↓, ↑", "next prompt, the one before"], ["Enter", "open the prompt"], ["→, ←", "next completion, the one before"],
  ["c", "copy the chosen completion"], ["Esc", "close, or leave the search"], ["1, 2, 3", "the views"], ["d", "dark or light"], ["?", "these keys"],
];

class Page {
  private main = h("main", { id: "main" });
  private views = new Map<Tab, HTMLElement>();
  private explorer: Explorer | null = null;
  private tabs = h("nav", { class: "tabs", "aria-label": "Views" });
  private help = this.dialog();

  constructor(private host: HTMLElement, private source: Source, private store: Store) {
    replace(host, h("a", { class: "skip", href: "#main", click: (event: Event) => { event.preventDefault(); this.main.focus(); } }, "to the content"),
      this.head(), this.main, h("p", { id: "announcements", class: "unseen", role: "status" }), this.help);
    this.main.tabIndex = -1;
    store.listen((state, before) => this.follow(state, before));
    addEventListener("keydown", (event) => this.key(event));
    this.follow(store.state, null);
  }

  private get server(): ServerSource | null {
    return "live" in this.source ? (this.source as ServerSource) : null;
  }

  private head(): HTMLElement {
    const { summary } = this.source;
    document.title = `${summary.name} ${summary.version} – Learnable`;
    const name = this.server ? this.server.picker(this.store) : h("span", { class: "set" }, summary.name, " ", h("span", { class: "version" }, summary.version));
    return h("header", { class: "top" },
      h("p", { class: "brand" }, "Learnable"), h("p", { class: "of" }, name, h("span", { class: "policy" }, summary.policy)), this.tabs,
      h("div", { class: "buttons" },
        h("button", { class: "quiet", type: "button", "aria-label": "dark or light", click: () => turn() }, "◐"),
        h("button", { class: "quiet", type: "button", "aria-label": "keys", click: () => this.help.showModal() }, "?")));
  }

  private dialog(): HTMLDialogElement {
    const dialog: HTMLDialogElement = h("dialog", { "aria-label": "Keys" }, h("h2", {}, "Keys"),
      h("dl", { class: "keys" }, ...KEYS.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])),
      h("button", { type: "button", click: () => dialog.close() }, "close"));
    return dialog;
  }

  private drawTabs(state: State): void {
    const { summary } = this.source;
    const shown: [Tab, string][] = [["overview", "Overview"], ["prompts", `Prompts ${count(summary.totals.prompts)}`]];
    if (summary.runs.length) shown.push(["training", `Training ${summary.runs.length}`]);
    if (this.server) shown.push(["live", "Live"]);
    replace(this.tabs, ...shown.map(([tab, label]) => h("button", { type: "button", "aria-current": state.tab === tab ? "page" : null, click: () => this.store.set({ tab }) }, label)));
  }

  private follow(state: State, before: State | null): void {
    if (this.server && before && before.set !== state.set) return void open(this.host, this.store);
    if (state.tab !== before?.tab) {
      this.drawTabs(state);
      replace(this.main, this.view(state.tab));
      this.main.classList.toggle("full", state.tab === "prompts");
      if (state.tab !== "prompts") scrollTo(0, 0);
      this.server?.watch(state.tab === "live" ? null : this.explorer);
    }
    this.explorer?.follow(state, before);
  }

  private view(tab: Tab): HTMLElement {
    let view = this.views.get(tab);
    if (!view) {
      view = this.make(tab);
      this.views.set(tab, view);
    }
    return view;
  }

  private make(tab: Tab): HTMLElement {
    if (tab === "prompts") {
      this.explorer = new Explorer(this.source, this.store);
      return this.explorer.element;
    }
    if (tab === "training") return training(this.source.summary.runs);
    if (tab === "live" && this.server) return this.server.live(this.store);
    return overview(this.source.summary, this.store);
  }

  private key(event: KeyboardEvent): void {
    if (!this.host.contains(this.main) || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (this.store.state.tab === "prompts" && this.explorer?.key(event)) return event.preventDefault();
    if (typing) return;
    const tab = ({ "1": "overview", "2": "prompts", "3": "training" } as Record<string, Tab>)[event.key];
    if (tab && (tab !== "training" || this.source.summary.runs.length)) this.store.set({ tab });
    else if (event.key === "d") turn();
    else if (event.key === "?") this.help.showModal();
    else if (event.key === "/") {
      this.store.set({ tab: "prompts" });
      document.getElementById("search")?.focus();
      event.preventDefault();
    }
  }
}

function turn(): void {
  const isDark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem("learnable-theme", isDark ? "light" : "dark");
  } catch {
    // a browser may keep nothing for files: then it is remembered until the page is closed
  }
}

function afterPaint(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

async function open(host: HTMLElement, store: Store): Promise<void> {
  try {
    const source = document.getElementById("data-summary") ? await FileSource.open() : await openServer(store);
    new Page(host, source, store);
    document.documentElement.dataset.ready = "yes";
    afterPaint(() => void source.prepare());
  } catch (error) {
    replace(host, h("p", { class: "opening", role: "alert" }, `This page cannot be opened: ${error instanceof Error ? error.message : String(error)}`));
  }
}

try {
  const theme = localStorage.getItem("learnable-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // as above
}
void open(document.getElementById("app") as HTMLElement, new Store());
