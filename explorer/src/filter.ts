import { NO_BIN, type Points } from "./points";
import type { ReportData } from "./types";

/** The chosen bins of a column, ascending. */
export type Brush = readonly number[];

/** Chosen bins by position of the column. */
export type Brushes = ReadonlyMap<number, Brush>;

/** What the counts by cluster rest on: all documents, counted; or the sample, extrapolated. */
export type Basis = "all" | "sample";

/** What is left by the filters. */
export interface Filtered {
  isActive: boolean;
  basis: Basis;
  /** Documents by cluster. */
  byCluster: Float64Array;
  /** Documents with a cluster. */
  total: number;
  /** By column, where known: documents by bin that the filters of the other columns leave. */
  byColumn: Map<number, Float64Array>;
  /** For each point whether it is left; null if all are, or if there are no points. */
  passes: Uint8Array | null;
}

/** Applies filters: to all points, if there are any, and to the counts by cluster. */
export function filter(data: ReportData, points: Points | null, brushes: Brushes): Filtered {
  const byCluster = Float64Array.from(data.clusters, (cluster) => cluster.size);
  const left: Filtered = { isActive: brushes.size > 0, basis: "all", byCluster, total: sum(byCluster), byColumn: new Map(), passes: null };
  if (!left.isActive) return left;
  if (points) filterPoints(data, points, brushes, left);
  // One column: its counts by cluster are of all documents.
  const only = brushes.size === 1 || !points ? [...brushes][0] : undefined;
  const bins = only && data.columns[only[0]]?.bins;
  if (only && bins) {
    const chosen = new Set(only[1]);
    bins.clusters.forEach((pairs, id) => (left.byCluster[id] = pairs.reduce((total, [bin, n]) => total + (chosen.has(bin) ? n : 0), 0)));
    left.basis = "all";
  }
  left.total = sum(left.byCluster);
  return left;
}

function filterPoints(data: ReportData, points: Points, brushes: Brushes, left: Filtered): void {
  const { n, cluster } = points;
  // How many filters a point fails, and the last of these.
  const fails = new Uint8Array(n);
  const culprit = new Uint8Array(n);
  for (const [column, chosen] of brushes) {
    const bins = points.bins.get(column);
    if (!bins) continue;
    const isOut = new Uint8Array(256).fill(1);
    for (const bin of chosen) if (bin !== NO_BIN) isOut[bin] = 0;
    for (let point = 0; point < n; point++) {
      if (isOut[bins[point]!]!) {
        fails[point]! += 1;
        culprit[point] = column;
      }
    }
  }
  // In a sample a point stands for several documents.
  const weights = Float64Array.from(data.clusters, (entry, id) => (points.isAll ? 1 : entry.size / Math.max(1, points.count(id))));
  left.byCluster.fill(0);
  left.passes = new Uint8Array(n);
  for (let point = 0; point < n; point++) {
    if (fails[point]! > 0) continue;
    left.passes[point] = 1;
    const id = cluster[point]!;
    if (id >= 0) left.byCluster[id]! += weights[id]!;
  }
  left.basis = points.isAll ? "all" : "sample";
  for (const [column, bins] of points.bins) {
    const counts = new Float64Array(256);
    for (let point = 0; point < n; point++) {
      if (fails[point]! === 0 || (fails[point]! === 1 && culprit[point]! === column)) {
        const id = cluster[point]!;
        counts[bins[point]!]! += id >= 0 ? weights[id]! : 1;
      }
    }
    left.byColumn.set(column, counts);
  }
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

/** As in the address and for the server: `3:4,5,6`. */
export function writeBrush(column: number, brush: Brush): string {
  return `${column}:${brush.join(",")}`;
}

/** `null` if there is no such column or bin. */
export function readBrush(text: string, data: ReportData): [number, Brush] | null {
  const found = /^(\d{1,3}):(\d{1,3}(?:,\d{1,3})*)$/.exec(text);
  const nBins = found && data.columns[Number(found[1])]?.bins?.counts.length;
  if (!nBins) return null;
  const bins = [...new Set(found[2]!.split(",").map(Number))].sort((a, b) => a - b);
  return bins.every((bin) => bin < nBins) ? [Number(found[1]), bins] : null;
}

/** What the chosen bins of a column are, in words. */
export function brushName(data: ReportData, column: number, brush: Brush): string {
  const { name, bins } = data.columns[column]!;
  if (!bins || brush.length === 0) return name;
  const [first, last] = [brush[0]!, brush[brush.length - 1]!];
  if (bins.edges.length > 0) return `${name} ${short(bins.edges[first]!)} to ${short(bins.edges[last + 1]!)}`;
  const isRun = bins.step !== undefined && brush.length === last - first + 1;
  if (isRun) return `${name} ${period(bins.labels[first]!, bins.step)}${last > first ? ` to ${period(bins.labels[last]!, bins.step)}` : ""}`;
  return `${name}: ${brush.length > 3 ? `${brush.length} values` : brush.map((bin) => bins.labels[bin] ?? "").join(", ")}`;
}

/** A bin of dates, no longer than it needs to be: 2024-03 for a month. */
export function period(label: string, step: string | undefined): string {
  if (step === "month") return label.slice(0, 7);
  if (step === "year" || step === "decade" || step === "century") return label.slice(0, label.lastIndexOf("-") > 4 ? label.indexOf("-", 1) : undefined) + (step === "decade" ? "s" : "");
  return label;
}

const compact = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, notation: "compact" });
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, useGrouping: false });

/** A number of an axis. Years have no separators. */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? plain.format(value) : compact.format(value);
}
