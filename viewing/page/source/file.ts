/** Prompts out of the file itself: columns in memory, completions unpacked block by block when they are needed. */

import type { Explanation, Prompt, Query, Row, Source, Summary, Value } from "./types";

type Names = { levels: string[]; codes: number[] };
type Column = Value[] | Names;

export async function unpack<T>(name: string): Promise<T> {
  const place = document.getElementById(`data-${name}`);
  if (!place) throw new Error(`the page has no part ${name}`);
  const binary = atob(place.textContent ?? "");
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}

const pause = (): Promise<void> => new Promise((done) => setTimeout(done));

export class FileSource implements Source {
  hasCompletions: boolean;
  private size: number;
  private places = new Map<string, number>();
  private found: ArrayLike<number> = [];
  private orders = new Map<string, Uint32Array>();
  private lower: string[] | null = null;
  private blocks = new Map<number, Promise<Prompt[]>>();
  private completions = new Map<number, string>(); // what is searched, in lower case, by the place of the prompt
  private searched = 0; // blocks that are in `completions`
  private latest = 0;

  constructor(readonly summary: Summary, private columns: Record<string, Column>, private blockCount: number) {
    this.hasCompletions = blockCount > 0;
    const ids = this.columns.prompt_id as string[];
    this.size = ids.length;
    for (let at = 0; at < ids.length; at++) this.places.set(ids[at], at);
    summary.levels = {};
    for (const name of ["form", "family", "decision"]) summary.levels[name] = this.levels(name);
  }

  static async open(): Promise<FileSource> {
    const summary = await unpack<Summary>("summary");
    const table = await unpack<{ columns: Record<string, Column> }>("prompts");
    return new FileSource(summary, table.columns, document.querySelectorAll('[id^="data-block-"]').length);
  }

  async query(query: Query, onProgress: (share: number) => void): Promise<number> {
    const turn = ++this.latest;
    const needle = query.text.trim().toLowerCase();
    const hits = needle ? await this.search(needle, query.scope, onProgress, turn) : null;
    if (turn !== this.latest) return this.found.length;
    const tests = this.tests(query);
    const order = this.order(query.sort, query.descending);
    const chosen: number[] = [];
    for (let step = 0; step < this.size; step++) {
      const at = order ? order[step] : step;
      if ((!hits || hits[at]) && tests.every((test) => test(at))) chosen.push(at);
    }
    this.found = chosen;
    return chosen.length;
  }

  async rows(from: number, to: number): Promise<Row[]> {
    const rows: Row[] = [];
    for (let at = from; at < Math.min(to, this.found.length); at++) rows.push(this.read(this.found[at]));
    return rows;
  }

  async find(id: string): Promise<number> {
    const at = this.places.get(id);
    return at === undefined ? -1 : Array.prototype.indexOf.call(this.found, at);
  }

  async row(id: string): Promise<Row | null> {
    const at = this.places.get(id);
    return at === undefined ? null : this.read(at);
  }

  async prompt(id: string): Promise<Prompt | null> {
    const at = this.places.get(id);
    const block = at === undefined ? -1 : Number(this.value("block", at));
    if (block < 0) return null;
    return (await this.block(block)).find((prompt) => prompt.id === id) ?? null;
  }

  async explain(): Promise<Explanation | null> {
    return null; // what is explained is in the file already
  }

  private block(number: number): Promise<Prompt[]> {
    let found = this.blocks.get(number);
    if (!found) {
      found = unpack<Prompt[]>(`block-${number}`);
      this.blocks.set(number, found);
      if (this.blocks.size > 12) this.blocks.delete(this.blocks.keys().next().value as number);
    }
    return found;
  }

  private levels(name: string): string[] {
    const column = this.columns[name];
    const levels = Array.isArray(column) ? [...new Set(column as string[])] : column.levels;
    return levels.filter((level) => level !== null).sort((a, b) => a.localeCompare(b, "en"));
  }

  private value(name: string, at: number): Value {
    const column = this.columns[name];
    if (column === undefined) return null;
    if (Array.isArray(column)) return column[at];
    return column.codes[at] < 0 ? null : column.levels[column.codes[at]];
  }

  private read(at: number): Row {
    const row: Row = {};
    for (const name of Object.keys(this.columns)) row[name] = this.value(name, at);
    return row;
  }

  private tests(query: Query): ((at: number) => boolean)[] {
    const tests: ((at: number) => boolean)[] = [];
    const equals = (name: string, wanted: string): void => {
      const column = this.columns[name];
      if (Array.isArray(column)) tests.push((at) => column[at] === wanted);
      else if (column) {
        const code = column.levels.indexOf(wanted);
        tests.push((at) => column.codes[at] === code);
      }
    };
    if (query.form.startsWith("family:")) equals("family", query.form.slice(7));
    else if (query.form) equals("form", query.form);
    if (query.decision === "rejected") tests.push((at) => this.value("decision", at) !== "keep");
    else if (query.decision === "changed") tests.push((at) => this.value("before", at) !== this.value("decision", at));
    else if (query.decision) equals("decision", query.decision);
    const column = this.columns[query.measure];
    const { min, max } = query;
    if (Array.isArray(column) && (min !== null || max !== null)) {
      tests.push((at) => {
        const value = column[at];
        return typeof value === "number" && (min === null || value >= min) && (max === null || value <= max);
      });
    }
    return tests;
  }

  /** The places of all prompts by a column, those without a value last; null for the order of the file. */
  private order(name: string, descending: boolean): Uint32Array | null {
    const column = name ? this.columns[name] : undefined;
    if (!column) return null;
    const key = `${name}/${descending}`;
    let order = this.orders.get(key);
    if (order) return order;
    const rank = this.ranks(column, descending);
    order = Uint32Array.from({ length: this.size }, (_, at) => at).sort((a, b) => rank[a] - rank[b] || a - b);
    this.orders.set(key, order);
    return order;
  }

  private ranks(column: Column, descending: boolean): Float64Array {
    const rank = new Float64Array(this.size);
    let levels: Map<Value, number> | null = null;
    if (!Array.isArray(column) || column.some((value) => typeof value === "string")) {
      const texts = Array.isArray(column) ? [...new Set(column)] : column.levels;
      const sorted = texts.filter((text) => text !== null).sort((a, b) => (String(a) < String(b) ? -1 : 1));
      levels = new Map(sorted.map((text, place) => [text, place]));
    }
    for (let at = 0; at < this.size; at++) {
      const value = Array.isArray(column) ? column[at] : column.codes[at] < 0 ? null : column.levels[column.codes[at]];
      const number = value === null ? null : levels ? (levels.get(value) ?? 0) : Number(value);
      rank[at] = number === null ? Number.MAX_VALUE : descending ? -number : number;
    }
    return rank;
  }

  private async search(
    needle: string, scope: Query["scope"], onProgress: (share: number) => void, turn: number,
  ): Promise<Uint8Array> {
    const hits = new Uint8Array(this.size);
    if (scope !== "completions") {
      this.lower ??= (this.columns.head as string[]).map((text) => text.toLowerCase());
      const ids = this.columns.prompt_id as string[];
      for (let at = 0; at < this.size; at++) {
        if (this.lower[at].includes(needle) || ids[at].startsWith(needle)) hits[at] = 1;
      }
    }
    if (scope === "prompts") return hits;
    while (this.searched < this.blockCount) {
      const number = this.searched;
      const prompts = await unpack<Prompt[]>(`block-${number}`);
      if (turn !== this.latest) return hits;
      if (number === this.searched) {
        for (const prompt of prompts) {
          const text = prompt.completions.map((one) => one.text).join("\u0000").toLowerCase();
          this.completions.set(this.places.get(prompt.id) as number, text);
        }
        this.searched++;
      }
      onProgress(this.searched / this.blockCount);
      await pause();
    }
    for (const [at, text] of this.completions) if (!hits[at] && text.includes(needle)) hits[at] = 1;
    return hits;
  }
}
