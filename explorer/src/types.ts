/**
 * The data of the page. Short names: there may be thousands of clusters. The schema is that of
 * `report_data.rs` in docsphere-result; `tests/report-data.ts` ties the two.
 */
export interface ReportData {
  /** The name of the input. */
  title: string;
  version: string;
  /** Whether a server stands behind the page, which can be asked for documents. */
  served: boolean;
  totals: Totals;
  /** Settings by name, as they would be typed. */
  settings: [name: string, value: string][];
  /** By iteration, the first assignment first. */
  trace: { objective: number[]; moved: number[] };
  /** Whether terms are stems, so that a word may go on behind them. */
  stemmed: boolean;
  /** In the order of their numbers; empty ones have size 0. */
  clusters: Cluster[];
  /** From the nearest to the farthest. Nodes are clusters, then merges, numbered on. None if there are too many clusters. */
  merges: Merge[];
  /** Groups shown at first. */
  nGroups: number;
}

export interface Totals {
  documents: number;
  terms: number;
  withoutTerms: number;
  outliers: number;
  emptyClusters: number;
  objective: number;
  iterations: number;
  converged: boolean;
  seed: string;
}

export interface Cluster {
  size: number;
  cohesion: number;
  x: number;
  y: number;
  keywords: Keyword[];
  typical: Doc[];
  least: Doc[];
  near: [cluster: number, similarity: number][];
  /** Documents by similarity, in equal steps from 0 to 1. */
  histogram: number[];
}

/** A term, its weight in the centroid (older results do not tell), and how much it tells this cluster from the others. */
export type Keyword = [term: string, weight: number | null, score: number];

export interface Doc {
  id: string;
  similarity: number;
  text?: string;
}

export type Merge = [left: number, right: number, name: string];
