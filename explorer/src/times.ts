import { period } from "./filter";
import type { Bins, ReportData } from "./types";

/** The share of the documents that counts as recent, at least. */
const RECENT = 0.25;

/** Standard errors beyond which a change is no accident. */
const CERTAIN = 4;

/** A cluster must change by this factor to be listed. */
const NOTABLE = 1.25;

/** How a cluster's share of all documents has changed. */
export interface Trend {
  id: number;
  /** Its share of the recent documents, divided by its share of those before. */
  ratio: number;
  /** The logarithm of the ratio in standard errors. */
  certainty: number;
}

/** When documents were written: the first column of dates. */
export class Times {
  /** The first bin that counts as recent. */
  readonly recentFrom: number;
  readonly trends: Trend[];

  private constructor(
    readonly column: number,
    readonly name: string,
    readonly bins: Bins,
  ) {
    const total = bins.counts.reduce((sum, n) => sum + n, 0);
    let recent = 0;
    let from = bins.counts.length;
    while (from > 1 && recent < RECENT * total) recent += bins.counts[--from]!;
    this.recentFrom = from;
    this.trends = bins.clusters.map((pairs, id) => this.trend(pairs, id, recent, total - recent));
  }

  /** `null` if there are no dates, or only one bin of them. */
  static of(data: ReportData): Times | null {
    const column = data.columns.findIndex(({ kind, bins }) => kind === "date" && bins && bins.counts.length > 1);
    const found = data.columns[column];
    return found?.bins ? new Times(column, found.name, found.bins) : null;
  }

  private trend(pairs: [number, number][], id: number, recent: number, before: number): Trend {
    let [late, early] = [0.5, 0.5];
    for (const [bin, n] of pairs) {
      if (bin >= this.recentFrom) late += n;
      else early += n;
    }
    const ratio = late / (recent + 0.5) / (early / (before + 0.5));
    return { id, ratio, certainty: Math.log(ratio) / Math.sqrt(1 / late + 1 / early) };
  }

  /** When the recent documents begin. */
  get since(): string {
    return period(this.bins.labels[this.recentFrom] ?? "", this.bins.step);
  }

  /** Clusters whose share has grown most, or shrunk most, without those where it may be chance. */
  changed(way: "rising" | "falling", n: number): Trend[] {
    const sign = way === "rising" ? 1 : -1;
    const isListed = ({ ratio, certainty }: Trend) => sign * certainty > CERTAIN && sign * Math.log(ratio) > Math.log(NOTABLE);
    return this.trends
      .filter(isListed)
      .sort((a, b) => sign * (b.certainty - a.certainty) || a.id - b.id)
      .slice(0, n);
  }

  /** Documents of a cluster by bin. */
  series(id: number): number[] {
    const series = new Array<number>(this.bins.counts.length).fill(0);
    for (const [bin, n] of this.bins.clusters[id] ?? []) series[bin] = n;
    return series;
  }
}

/** "2.4 times as frequent", "a third as frequent". */
export function ratioName(ratio: number): string {
  return ratio >= 1 ? `× ${ratio.toFixed(1)}` : `÷ ${(1 / ratio).toFixed(1)}`;
}
