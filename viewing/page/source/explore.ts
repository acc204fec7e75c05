/** The list of prompts: search, filters, order and columns above rows that are drawn only where one looks. */

import { interval } from "./charts";
import { columnsOf, measuresOf, type Column } from "./columns";
import { Detail } from "./detail";
import { announce, count, h, replace, visible, words } from "./dom";
import { COLUMNS, type State, type Store } from "./state";
import type { Row, Source } from "./types";

const PAGE = 100; // rows that are asked for together
const TALLEST = 12_000_000; // pixels that browsers scroll well
const NARROW = 720;

export class Explorer {
  readonly element: HTMLElement;
  private detail: Detail;
  private columns: Column[];
  private total = 0;
  private cursor = -1;
  private pages = new Map<number, Promise<Row[]>>();
  private loaded = new Map<number, Row[]>();
  private turn = 0;

  private search = h("input", { type: "search", id: "search", placeholder: "Search", autocomplete: "off", spellcheck: "false", "aria-label": "Search", "aria-keyshortcuts": "/" });
  private scope = this.select("Search in", [["both", "in all text"], ["prompts", "in prompts"], ["completions", "in completions"]]);
  private form = this.select("Form", []);
  private decision = this.select("Decision", []);
  private measure = this.select("Score or component", []);
  private min = h("input", { type: "number", step: "any", placeholder: "from", "aria-label": "from" });
  private max = h("input", { type: "number", step: "any", placeholder: "to", "aria-label": "to" });
  private status = h("p", { class: "status", role: "status" });
  private head = h("div", { class: "row head", role: "row" });
  private list = h("div", { class: "list", role: "rowgroup" });
  private spacer = h("div", { class: "spacer", role: "presentation" });
  private grid = h("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": "Prompts" });

  constructor(private source: Source, private store: Store) {
    this.detail = new Detail(source, store);
    this.columns = columnsOf(source.summary.scores?.components ?? []);
    this.fillSelects();
    this.listen();
    this.grid.append(this.head, this.spacer);
    this.spacer.append(this.list);
    this.element = h("div", { class: "explorer" }, h("h1", { class: "unseen" }, "Prompts"),
      h("form", { class: "filters", role: "search", submit: (event: Event) => event.preventDefault() },
        h("span", { class: "search" }, this.search, this.scope), this.form, this.decision,
        h("span", { class: "range" }, this.measure, this.min, this.max),
        this.chooser(), h("button", { class: "quiet", type: "button", click: () => this.clear() }, "clear")),
      this.status,
      h("div", { class: "split" }, this.grid, this.detail.element));
    new ResizeObserver(() => this.draw()).observe(this.grid);
    this.follow(store.state, null);
  }

  /** Show what the state says. */
  follow(state: State, before: State | null): void {
    if (state.tab !== "prompts") return;
    this.put(state);
    const asked = (one: State): string => JSON.stringify([one.text, one.scope, one.form, one.decision, one.measure, one.min, one.max, one.sort, one.descending]);
    const isNew = !before || before.tab !== "prompts" || asked(before) !== asked(state);
    if (isNew) void this.query(state);
    else if (before.columns.join() !== state.columns.join()) this.draw();
    this.element.classList.toggle("is-open", Boolean(state.prompt));
    if (state.prompt) void this.show(state.prompt);
    else this.draw();
  }

  /** Ask again and show what is new: a run may be writing. */
  async refresh(): Promise<void> {
    await this.query(this.store.state, true);
    if (this.store.state.prompt) await this.detail.open(this.store.state.prompt, true);
  }

  key(event: KeyboardEvent): boolean {
    const { state } = this.store;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === "Escape") {
      if (typing) (event.target as HTMLElement).blur();
      else if (state.prompt) this.store.set({ prompt: "", completion: null });
      else if (state.text) this.store.set({ text: "" });
      this.grid.focus({ preventScroll: true });
      return true;
    }
    if (typing) {
      if (event.key === "Enter" && event.target === this.search) { this.grid.focus(); void this.move(0 - this.cursor); return true; }
      return false;
    }
    const moves: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -this.total, End: this.total };
    if (event.key === "/") { this.search.focus(); this.search.select(); }
    else if (event.key in moves) void this.move(moves[event.key]);
    else if (event.key === "Enter" && this.cursor >= 0 && !(event.target instanceof HTMLButtonElement)) void this.openAt(this.cursor);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      if (!state.prompt) return false;
      this.detail.step(event.key === "ArrowRight" ? 1 : -1);
    } else if (event.key === "c" && this.detail.chosen) {
      void navigator.clipboard?.writeText(this.detail.chosen.text).then(() => announce("Copied"), () => announce("The browser does not let this page copy"));
    } else return false;
    return true;
  }

  private select(label: string, options: [string, string][]): HTMLSelectElement {
    return h("select", { "aria-label": label }, ...options.map(([value, text]) => h("option", { value }, text)));
  }

  private fillSelects(): void {
    const { levels } = this.source.summary;
    const option = (value: string, text: string): HTMLElement => h("option", { value }, text);
    replace(this.form, option("", "every form"), h("optgroup", { label: "families" }, ...levels.family.map((one) => option(`family:${one}`, one))),
      h("optgroup", { label: "forms" }, ...levels.form.map((one) => option(one, one))));
    const changed = this.source.summary.changes.length ? [option("changed", "changed since the version before")] : [];
    replace(this.decision, option("", "every decision"), option("rejected", "all rejected"), ...changed, ...levels.decision.map((one) => option(one, words(one))));
    replace(this.measure, ...measuresOf(this.source.summary.scores?.components ?? []).map((column) => option(column.key, column.label)));
  }

  private listen(): void {
    let timer = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.store.set({ text: this.search.value }), 120);
    });
    this.scope.addEventListener("change", () => this.store.set({ scope: this.scope.value as State["scope"] }));
    this.form.addEventListener("change", () => this.store.set({ form: this.form.value }));
    this.decision.addEventListener("change", () => this.store.set({ decision: this.decision.value }));
    this.measure.addEventListener("change", () => this.store.set({ measure: this.measure.value }));
    const bound = (input: HTMLInputElement): number | null => (input.value === "" || !Number.isFinite(input.valueAsNumber) ? null : input.valueAsNumber);
    this.min.addEventListener("input", () => this.store.set({ min: bound(this.min) }));
    this.max.addEventListener("input", () => this.store.set({ max: bound(this.max) }));
    this.grid.addEventListener("scroll", () => this.draw(), { passive: true });
    this.list.addEventListener("click", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
      if (row) void this.openAt(Number(row.dataset.at));
    });
  }

  private clear(): void {
    this.store.set({ text: "", scope: "both", form: "", decision: "", measure: "mean", min: null, max: null, sort: "", descending: false });
  }

  private put(state: State): void {
    const write = (field: HTMLInputElement | HTMLSelectElement, value: string): void => {
      if (document.activeElement !== field || field instanceof HTMLSelectElement) if (field.value !== value) field.value = value;
    };
    write(this.search, state.text);
    write(this.scope, state.scope);
    write(this.form, state.form);
    write(this.decision, state.decision);
    write(this.measure, state.measure);
    write(this.min, state.min === null ? "" : String(state.min));
    write(this.max, state.max === null ? "" : String(state.max));
  }

  private chooser(): HTMLElement {
    const boxes = this.columns.filter((column) => column.key !== "head").map((column) => {
      const box = h("input", { type: "checkbox", value: column.key, id: `column-${column.key}` });
      box.checked = this.store.state.columns.includes(column.key);
      box.addEventListener("change", () => {
        const chosen = new Set(["head", ...this.store.state.columns]);
        if (box.checked) chosen.add(column.key);
        else chosen.delete(column.key);
        this.store.set({ columns: this.columns.filter((one) => chosen.has(one.key)).map((one) => one.key) });
      });
      return h("label", { title: column.means }, box, column.label);
    });
    const panel = h("details", { class: "chooser" }, h("summary", {}, "columns"), h("div", { class: "panel" }, ...boxes,
      h("button", { class: "quiet", type: "button", click: () => {
        this.store.set({ columns: COLUMNS });
        for (const box of panel.querySelectorAll("input")) box.checked = COLUMNS.includes(box.value);
      } }, "as at first")));
    return panel;
  }

  private async query(state: State, stay = false): Promise<void> {
    const turn = ++this.turn;
    let sofar = -1;
    const total = await this.source.query(state, (done, found) => {
      if (turn !== this.turn || done >= 1) return;
      this.status.textContent = `${found === undefined ? "" : `${count(found)} prompts so far, `}searching completions, ${Math.round(100 * done)} % …`;
      if (found === undefined || found === sofar) return;
      this.take(found, sofar < 0);
      if (!stay && sofar < 0) this.grid.scrollTop = 0;
      this.draw();
      sofar = found;
    });
    if (turn !== this.turn) return;
    this.take(total, sofar < 0);
    const all = this.source.summary.totals.prompts;
    this.status.textContent = `${count(total)}${total === all ? "" : ` of ${count(all)}`} prompts${this.partly(state)}`;
    if (!stay) {
      if (sofar < 0) this.grid.scrollTop = 0;
      this.cursor = state.prompt ? await this.source.find(state.prompt) : -1;
      if (sofar < 0 && this.cursor > 0) this.reveal(this.cursor);
    }
    this.draw();
  }

  /** So many prompts are found; rows that are shown stay until the new ones come, where a search only goes on. */
  private take(total: number, isNew: boolean): void {
    this.total = total;
    this.pages.clear();
    if (isNew) this.loaded.clear();
    this.grid.setAttribute("aria-rowcount", String(total + 1));
    this.spacer.style.height = `${Math.min(TALLEST, total * this.rowHeight)}px`;
  }

  private partly(state: State): string {
    const told = this.source.summary.sample;
    if (!state.text.trim() || state.scope === "prompts" || !told || told.with_completions === told.prompts) return "";
    return told.with_completions ? `; searched the completions of the ${count(told.with_completions)} prompts that have them here` : "; no completions are here";
  }

  private get isNarrow(): boolean {
    return this.grid.clientWidth < NARROW;
  }

  private get rowHeight(): number {
    return this.isNarrow ? 60 : 34;
  }

  /** Pixels of the list for a pixel that is scrolled: more than one where all rows would be taller than browsers scroll. */
  private get stretch(): number {
    const room = Math.max(1, Math.min(TALLEST, this.total * this.rowHeight) - this.grid.clientHeight);
    return Math.max(1, (this.total * this.rowHeight - this.grid.clientHeight) / room);
  }

  private draw(): void {
    const shown = this.columns.filter((column) => column.key === "head" || this.store.state.columns.includes(column.key));
    this.drawHead(shown);
    const height = this.rowHeight, top = this.grid.scrollTop * this.stretch;
    const first = Math.max(0, Math.floor(top / height) - 6);
    const last = Math.min(this.total, first + Math.ceil(this.grid.clientHeight / height) + 14);
    this.spacer.style.height = `${Math.min(TALLEST, this.total * height)}px`;
    const offset = this.stretch > 1 ? this.grid.scrollTop + first * height - top : first * height;
    this.list.style.transform = `translateY(${offset}px)`;
    const rows: HTMLElement[] = [];
    for (let at = first; at < last; at++) rows.push(this.drawRow(at, shown));
    this.list.replaceChildren(...rows);
    if (!this.total) this.list.append(h("div", { role: "row" }, h("p", { class: "note", role: "gridcell" }, "No prompt is like that. Esc clears the search.")));
  }

  private drawHead(shown: Column[]): void {
    const { sort, descending } = this.store.state;
    const narrow = this.isNarrow;
    this.grid.classList.toggle("narrow", narrow);
    const columns = narrow ? "1fr" : shown.map((column) => column.width).join(" ");
    this.grid.style.setProperty("--columns", columns);
    const at = (document.activeElement as HTMLElement | null)?.dataset?.sort;
    replace(this.head, ...shown.map((column) => {
      const is = sort === column.key;
      const press = (): void => this.store.set(is ? (descending === column.figure ? { descending: !descending } : { sort: "", descending: false }) : { sort: column.key, descending: column.figure });
      return h("div", { role: "columnheader", class: column.figure ? "number" : null, "aria-sort": is ? (descending ? "descending" : "ascending") : "none" },
        h("button", { type: "button", "data-sort": column.key, title: column.means, click: press }, column.label, is ? (descending ? " ↓" : " ↑") : ""));
    }));
    if (at) this.head.querySelector<HTMLElement>(`[data-sort="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
  }

  private drawRow(at: number, shown: Column[]): HTMLElement {
    const row = this.rowAt(at);
    const is = row !== null && row.prompt_id === this.store.state.prompt;
    const style = ["row", is ? "open" : "", at === this.cursor ? "cursor" : "", row?.decision === "keep" ? "" : "out"].join(" ");
    const line = h("div", { class: style, role: "row", "aria-rowindex": at + 2, "aria-selected": String(at === this.cursor), "data-at": at });
    if (row) for (const column of shown) line.append(this.drawCell(column, row));
    else line.append(h("span", { role: "gridcell", class: "faint" }, "…"));
    return line;
  }

  private drawCell(column: Column, row: Row): HTMLElement {
    const value = row[column.key] ?? null;
    const style = `cell of-${column.key.replace(/[^a-z_]/g, "-")}${column.figure ? " number" : ""}`;
    const cell = h("span", { role: "gridcell", class: style });
    if (column.key === "mean") cell.append(interval(value as number | null, row.ci_low as number | null, row.ci_high as number | null, this.source.summary.band));
    else if (column.key === "decision") cell.append(h("span", { class: `decision ${value === "keep" ? "kept" : "out"}` }, column.show(value, row)));
    else {
      const text = visible(column.show(value, row)).slice(0, 400);
      cell.textContent = text;
      if (!column.figure) cell.title = text;
      if (column.key === "head") cell.dir = "auto";
    }
    return cell;
  }

  private rowAt(at: number): Row | null {
    const page = Math.floor(at / PAGE);
    if (!this.pages.has(page)) {
      const turn = this.turn;
      const rows = this.source.rows(page * PAGE, (page + 1) * PAGE, () => turn === this.turn && this.draw());
      this.pages.set(page, rows);
      void rows.then((found) => {
        if (turn !== this.turn) return;
        this.loaded.set(page, found);
        this.draw();
      });
    }
    return this.loaded.get(page)?.[at - page * PAGE] ?? null;
  }

  private async move(by: number): Promise<void> {
    if (!this.total) return;
    this.cursor = Math.max(0, Math.min(this.total - 1, this.cursor < 0 ? 0 : this.cursor + by));
    this.reveal(this.cursor);
    if (this.store.state.prompt) await this.openAt(this.cursor);
    else this.draw();
  }

  private reveal(at: number): void {
    const height = this.rowHeight, top = at * height, seen = this.grid.scrollTop * this.stretch;
    const room = this.grid.clientHeight - 40;
    if (top < seen) this.grid.scrollTop = top / this.stretch;
    else if (top + height > seen + room) this.grid.scrollTop = (top + height - room) / this.stretch;
  }

  private async openAt(at: number): Promise<void> {
    this.cursor = at;
    const page = Math.floor(at / PAGE);
    this.rowAt(at);
    const rows = await this.pages.get(page);
    const row = rows?.[at - page * PAGE];
    if (row) this.store.set({ prompt: String(row.prompt_id), completion: null });
  }

  private async show(id: string): Promise<void> {
    const at = await this.source.find(id);
    if (at >= 0 && at !== this.cursor) {
      this.cursor = at;
      this.reveal(at);
    }
    this.draw();
    await this.detail.open(id);
  }
}
