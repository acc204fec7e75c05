/** Charts as SVG, drawn anew at each width, so that their words keep the size of the page's. */

import { count, h, percent, replace, share, svg, words } from "./dom";
import type { Bins, Curve, ForecastRow, Run, Summary } from "./types";

const HEIGHT = 210;
const LEFT = 44, RIGHT = 12, TOP = 14, BOTTOM = 34;

/** A figure with its caption; `draw` gets the width in pixels. */
export function chart(caption: string, label: string, draw: (width: number) => SVGElement[], height = HEIGHT): HTMLElement {
  const host = h("div", { class: "canvas" });
  const figure = h("figure", { class: "chart" }, host, h("figcaption", {}, caption));
  let last = 0;
  const render = (): void => {
    const width = Math.round(host.clientWidth);
    if (width < 40 || width === last) return;
    last = width;
    replace(host, svg("svg", { width, height, role: "img", "aria-label": label }, ...draw(width)));
  };
  new ResizeObserver(render).observe(host);
  return figure;
}

/** Round steps that divide 0 to `top` in about four. */
export function ticks(top: number): number[] {
  if (!(top > 0)) return [0];
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) as number;
  const found: number[] = [];
  for (let at = 0; at <= top * 1.0001; at += step) found.push(Number(at.toPrecision(6)));
  return found;
}

function yAxis(width: number, top: number, y: (value: number) => number, show: (value: number) => string): SVGElement[] {
  return ticks(top).flatMap((value) => [
    svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, show(value)),
  ]);
}

function xLabel(width: number, height: number, text: string): SVGElement {
  return svg("text", { class: "tick", x: (LEFT + width - RIGHT) / 2, y: height - 2, "text-anchor": "middle" }, text);
}

const HATCH = (): SVGElement =>
  svg("defs", {}, svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { class: "hatch-ground", width: 5, height: 5 }),
    svg("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 5 })));

/** What was kept stands on what was not; the band is shaded behind. */
export function histogram(bins: Bins, band: Summary["band"] | null, caption: string, unit: string): HTMLElement {
  const BOTTOM = 22;
  const totals = bins.kept.map((kept, at) => kept + bins.others[at]);
  const top = Math.max(1, ...totals);
  const all = totals.reduce((sum, one) => sum + one, 0);
  const kept = bins.kept.reduce((sum, one) => sum + one, 0);
  const label = `Histogram of ${count(all)} ${unit} by reward, ${count(kept)} of them of kept prompts`;
  return chart(caption, label, (width) => {
    const x = (value: number): number => LEFT + value * (width - LEFT - RIGHT);
    const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
    const parts: SVGElement[] = [HATCH()];
    if (band) {
      parts.push(svg("rect", { class: "band", x: x(band.low), y: TOP - 8, width: x(band.high) - x(band.low), height: HEIGHT - BOTTOM - TOP + 8 }));
      parts.push(svg("text", { class: "tick", x: x((band.low + band.high) / 2), y: TOP + 14, "text-anchor": "middle" }, "band"));
    }
    parts.push(...yAxis(width, top, y, count));
    const step = 1 / totals.length;
    totals.forEach((total, at) => {
      const left = x(at * step) + 1, wide = x(step) - x(0) - 2;
      const title = `${share(at * step)} to ${share((at + 1) * step)}: ${count(total)} ${unit}, ${count(bins.kept[at])} kept`;
      parts.push(svg("g", {},
        svg("title", {}, title),
        svg("rect", { class: "other", x: left, width: wide, y: y(total), height: y(bins.kept[at]) - y(total), fill: "url(#hatch)" }),
        svg("rect", { class: "kept", x: left, width: wide, y: y(bins.kept[at]), height: y(0) - y(bins.kept[at]) })));
    });
    for (const at of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      parts.push(svg("text", { class: "tick", x: x(at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, at.toFixed(1)));
    }
    return parts;
  });
}

/** Intervals of true means, sorted: a column a prompt. */
export function intervals(rows: Summary["certificates"], band: Summary["band"], prompts: number): HTMLElement {
  const height = 240;
  const shown = rows.length < prompts ? `${count(rows.length)} of ${count(prompts)} prompts, evenly picked` : `${count(prompts)} prompts`;
  const label = `Mean rewards of ${shown}, sorted, each with its 90 % interval; the band is ${share(band.low)} to ${share(band.high)}`;
  return chart(`${shown}, sorted by mean reward; bars are 90 % intervals of the true mean. Dots are kept, rings are not.`, label, (width) => {
    const x = (at: number): number => LEFT + 6 + (at / Math.max(1, rows.length - 1)) * (width - LEFT - RIGHT - 12);
    const y = (value: number): number => height - 14 - value * (height - TOP - 14);
    const parts: SVGElement[] = [
      svg("rect", { class: "band", x: LEFT, width: width - LEFT - RIGHT, y: y(band.high), height: y(band.low) - y(band.high) }),
      ...[0, band.low, 0.5, band.high, 1].flatMap((value) => [
        svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, share(value)),
      ]),
    ];
    const radius = rows.length > 120 ? 1.8 : 2.6;
    rows.forEach(([mean, low, high, kept], at) => {
      parts.push(svg("line", { class: kept ? "whisker" : "whisker out", x1: x(at), x2: x(at), y1: y(low), y2: y(high) }));
      parts.push(svg("circle", { class: kept ? "dot" : "dot out", cx: x(at), cy: y(mean), r: radius }));
    });
    return parts;
  }, height);
}

/** The share of groups that teach nothing, by group size. */
export function forecast(curated: ForecastRow[], pool: ForecastRow[], size: number): HTMLElement {
  const sizes = curated.length ? curated.map((row) => row.group_size) : pool.map((row) => row.group_size);
  const label = `Share of groups that teach nothing by group size: ${curated.map((row) => `${row.group_size}: ${percent(row.zero_std_share)}`).join(", ")}`;
  const caption = "Groups with no advantage, by group size: of the curated prompts, and of the whole pool.";
  return chart(caption, label, (width) => {
    const x = (at: number): number => LEFT + 16 + (at / Math.max(1, sizes.length - 1)) * (width - LEFT - RIGHT - 76);
    const y = (value: number): number => HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM);
    const parts = yAxis(width, 1, y, percent);
    sizes.forEach((one, at) => {
      parts.push(svg("text", { class: one === size ? "tick strong" : "tick", x: x(at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, one));
      if (one === size) parts.push(svg("line", { class: "mark", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM }));
    });
    const ends: number[] = [];
    for (const [rows, name, style] of [[pool, "pool", "line out"], [curated, "curated", "line"]] as [ForecastRow[], string, string][]) {
      if (!rows.length) continue;
      parts.push(svg("polyline", { class: style, points: rows.map((row, at) => `${x(at)},${y(row.zero_std_share)}`).join(" ") }));
      rows.forEach((row, at) => parts.push(svg("circle", { class: style.replace("line", "dot"), cx: x(at), cy: y(row.zero_std_share), r: 3 },
        svg("title", {}, `${name}, groups of ${row.group_size}: ${percent(row.zero_std_share)}`))));
      let at = y(rows[rows.length - 1].zero_std_share) + 4;
      if (ends.some((end) => Math.abs(end - at) < 13)) at += at > ends[0] ? 13 : -13;
      ends.push(at);
      parts.push(svg("text", { class: "tick strong", x: x(rows.length - 1) + 9, y: at }, name));
    }
    parts.push(xLabel(width, HEIGHT, "group size"));
    return parts;
  });
}

/** A curve of a run with its alarms: a line where the condition began, a triangle where it was raised. */
export function curve(one: Curve, run: Run): HTMLElement {
  const alarms = run.alarms.filter((alarm) => alarm.metric === one.name);
  const low = Math.min(0, ...one.values), most = Math.max(...one.values), high = most > low ? most : low + 1;
  const last = one.values[one.values.length - 1];
  const height = 120;
  const caption = `${words(one.name)}: ${Number(last.toPrecision(3))} at step ${one.steps[one.steps.length - 1]}`;
  const label = `${words(one.name)} over ${run.steps} steps, from ${one.values[0]} to ${last}${alarms.map((alarm) => `; alarm ${alarm.rule} at step ${alarm.step}`).join("")}`;
  return chart(caption, label, (width) => {
    const end = Math.max(run.steps, 1);
    const x = (step: number): number => LEFT + (step / end) * (width - LEFT - RIGHT);
    const y = (value: number): number => height - 22 - ((value - low) / (high - low)) * (height - 34);
    const show = (value: number): string => (value && Math.abs(value) < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(2))));
    const parts: SVGElement[] = [low, (low + high) / 2, high].flatMap((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, show(value)),
    ]);
    if (one.values.length > 1) parts.push(svg("polyline", { class: "line", points: one.steps.map((step, at) => `${x(step)},${y(one.values[at])}`).join(" ") }));
    if (one.values.length < 30) one.steps.forEach((step, at) => parts.push(svg("circle", { class: "dot", cx: x(step), cy: y(one.values[at]), r: 2.4 })));
    for (const alarm of alarms) {
      parts.push(svg("line", { class: "alarm", x1: x(alarm.since), x2: x(alarm.since), y1: 6, y2: height - 22 }));
      parts.push(svg("path", { class: "alarm-mark", d: `M${x(alarm.step)} 2 l5 9 h-10 z` }, svg("title", {}, alarm.says)));
    }
    for (const step of [0, end]) {
      parts.push(svg("text", { class: "tick", x: x(step), y: height - 6, "text-anchor": step ? "end" : "start" }, step));
    }
    return parts;
  }, height);
}

/** A bar in a cell, with its figure beside it: `parts` are shares of the width with a class each. */
export function bar(parts: [number, string][], text: string): HTMLElement {
  const line = h("span", { class: "bar", "aria-hidden": "true" });
  for (const [value, style] of parts) {
    const piece = h("span", { class: style });
    piece.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
    line.append(piece);
  }
  return h("span", { class: "with-bar" }, line, h("span", { class: "figure" }, text));
}

/** An interval over the band, as small as a line of a list. */
export function interval(mean: number | null, low: number | null, high: number | null, band: Summary["band"]): HTMLElement {
  const line = h("span", { class: "interval", "aria-hidden": "true" });
  const put = (style: string, from: number, to: number | null): void => {
    const piece = h("span", { class: style });
    piece.style.left = `${100 * from}%`;
    if (to !== null) piece.style.width = `${100 * Math.max(0, to - from)}%`;
    line.append(piece);
  };
  put("in-band", band.low, band.high);
  if (low !== null && high !== null) put("range", low, high);
  if (mean !== null) put("at", mean, null);
  const range = low === null || high === null ? "" : `90 % interval ${share(low)} to ${share(high)}`;
  return h("span", { class: "with-bar", title: range }, line, h("span", { class: "figure" }, share(mean)));
}
