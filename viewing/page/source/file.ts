/** Prompts out of the file itself: each part is unpacked when it is needed, or when the browser has nothing to do. */

import type { Explanation, Prompt, Query, Row, Source, Summary, Value } from "./types";

type Names = { levels: string[]; codes: number[] };
type Column = Value[] | Names;
type Columns = Record<string, Column>;
type Table = { rows: number; columns: Record<string, Column | { all: Value }> };
type Heads = { head: string[]; cut: boolean[]; lower: string[] };

/** A part of the page, as its element. The script runs while later parts are still being read. */
async function findPart(name: string): Promise<HTMLElement> {
  const place = document.getElementById(`data-${name}`);
  const isWhole = place?.nextSibling || document.readyState !== "loading";
  if (place && isWhole) return place;
  if (document.readyState !== "loading") throw new Error(`the page has no part ${name}`);
  await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  return findPart(name);
}

export async function unpack<T>(name: string): Promise<T> {
  const binary = atob((await findPart(name)).textContent ?? "");
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}

/** Let the browser draw and listen before more is done. */
const pause = (): Promise<void> => new Promise((done) => setTimeout(done));
const idle = (): Promise<unknown> => new Promise((done) => requestIdleCallback(done, { timeout: 500 }));

async function unpackTable(name: string): Promise<Columns> {
  const { rows, columns } = await unpack<Table>(name);
  for (const [key, column] of Object.entries(columns)) if ("all" in column) columns[key] = new Array<Value>(rows).fill(column.all);
  return columns as Columns;
}

function values(column: Column): Value[] {
  return Array.isArray(column) ? column : column.codes.map((code) => (code < 0 ? null : column.levels[code]));
}

export class FileSource implements Source {
  hasCompletions: boolean;
  private size = 0;
  private ids: string[] = [];
  private columns: Columns = {};
  private blockOf: number[] = [];
  private table: Promise<void> | null = null;
  private places = new Map<string, number>();
  private heads: Heads[] = []; // those that are unpacked
  private headsToCome: Promise<Heads>[] = [];
  private found: ArrayLike<number> = [];
  private orders = new Map<string, Uint32Array>();
  private blocks = new Map<number, Promise<Prompt[]>>();
  private completions = new Map<number, string>(); // what is searched, in lower case, by the place of the prompt
  private searched = 0; // blocks that are in `completions`
  private latest = 0;

  constructor(readonly summary: Summary) {
    this.hasCompletions = this.told.blocks > 0;
    for (const levels of Object.values(summary.levels)) levels.sort((a, b) => a.localeCompare(b, "en"));
  }

  /** The figures of the whole set alone: its table comes when somebody looks at it. */
  static async open(): Promise<FileSource> {
    return new FileSource(await unpack<Summary>("summary"));
  }

  async prepare(): Promise<void> {
    await idle();
    await this.ready();
    for (let number = 0; number * this.told.heads < this.size; number++) {
      await idle();
      await this.readHeads(number);
    }
  }

  private get told(): NonNullable<Summary["sample"]> {
    return this.summary.sample as NonNullable<Summary["sample"]>;
  }

  private ready(): Promise<void> {
    return (this.table ??= this.readTable());
  }

  private async readTable(): Promise<void> {
    [this.columns, this.blockOf] = await Promise.all([unpackTable("prompts"), unpack<number[]>("blocks")]);
    this.ids = values(this.columns.prompt_id) as string[];
    this.size = this.ids.length;
    for (let at = 0; at < this.size; at++) this.places.set(this.ids[at], at);
  }

  private readHeads(number: number): Promise<Heads> {
    return (this.headsToCome[number] ??= unpackTable(`heads-${number}`).then((columns) => {
      const head = values(columns.head) as string[];
      return (this.heads[number] = { head, cut: values(columns.cut) as boolean[], lower: head.map((text) => text.toLowerCase()) });
    }));
  }

  async query(query: Query, onProgress: (share: number) => void): Promise<number> {
    const turn = ++this.latest;
    await this.ready();
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

  async rows(from: number, to: number, onMore: () => void): Promise<Row[]> {
    const places: number[] = Array.prototype.slice.call(this.found, from, to);
    const rows = places.map((at) => this.read(at));
    const begin = (at: number): Promise<void> => this.begin(rows[at], places[at]);
    const missing = rows.flatMap((row, at) => (row.head === null ? [at] : []));
    if (missing.length) void Promise.all(missing.map(begin)).then(onMore); // how prompts begin is told as it is unpacked
    return rows;
  }

  async find(id: string): Promise<number> {
    await this.ready();
    const at = this.places.get(id);
    return at === undefined ? -1 : Array.prototype.indexOf.call(this.found, at);
  }

  async row(id: string): Promise<Row | null> {
    await this.ready();
    const at = this.places.get(id);
    if (at === undefined) return null;
    const row = this.read(at);
    await this.begin(row, at);
    return row;
  }

  async prompt(id: string): Promise<Prompt | null> {
    await this.ready();
    const at = this.places.get(id);
    const block = at === undefined ? -1 : this.blockOf[at];
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

  private value(name: string, at: number): Value {
    const column = this.columns[name];
    if (column === undefined) return null;
    if (Array.isArray(column)) return column[at];
    return column.codes[at] < 0 ? null : column.levels[column.codes[at]];
  }

  private read(at: number): Row {
    const each = this.told.heads, heads = this.heads[Math.floor(at / each)];
    const row: Row = { head: heads?.head[at % each] ?? null, cut: heads?.cut[at % each] ?? false };
    for (const name of Object.keys(this.columns)) row[name] = this.value(name, at);
    return row;
  }

  private async begin(row: Row, at: number): Promise<void> {
    const each = this.told.heads, { head, cut } = await this.readHeads(Math.floor(at / each));
    row.head = head[at % each];
    row.cut = cut[at % each];
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
      for (let from = 0, number = 0; from < this.size; from += this.told.heads, number++) {
        const { lower } = this.heads[number] ?? (await this.readHeads(number));
        if (turn !== this.latest) return hits;
        for (let at = 0; at < lower.length; at++) if (lower[at].includes(needle) || this.ids[from + at].startsWith(needle)) hits[from + at] = 1;
      }
    }
    if (scope === "prompts") return hits;
    while (this.searched < this.told.blocks) {
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
      onProgress(this.searched / this.told.blocks);
      await pause();
    }
    for (const [at, text] of this.completions) if (!hits[at] && text.includes(needle)) hits[at] = 1;
    return hits;
  }
}
