/** Elements and figures. Text goes into the page by `textContent` alone: what others wrote stays text. */

type Attributes = Record<string, string | number | boolean | ((event: any) => void) | null | undefined>;
type Child = Node | string | number | null | undefined | false;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

export function svg(name: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(element, attributes, children);
  return element;
}

export function replace(host: Element, ...children: Child[]): void {
  host.replaceChildren();
  fill(host, {}, children);
}

const whole = new Intl.NumberFormat("en");

/** A count with thousands apart; a dash where there is none. */
export function count(value: unknown): string {
  return typeof value === "number" ? whole.format(Math.round(value)) : "–";
}

/** A figure between 0 and 1 as the terminal has it: `.48`, `1.00`. */
export function share(value: unknown, digits = 2): string {
  if (typeof value !== "number") return "–";
  return value.toFixed(digits).replace(/^(-?)0\./, "$1.");
}

export function percent(value: unknown): string {
  return typeof value === "number" ? `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %` : "–";
}

/** A large count in three digits: `1.08 M`. */
export function short(value: number): string {
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]] as [number, string][]) {
    if (value >= size) return (value / (size === 1e4 ? 1e3 : size)).toPrecision(3) + unit;
  }
  return count(value);
}

/** Words of a name that code uses: `too_hard` as `too hard`. */
export function words(name: unknown): string {
  return typeof name === "string" ? name.replaceAll("_", " ") : "–";
}

// Controls, marks of direction and separators would move, hide or turn text: they are shown as escapes.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function visible(text: string): string {
  return text.replace(CONTROLS, (found) => {
    const code = found.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export async function copy(text: string, button: HTMLElement): Promise<void> {
  const label = button.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" }); // where a page may not ask for the clipboard
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "copied";
  announce("Copied");
  setTimeout(() => (button.textContent = label), 1200);
}

export function copyButton(text: string, label = "copy", name = label): HTMLButtonElement {
  const button: HTMLButtonElement = h("button", { class: "quiet", type: "button", "aria-label": name }, label);
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    void copy(text, button);
  });
  return button;
}

/** Tell those who hear the page. */
export function announce(text: string): void {
  const place = document.getElementById("announcements");
  if (place) place.textContent = text;
}

/** Text that is long at first in part, and whole on demand: nothing is lost. */
export function expandable(text: string, most: number, render: (text: string) => Node): HTMLElement {
  const host = h("div", { class: "expandable" });
  const show = (all: boolean): void => {
    const cut = !all && text.length > most * 1.25;
    replace(host, render(cut ? text.slice(0, most) : text));
    if (text.length <= most * 1.25) return;
    const label = cut ? `show all ${count(text.length)} characters` : "show less";
    host.append(h("button", { class: "quiet more", type: "button", click: () => show(cut) }, label));
  };
  show(false);
  return host;
}

export function plainError(found: unknown): string {
  return typeof found === "object" && found !== null && "error" in found ? String((found as { error: unknown }).error) : "no answer";
}
