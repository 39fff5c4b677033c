import type { PointsData } from "./types";

/** The first bytes of the server's points. */
const MAGIC = "DsPt";
const VERSION = 1;

/** The bin of a document without a value. */
export const NO_BIN = 255;

/** Documents as points: one typed array per fact, in corpus order. */
export class Points {
  readonly n: number;
  /** Positions of the points in `number` and so on, by cluster. */
  readonly byCluster: Uint32Array;
  /** For each cluster where it begins in `byCluster`; one more than there are clusters. */
  readonly starts: Uint32Array;

  constructor(
    /** Documents with a cluster, in the whole corpus. */
    readonly total: number,
    readonly number: Uint32Array,
    readonly offset: Int16Array,
    readonly cluster: Int32Array,
    readonly similarity: Uint8Array,
    /** By position of the column. */
    readonly bins: Map<number, Uint8Array>,
    readonly titles: string[],
    nClusters: number,
  ) {
    this.n = number.length;
    this.starts = new Uint32Array(nClusters + 1);
    for (const id of cluster) {
      if (id >= nClusters) throw new Error(`there is no cluster ${id}`);
      if (id >= 0) this.starts[id + 1]! += 1;
    }
    for (let id = 0; id < nClusters; id++) this.starts[id + 1]! += this.starts[id]!;
    const next = this.starts.slice();
    this.byCluster = new Uint32Array(this.starts[nClusters]!);
    cluster.forEach((id, point) => {
      if (id >= 0) this.byCluster[next[id]!++] = point;
    });
  }

  /** Whether these are all documents. */
  get isAll(): boolean {
    return this.byCluster.length >= this.total;
  }

  /** Points of a cluster. */
  count(cluster: number): number {
    return this.starts[cluster + 1]! - this.starts[cluster]!;
  }

  /** Those of the page itself. */
  static ofPage(data: PointsData, nClusters: number): Points {
    const { n } = data;
    const bins = Object.entries(data.bins).map(([column, text]) => [Number(column), new Uint8Array(bytes(text, n))] as const);
    return new Points(
      data.total,
      new Uint32Array(bytes(data.number, 4 * n)),
      new Int16Array(bytes(data.offset, 4 * n)),
      new Int32Array(bytes(data.cluster, 4 * n)),
      new Uint8Array(bytes(data.similarity, n)),
      new Map(bins),
      data.titles,
      nClusters,
    );
  }

  /** Those of the server. `total` is the number of documents with a cluster. */
  static ofBytes(buffer: ArrayBuffer, total: number, nClusters: number): Points {
    const view = new DataView(buffer);
    const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 4));
    if (magic !== MAGIC || view.getUint32(4, true) !== VERSION) throw new Error("the server's points are of another version");
    const [n, nColumns] = [view.getUint32(8, true), view.getUint32(12, true)];
    const columns = Array.from({ length: nColumns }, (_, i) => view.getUint32(16 + 4 * i, true));
    let at = 16 + 4 * nColumns;
    const next = (length: number) => (at += length) - length;
    if (buffer.byteLength !== at + n * (13 + nColumns)) throw new Error("the server's points are incomplete");
    const number = new Uint32Array(buffer, next(4 * n), n);
    const offset = new Int16Array(buffer, next(4 * n), 2 * n);
    const cluster = new Int32Array(buffer, next(4 * n), n);
    const similarity = new Uint8Array(buffer, next(n), n);
    const bins = new Map(columns.map((column) => [column, new Uint8Array(buffer, next(n), n)]));
    return new Points(total, number, offset, cluster, similarity, bins, [], nClusters);
  }
}

/** The bytes of a text in base64, which must be so many. */
function bytes(text: string, length: number): ArrayBuffer {
  const decoded = atob(text);
  if (decoded.length !== length) throw new Error("the points of the page are damaged");
  const array = new Uint8Array(length);
  for (let i = 0; i < length; i++) array[i] = decoded.charCodeAt(i);
  return array.buffer;
}

/** Numbers from 0 to n - 1 in an order that is the same every time, but looks random. */
export function shuffled(n: number): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 0x9e3779b9;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 2 ** 32) * (i + 1));
    const kept = order[i]!;
    order[i] = order[j]!;
    order[j] = kept;
  }
  return order;
}
