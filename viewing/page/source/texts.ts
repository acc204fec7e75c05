/** Completions as what they are: poems with their marks, programs with the case that failed, other text as it stands. */

import { count, expandable, h, share, visible } from "./dom";
import type { Completion, Explanation, Prompt, Styled } from "./types";

const MOST = 6000; // characters that are shown at first

export function isProgram(prompt: Prompt): boolean {
  return ["cases", "stdin", "test_code"].some((key) => key in prompt.spec);
}

export function isPoem(prompt: Prompt, verifier: string): boolean {
  return verifier === "poetry" || prompt.completions.some((one) => one.explanation);
}

/** The numbers of lines that a reason or a hint speaks of, from 1. */
export function namedLines(text: string): Set<number> {
  const lines = new Set<number>();
  for (const found of text.matchAll(/\blines? (\d+)(?:(?:, \d+)* and (\d+))?/g)) {
    for (const number of found.slice(1)) if (number) lines.add(Number(number));
  }
  return lines;
}

export function plainText(text: string, style = "text"): HTMLElement {
  return expandable(text, MOST, (part) => h("pre", { class: style, dir: "auto" }, visible(part) || "(empty)"));
}

export function poem(one: Completion): HTMLElement {
  return one.explanation ? explained(one, one.explanation) : plainPoem(one);
}

function plainPoem(one: Completion): HTMLElement {
  const lines = one.text.split("\n");
  if (one.text.length > MOST) return plainText(one.text, "text verse");
  const named = namedLines(one.reason);
  let number = 0;
  return h("div", { class: "poem", dir: "auto" }, ...lines.map((line) => {
    const counted = line.trim() ? ++number : 0;
    return h("p", { class: named.has(counted) ? "line named" : line.trim() ? "line" : "line gap" },
      h("span", { class: "number" }, counted || ""), h("span", { class: "words" }, visible(line)));
  }));
}

const STYLES: Record<string, string> = { green: "right", yellow: "partly", red: "wrong", dim: "faint" };

function explained(one: Completion, told: Explanation): HTMLElement {
  const named = namedLines([one.reason, ...told.hints].join("; "));
  const rhyme = told.headings.indexOf("rhyme");
  const line = (one: Styled, at: number): HTMLElement =>
    h("tr", { class: [named.has(at + 1) ? "named" : "", one.ends_block ? "ends" : ""].join(" ").trim() || null },
      h("th", { scope: "row", class: "number" }, at + 1),
      h("td", { class: "verse" }, h("span", { class: "marks", "aria-hidden": "true" }, one.marks), lastWord(one.text, rhymeOf(one, rhyme))),
      ...told.headings.map((heading, place) => h("td", { class: "number" }, ...(one.figures[place] ?? []).map(([text, style]) =>
        h("span", { class: heading === "rhyme" && style !== "dim" ? rhymeClass(text) : (STYLES[style] ?? null) }, text)))));
  return h("div", { class: "explained" },
    h("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": `The poem of completion ${one.index}, line by line` },
      h("table", { class: "poem-table" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, "line"), h("th", { scope: "col" }, "stress: / strong, x weak"),
          ...told.headings.map((heading) => h("th", { scope: "col", class: "number" }, heading)))),
        h("tbody", {}, ...told.lines.map(line)))),
    told.hints.length ? h("div", { class: "hints" }, h("p", {}, "What would raise the reward"), h("ul", {}, ...told.hints.map((hint) => h("li", {}, hint)))) : null);
}

function rhymeOf(one: Styled, place: number): string {
  const letter = place < 0 ? "" : (one.figures[place]?.[0]?.[0] ?? "");
  return letter === "x" ? "" : letter;
}

function rhymeClass(letter: string): string {
  return letter === "x" ? "faint" : `rhyme rhyme-${(letter.charCodeAt(0) - 97) % 8}`;
}

function lastWord(text: string, letter: string): HTMLElement {
  const found = letter ? /^(.*?)([\p{L}\p{M}'’-]+)([^\p{L}]*)$/u.exec(text) : null;
  if (!found) return h("span", { class: "words" }, visible(text));
  return h("span", { class: "words" }, visible(found[1]), h("span", { class: rhymeClass(letter) }, visible(found[2])), visible(found[3]));
}

export function program(one: Completion): HTMLElement {
  if (one.text.length > MOST) return plainText(one.text, "text code");
  const lines = one.text.split("\n");
  const fence = lines.findIndex((line) => /^\s*```/.test(line));
  const found = /<candidate>, line (\d+)/.exec(one.reason);
  const wrong = found ? Number(found[1]) + fence : -1; // without a fence, line 1 is the first
  return h("div", { class: "program", tabindex: "0", role: "region", "aria-label": `The program of completion ${one.index}` }, ...lines.map((line, at) =>
    h("div", { class: at === wrong ? "line named" : "line" }, h("span", { class: "number", "aria-hidden": "true" }, at + 1), h("code", {}, visible(line) || " "))));
}

/** The case that a program failed first, as its reason names it: what it was given and what was wanted. */
export function failedCase(one: Completion, prompt: Prompt): HTMLElement | null {
  const found = /case (\d+)(?: raised (.*))?/.exec(one.reason);
  if (!found) return null;
  const at = Number(found[1]);
  const raised = found[2] ? h("p", { class: "wrong" }, `it raised ${visible(found[2])}`) : null;
  const cases = (prompt.spec.cases ?? prompt.spec.stdin) as unknown;
  const chosen = Array.isArray(cases) ? (cases[at] as unknown[]) : null;
  if (!Array.isArray(chosen)) return h("div", { class: "failed" }, h("p", { class: "label" }, `Failed at test ${at}`), raised);
  const [given, wanted] = chosen;
  const asked = "cases" in prompt.spec ? `${String(prompt.spec.entry)}(${(given as unknown[]).map(write).join(", ")})` : String(given);
  return h("div", { class: "failed" }, h("p", { class: "label" }, `Failed first at case ${at}`),
    h("dl", {}, h("dt", {}, "given"), h("dd", {}, plainText(asked, "code")),
      h("dt", {}, "wanted"), h("dd", {}, plainText("cases" in prompt.spec ? write(wanted) : String(wanted), "code"))), raised);
}

/** A JSON value as Python writes it. */
export function write(value: unknown): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value as object).map(([key, inner]) => `${JSON.stringify(key)}: ${write(inner)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** What the right answer is: the answer itself, the cases of a program, or whatever else the verifier needs. */
export function wanted(prompt: Prompt): HTMLElement {
  const { spec } = prompt;
  if ("answer" in spec) {
    const others = Object.entries(spec).filter(([key]) => key !== "answer");
    const answer = typeof spec.answer === "string" ? spec.answer : write(spec.answer);
    return h("div", { class: "wanted" }, h("p", { class: "label" }, "right answer"), plainText(answer, "answer"), rest(others));
  }
  const cases = (spec.cases ?? spec.stdin) as unknown;
  if (Array.isArray(cases)) {
    const shown = cases.map((one: unknown[]) => "cases" in spec
      ? `${String(spec.entry)}(${(one[0] as unknown[]).map(write).join(", ")}) == ${write(one[1])}` : `${JSON.stringify(one[0])} -> ${JSON.stringify(one[1])}`);
    const others = Object.entries(spec).filter(([key]) => key !== "cases" && key !== "stdin");
    return h("div", { class: "wanted" }, h("p", { class: "label" }, `${count(shown.length)} cases, from 0`),
      expandable(shown.map((line, at) => `${at}: ${line}`).join("\n"), 700, (part) => h("pre", { class: "text code" }, visible(part))), rest(others));
  }
  if ("test_code" in spec) {
    const others = Object.entries(spec).filter(([key]) => key !== "test_code");
    return h("div", { class: "wanted" }, h("p", { class: "label" }, "tests"), plainText(String(spec.test_code), "text code"), rest(others));
  }
  return h("div", { class: "wanted" }, h("p", { class: "label" }, "what is judged"), rest(Object.entries(spec)));
}

function rest(entries: [string, unknown][]): HTMLElement | null {
  if (!entries.length) return null;
  return h("dl", { class: "spec" }, ...entries.flatMap(([key, value]) => [h("dt", {}, key.replaceAll("_", " ")),
    h("dd", {}, expandable(typeof value === "string" ? value : write(value), 300, (part) => h("span", { class: "value" }, visible(part))))]));
}

export function parts(one: Completion): HTMLElement | null {
  const entries = Object.entries(one.components);
  if (!entries.length) return null;
  return h("ul", { class: "parts" }, ...entries.map(([name, value]) => {
    const told = one.explanation?.parts.find((part) => part.name === name);
    const needs = told?.needs && told.strict !== null && told.strict < told.needs ? `, needs ${share(told.needs)}` : "";
    return h("li", { class: value >= 1 ? "full" : value > 0 ? "some" : "none" }, `${name} `, h("b", {}, share(value)), needs);
  }));
}
