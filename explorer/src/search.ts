import { wordsOf } from "./marks";
import type { Points } from "./points";
import type { ReportData } from "./types";

/** Where a cluster has the words, the best place first. */
export const PLACES = ["number", "name", "keyword", "text", "documents"] as const;

/** Why a cluster was found. */
export interface Match {
  place: (typeof PLACES)[number];
  /** In words, for people. */
  why: string;
  /** Documents found in it, among those that were searched. */
  documents: number;
}

/** What a query found. */
export interface Hits {
  query: string;
  clusters: Map<number, Match>;
  /** Documents found: of all, of the sample, or null if only clusters were searched. */
  documents: { total: number; isMore: boolean; basis: "all" | "sample" } | null;
  /** For each point whether it was found. */
  points: Uint8Array | null;
}

/** The server's answer to a query for hits. */
export interface HitsAnswer {
  total: number;
  isMore: boolean;
  clusters: [cluster: number, n: number][];
  numbers: number[];
}

interface Texts {
  name: string;
  keywords: string[];
  all: string;
}

/** Finds clusters by their names, keywords and the texts that the page holds. */
export class Search {
  private texts: Texts[] | null = null;
  private titles: string[] | null = null;

  constructor(private readonly data: ReportData) {}

  /** What the page itself knows. */
  find(query: string, points: Points | null): Hits | null {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return null;
    this.texts ??= this.data.clusters.map(textsOf);
    const clusters = new Map<number, Match>();
    this.texts.forEach((texts, id) => {
      const match = this.data.clusters[id]!.size > 0 ? matchOf(texts, id, words) : null;
      if (match) clusters.set(id, match);
    });
    const hits: Hits = { query, clusters, documents: null, points: null };
    if (points && points.titles.length > 0) this.searchTitles(points, words, hits);
    return hits;
  }

  /** The titles of a sample: their hits count for the sample only. */
  private searchTitles(points: Points, words: string[], hits: Hits): void {
    this.titles ??= points.titles.map((title) => title.toLowerCase());
    const found = Uint8Array.from(this.titles, (title) => (words.every((word) => title.includes(word)) ? 1 : 0));
    const numbers = new Map<number, number>();
    let total = 0;
    found.forEach((isFound, point) => {
      const id = points.cluster[point]!;
      if (isFound === 0) return;
      total += 1;
      if (id >= 0) numbers.set(id, (numbers.get(id) ?? 0) + 1);
    });
    addDocuments(hits, [...numbers]);
    hits.points = found;
    hits.documents = { total, isMore: false, basis: points.isAll ? "all" : "sample" };
  }
}

/** Adds what the server found in all documents. */
export function withAnswer(hits: Hits, answer: HitsAnswer, points: Points | null): Hits {
  const all: Hits = { ...hits, clusters: new Map(hits.clusters), documents: { total: answer.total, isMore: answer.isMore, basis: "all" } };
  addDocuments(all, answer.clusters);
  if (points) {
    const isFound = new Uint8Array(answer.numbers.reduce((most, number) => Math.max(most, number + 1), 0));
    for (const number of answer.numbers) isFound[number] = 1;
    all.points = Uint8Array.from(points.number, (number) => isFound[number] ?? 0);
  }
  return all;
}

function addDocuments(hits: Hits, numbers: [number, number][]): void {
  for (const [id, documents] of numbers) {
    if (id < 0) continue;
    const match = hits.clusters.get(id);
    hits.clusters.set(id, match ? { ...match, documents } : { place: "documents", why: "", documents });
  }
}

function textsOf(cluster: ReportData["clusters"][number]): Texts {
  const keywords = cluster.keywords.flatMap(([term, , , written]) => (written === null ? [term] : [written, term]));
  const documents = [...cluster.typical, ...cluster.least].flatMap((doc) => [doc.id, doc.text ?? ""]);
  const lower = keywords.map((keyword) => keyword.toLowerCase());
  const name = [cluster.name, cluster.renamed ?? "", cluster.note ?? ""].join("\n").toLowerCase();
  return { name, keywords: lower, all: [name, ...lower, ...documents].join("\n").toLowerCase() };
}

/** All words must occur; the worst place of a word is that of the match. */
function matchOf(texts: Texts, id: number, words: string[]): Match | null {
  const isNumber = (word: string) => word === String(id) || word === `#${id}`;
  if (words.every(isNumber)) return { place: "number", why: `cluster ${id}`, documents: 0 };
  if (!words.every((word) => texts.all.includes(word) || isNumber(word))) return null;
  if (words.every((word) => texts.name.includes(word))) return { place: "name", why: "in the name", documents: 0 };
  const keyword = texts.keywords.find((term) => words.some((word) => term.includes(word)));
  const isKeyword = words.every((word) => texts.name.includes(word) || texts.keywords.some((term) => term.includes(word)));
  if (isKeyword && keyword !== undefined) return { place: "keyword", why: `keyword “${keyword}”`, documents: 0 };
  return { place: "text", why: "in a text", documents: 0 };
}

/** The words of a query that are marked in texts. */
export function marksOf(query: string): string[] {
  return wordsOf(query);
}
