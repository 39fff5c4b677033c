import { clusterName } from "./groups";
import type { Order } from "./state";
import type { ReportData } from "./types";

/** Finds clusters by the words of their keywords and documents. */
export class Search {
  private readonly texts: string[];

  constructor(private readonly data: ReportData) {
    this.texts = data.clusters.map((cluster) => {
      const docs = [...cluster.typical, ...cluster.least];
      return [cluster.name, ...cluster.keywords.flatMap((k) => [k[0], k[3] ?? ""]), ...docs.flatMap((doc) => [doc.id, doc.text ?? ""])].join("\n").toLowerCase();
    });
  }

  /**
   * The clusters of one group or of all that have all words of the query (or the typed number), in
   * order. Omits empty ones.
   */
  find(query: string, order: Order, isShown: (id: number) => boolean): number[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const { clusters } = this.data;
    const matches = (id: number) => words.every((word) => this.texts[id]!.includes(word) || word === String(id) || word === `#${id}`);
    const found = clusters.flatMap((cluster, id) => (cluster.size > 0 && isShown(id) && matches(id) ? [id] : []));
    const by: Record<Order, (a: number, b: number) => number> = {
      size: (a, b) => clusters[b]!.size - clusters[a]!.size,
      cohesion: (a, b) => clusters[b]!.cohesion - clusters[a]!.cohesion,
      name: (a, b) => clusterName(this.data, a).localeCompare(clusterName(this.data, b)),
    };
    return found.sort((a, b) => by[order](a, b) || a - b);
  }
}
