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
  /** Whether the server takes edits from the page. */
  editable: boolean;
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
  /** The kept columns. */
  columns: Column[];
  /** A sample of the documents as points. Null for a served page, whose server has all of them, and
   * for results without points. */
  points: PointsData | null;
}

/**
 * A sample of the documents that have a cluster. Its beginning is a smaller sample. Arrays are
 * little endian, in base64.
 */
export interface PointsData {
  /** The number of documents that have a cluster. */
  total: number;
  /** The number of documents in the sample. */
  n: number;
  /** Their numbers: u32. */
  number: string;
  /** Their places in the discs of their clusters: two i16 each, -32767 to 32767 for -1 to 1. */
  offset: string;
  /** Their clusters: i32. */
  cluster: string;
  /** Their similarities: u8, 0 to 255 for 0 to 1. */
  similarity: string;
  /** Their bins in the kept columns, by the positions of these: u8, 255 for none. */
  bins: Record<string, string>;
  /** The beginnings of their texts, or their ids. Empty if they are not shown. */
  titles: string[];
}

/** A kept column of the records. */
export interface Column {
  name: string;
  /** date, number, category, address or text. */
  kind: string;
  /** Documents that have a value. */
  values: number;
  /** Those of them whose value is not what the column is. */
  bad: number;
  /** Absent for texts, and if there are too many counts. */
  bins?: Bins;
}

/** The values of a column by cluster. */
export interface Bins {
  /** The length of a bin of dates: day, week, month, year, decade or century. */
  step?: string;
  /** The first day of each bin, its category or its host; empty for numbers. */
  labels: string[];
  /** The ends of the bins of numbers, one more than there are bins; empty for others. */
  edges: number[];
  /** All documents by bin. */
  counts: number[];
  /** For each cluster its bins that have documents, and their numbers. */
  clusters: [bin: number, n: number][][];
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
  /** Its name by the run, if it was renamed. */
  renamed?: string;
  /** Present if it is to be left out of lists and the map. */
  hidden?: boolean;
  /** A note about it. */
  note?: string;
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
