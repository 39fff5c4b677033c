/**
 * The data of the page. Names are short because there may be thousands of clusters. The schema is
 * that of `report_data.rs` in docsphere-result; `tests/report-data.ts` keeps the two in step.
 */
export interface ReportData {
  /** The name of the input. */
  title: string;
  version: string;
  /** Whether a server behind the page answers queries for documents. */
  served: boolean;
  totals: Totals;
  /** Settings by name, as typed on the command line. */
  settings: [name: string, value: string][];
  /** One value per iteration, starting with the first assignment. */
  trace: { objective: number[]; moved: number[] };
  /** Whether terms are stems, so that words may continue after them. */
  stemmed: boolean;
  /** In order of their numbers; empty ones have size 0. */
  clusters: Cluster[];
  /**
   * From the nearest to the farthest. Nodes are numbered: first the clusters, then the merges.
   * Empty if there are too many clusters.
   */
  merges: Merge[];
  /** The initial number of groups. */
  nGroups: number;
}

export interface Totals {
  documents: number;
  terms: number;
  withoutTerms: number;
  outliers: number;
  /** The similarity below which documents are outliers, if it was given. */
  minSimilarity: number | null;
  /** The mean silhouette, if it was asked for. */
  silhouette: number | null;
  emptyClusters: number;
  objective: number;
  iterations: number;
  converged: boolean;
  seed: string;
}

export interface Cluster {
  /** Its name, or its first keywords in older results. */
  name: string;
  size: number;
  cohesion: number;
  /** Whether its documents have little in common. */
  heap: boolean;
  /** The mean silhouette of its documents, if it was asked for. */
  silhouette?: number;
  x: number;
  y: number;
  keywords: Keyword[];
  typical: Doc[];
  least: Doc[];
  near: [cluster: number, similarity: number][];
  /** The number of documents per similarity range, in equal steps from 0 to 1. */
  histogram: number[];
}

/**
 * A term, its weight in the centroid (absent from older results), how well it distinguishes this
 * cluster, its full form if the term is a stem, and the share of the documents that have it (absent
 * from older results).
 */
export type Keyword = [term: string, weight: number | null, score: number, written: string | null, share: number | null];

export interface Doc {
  id: string;
  similarity: number;
  /** The number of near-duplicates that are not shown. */
  duplicates?: number;
  text?: string;
}

export type Merge = [left: number, right: number, name: string];
