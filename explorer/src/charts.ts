import { svg } from "./dom";

/** Charts as drawings of a few elements each. Sizes are in pixels; the page's style may stretch. */

export interface Bar {
  count: number;
  title: string;
}

/** Bars of equal width, each with a tooltip, and words below both ends. */
export function bars(label: string, data: Bar[], ends: readonly [string, string]): Element {
  const [width, height] = [320, 90];
  const most = Math.max(...data.map((bar) => bar.count), 1e-9);
  const step = width / data.length;
  return chart(
    label,
    width,
    height + 16,
    ...data.map(({ count, title }, i) => {
      const high = count > 0 ? Math.max(1, (count / most) * (height - 4)) : 0;
      const bar = svg("rect", { x: i * step + 0.5, y: height - high, width: Math.max(0.5, step - 1), height: high, class: "bar" });
      bar.append(svg("title", {}, title));
      return bar;
    }),
    svg("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
    svg("text", { x: 0, y: height + 13 }, ends[0]),
    svg("text", { x: width, y: height + 13, "text-anchor": "end" }, ends[1]),
  );
}

/** A line over the positions of the values. */
export function line(label: string, values: number[], show: (value: number) => string): Element {
  const [width, height] = [320, 80];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (i: number) => (values.length > 1 ? (i / (values.length - 1)) * (width - 8) + 4 : width / 2);
  const y = (value: number) => (high > low ? height - 6 - ((value - low) / (high - low)) * (height - 12) : height / 2);
  return chart(
    label,
    width,
    height + 16,
    svg("polyline", { class: "curve", points: values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }),
    ...values.map((value, i) => {
      const dot = svg("circle", { cx: x(i), cy: y(value), r: 2.5, class: "bar" });
      dot.append(svg("title", {}, `iteration ${i}: ${show(value)}`));
      return dot;
    }),
    svg("text", { x: 0, y: height + 13 }, show(values[0] ?? 0)),
    svg("text", { x: width, y: height + 13, "text-anchor": "end" }, show(values[values.length - 1] ?? 0)),
  );
}

/** A chart that screen readers announce as one image with this name. */
function chart(label: string, width: number, height: number, ...parts: Element[]): Element {
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
}

/** A small course of time without words, for a row of the list. */
export function sparkline(series: ArrayLike<number>): Element {
  const [width, height] = [60, 18];
  const values = Array.from(series);
  const most = Math.max(...values, 1e-9);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${(height - 1 - (value / most) * (height - 3)).toFixed(1)}`);
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("polygon", { points: `0,${height} ${points.join(" ")} ${width},${height}` }),
    svg("polyline", { points: points.join(" ") }),
  );
}

/** The shares of a cluster's bins as bars, and those of all documents as a line over them. */
export function against(label: string, own: number[], all: number[], titles: string[], ends: readonly [string, string]): Element {
  const [width, height] = [320, 60];
  const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0) || 1;
  const [ownTotal, allTotal] = [total(own), total(all)];
  const most = Math.max(...own.map((value) => value / ownTotal), ...all.map((value) => value / allTotal), 1e-9);
  const step = width / own.length;
  const y = (share: number) => height - (share / most) * (height - 4);
  const path = all.flatMap((value, i) => [`${(i * step).toFixed(1)},${y(value / allTotal).toFixed(1)}`, `${((i + 1) * step).toFixed(1)},${y(value / allTotal).toFixed(1)}`]);
  return chart(
    label,
    width,
    height + 16,
    ...own.map((value, i) => {
      const bar = svg("rect", { x: i * step + 0.5, y: y(value / ownTotal), width: Math.max(0.5, step - 1), height: height - y(value / ownTotal), class: "bar" });
      bar.append(svg("title", {}, titles[i] ?? ""));
      return bar;
    }),
    svg("polyline", { points: path.join(" "), class: "other" }),
    svg("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
    svg("text", { x: 0, y: height + 13 }, ends[0]),
    svg("text", { x: width, y: height + 13, "text-anchor": "end" }, ends[1]),
  );
}
