import { against } from "./charts";
import { isOrdered } from "./colouring";
import { counted, el, percent, section, type Child } from "./dom";
import { binName, endsOf } from "./histogram";
import type { Bins, Column, ReportData } from "./types";

/** Values of a category shown. */
const VALUES = 6;

/** The kept columns of some documents against those of all: pairs of bin and number per column. */
export function columnCharts(data: ReportData, pairs: [number, number][][], who: string): Child[] {
  return data.columns.map((column, at) => {
    const { bins } = column;
    const own = pairs[at] ?? [];
    if (!bins || bins.counts.length < 2 || own.length === 0) return null;
    return section(`${column.name}: ${who} against all`, isOrdered(column) ? ordered(column, bins, own) : values(bins, own));
  });
}

function ordered(column: Column, bins: Bins, pairs: [number, number][]): Element {
  const own = new Array<number>(bins.counts.length).fill(0);
  for (const [bin, n] of pairs) own[bin] = n;
  const titles = own.map((n, bin) => `${binName(bins, bin)}: ${counted(n, "document")}`);
  return against(`${column.name}: bars are these documents, the line is all`, own, bins.counts, titles, endsOf(bins));
}

/** The values that these documents have most, with the share that all documents have. */
function values(bins: Bins, pairs: [number, number][]): Element {
  const total = pairs.reduce((sum, [, n]) => sum + n, 0);
  const all = bins.counts.reduce((sum, n) => sum + n, 0) || 1;
  const most = [...pairs].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, VALUES);
  return el(
    "ul",
    { class: "shares" },
    ...most.map(([bin, n]) => {
      const shares = [n / total, bins.counts[bin]! / all] as const;
      const mark = el("span", { class: "mark", style: `left:${(100 * shares[1]).toFixed(2)}%` });
      return el(
        "li",
        { title: `${percent(shares[0])} here, ${percent(shares[1])} of all` },
        el("bdi", { class: "term" }, bins.labels[bin] || "(empty)"),
        el("span", { class: "track" }, el("span", { class: "fill", style: `width:${(100 * shares[0]).toFixed(2)}%` }), mark),
        el("span", { class: "number" }, percent(shares[0])),
        el("span", { class: "number quiet" }, `all ${percent(shares[1])}`),
      );
    }),
  );
}

/** The sum of the pairs of several clusters, by column. */
export function pairsOf(data: ReportData, clusters: number[]): [number, number][][] {
  return data.columns.map(({ bins }) => {
    if (!bins) return [];
    const sums = new Array<number>(bins.counts.length).fill(0);
    for (const id of clusters) for (const [bin, n] of bins.clusters[id] ?? []) sums[bin]! += n;
    return sums.flatMap((n, bin): [number, number][] => (n > 0 ? [[bin, n]] : []));
  });
}
