import { dot, lineY, plot, rectY, ruleY, type PlotOptions } from "@observablehq/plot";

const FRAME = { width: 320, height: 130, marginLeft: 48, marginRight: 12, marginTop: 12, marginBottom: 26, style: { background: "none" } } as const;

export interface Bar {
  from: number;
  to: number;
  count: number;
  title: string;
}

/** Bars, each with a tooltip. */
export function bars(label: string, data: Bar[], scale: "linear" | "log"): Element {
  return named(label, {
    ...FRAME,
    x: scale === "log" ? { type: "log", base: 10, label: null, ticks: 4, tickFormat: "~s" } : { domain: [0, 1], label: null, ticks: 5 },
    y: { label: null, ticks: 3, tickFormat: "~s", grid: true },
    marks: [rectY(data, { x1: "from", x2: "to", y: "count", title: "title", fill: "var(--accent)", inset: 0.5 }), ruleY([0])],
  });
}

/** A line over the positions of the values. */
export function line(label: string, values: number[], title: (position: number) => string): Element {
  const data = values.map((value, position) => ({ position, value, title: title(position) }));
  return named(label, {
    ...FRAME,
    x: { label: null, ticks: Math.min(5, values.length - 1), tickFormat: "d" },
    y: { label: null, ticks: 3, tickFormat: "~s", grid: true, nice: true },
    marks: [
      lineY(data, { x: "position", y: "value", stroke: "var(--accent)" }),
      dot(data, { x: "position", y: "value", title: "title", r: 2, fill: "var(--accent)" }),
    ],
  });
}

/** A chart that screen readers announce as one image with this name. */
function named(label: string, options: PlotOptions): Element {
  const chart = plot(options);
  // The page's policy allows only its own style, which holds these rules (.chart).
  for (const style of chart.querySelectorAll("style")) style.remove();
  chart.classList.add("chart");
  for (const part of chart.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  return chart;
}
