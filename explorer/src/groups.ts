import type { ReportData } from "./types";

/**
 * A level of the merge tree: the requested number of groups, in the order of their first clusters.
 */
export interface Level {
  /** The group of each cluster, -1 for empty ones. */
  ofCluster: Int32Array;
  groups: Group[];
}

export interface Group {
  id: number;
  /** Its node in the tree. */
  node: number;
  name: string;
  /** Number of documents. */
  size: number;
  nClusters: number;
}

/** A group of several clusters with a greater share of the documents is split before others. */
const LARGE_GROUP = 1 / 3;

/** The merge tree. Nodes are numbered: first the clusters, then the merges. */
export class Tree {
  private readonly k: number;
  private readonly leaves: number[];
  private readonly sizes: Float64Array;
  private readonly counts: Int32Array;
  private cached: Level | undefined;

  constructor(private readonly data: ReportData) {
    const { clusters, merges } = data;
    this.k = clusters.length;
    // A cluster that lost its last document may still have a centroid; then it is in the tree.
    const inTree = new Set(merges.flatMap(([left, right]) => [left, right]));
    const isLeaf = (id: number) => (merges.length > 0 ? inTree.has(id) : clusters[id]!.size > 0);
    this.leaves = clusters.flatMap((_, id) => (isLeaf(id) ? [id] : []));
    this.sizes = new Float64Array(this.k + merges.length);
    this.counts = new Int32Array(this.k + merges.length);
    clusters.forEach((cluster, id) => {
      this.sizes[id] = cluster.size;
      this.counts[id] = isLeaf(id) ? 1 : 0;
    });
    merges.forEach(([left, right], i) => {
      this.sizes[this.k + i] = this.sizes[left]! + this.sizes[right]!;
      this.counts[this.k + i] = this.counts[left]! + this.counts[right]!;
    });
  }

  get nLeaves(): number {
    return this.leaves.length;
  }

  /** The number of groups at first. */
  get nDefault(): number {
    return (this.cached ??= this.cut(this.data.nGroups)).groups.length;
  }

  get hasMerges(): boolean {
    return this.data.merges.length > 0;
  }

  isCluster(node: number): boolean {
    return node < this.k;
  }

  size(node: number): number {
    return this.sizes[node]!;
  }

  nClusters(node: number): number {
    return this.counts[node]!;
  }

  /** The clusters of a node, largest first. */
  clusters(node: number): number[] {
    const found: number[] = [];
    const open = [node];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const merge = this.data.merges[next - this.k];
      if (merge) open.push(merge[0], merge[1]);
      else if (next < this.k) found.push(next);
    }
    return found.sort((a, b) => this.size(b) - this.size(a) || a - b);
  }

  name(node: number): string {
    return this.isCluster(node) ? clusterName(this.data, node) : this.data.merges[node - this.k]![2] || `group ${node}`;
  }

  /**
   * Divides a node into at most the requested number of parts, largest first: at its highest merges,
   * but parts of several clusters with more than a third of its documents first.
   */
  parts(node: number, wanted: number): number[] {
    const parts = [node];
    const isLarge = (part: number) => !this.isCluster(part) && this.size(part) > LARGE_GROUP * this.size(node);
    // Merges are numbered by height.
    const isBefore = (a: number, b: number) =>
      isLarge(a) !== isLarge(b) ? isLarge(a) : isLarge(a) && this.size(a) !== this.size(b) ? this.size(a) > this.size(b) : a > b;
    while (parts.length < wanted) {
      const next = parts.reduce((best, part, i) => (isBefore(part, parts[best]!) ? i : best), 0);
      if (this.isCluster(parts[next]!)) break;
      const [left, right] = this.data.merges[parts[next]! - this.k]!;
      parts.splice(next, 1, left, right);
    }
    return parts.sort((a, b) => this.size(b) - this.size(a) || a - b);
  }

  /** Cuts the whole tree into `wanted` groups, or fewer if there are not that many. */
  cut(wanted: number): Level {
    const ofCluster = new Int32Array(this.k).fill(-1);
    if (!this.hasMerges) {
      for (const id of this.leaves) ofCluster[id] = 0;
      const name = this.leaves.length === 1 ? this.name(this.leaves[0]!) : "all clusters";
      return { ofCluster, groups: [{ id: 0, node: this.leaves[0] ?? 0, name, size: this.leaves.reduce((sum, id) => sum + this.size(id), 0), nClusters: this.leaves.length }] };
    }
    const nodes = this.parts(this.k + this.data.merges.length - 1, Math.max(1, wanted));
    const groupOf = new Map(nodes.map((node) => [node, -1]));
    const groups: Group[] = [];
    const top = this.tops(groupOf);
    for (const id of this.leaves) {
      const node = top[id]!;
      let number = groupOf.get(node)!;
      if (number < 0) {
        number = groups.length;
        groupOf.set(node, number);
        groups.push({ id: number, node, name: this.name(node), size: this.size(node), nClusters: this.nClusters(node) });
      }
      ofCluster[id] = number;
    }
    return { ofCluster, groups };
  }

  /** The chosen node above each node. */
  private tops(chosen: Map<number, number>): Int32Array {
    const top = Int32Array.from({ length: this.sizes.length }, (_, node) => node);
    // From the last merge to the first, so that parents come before their children.
    for (let i = this.data.merges.length - 1; i >= 0; i--) {
      const node = this.k + i;
      const isAbove = !chosen.has(node) && !chosen.has(top[node]!);
      if (isAbove) continue;
      const [left, right] = this.data.merges[i]!;
      top[left] = top[node]!;
      top[right] = top[node]!;
    }
    return top;
  }
}

/** The name of a cluster. */
export function clusterName(data: ReportData, id: number): string {
  return data.clusters[id]!.name;
}
