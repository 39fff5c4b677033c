import { forceCollide, forceSimulation, forceX, forceY } from "d3-force";
import { quadtree, type Quadtree } from "d3-quadtree";

import type { Points } from "./points";
import type { ReportData } from "./types";

/** The share of the square from -1 to 1 that discs cover. */
const COVERED = 0.36;

/** The smallest radius, so that every cluster can be seen and clicked. */
const SMALLEST = 0.004;

/** Beyond this share of the distances from the middle, distances count only in part. */
const INNER = 0.8;
const OUTER_SCALE = 0.4;

/** With more discs than this, fewer steps push them apart. */
const MANY = 1500;

/** Points crowd towards the middle of their disc: radius to the power of this. */
const CROWDED = 1.35;

/** Points may lie a little outside of their disc, so that its edge is soft. */
const SPREAD = 1.06;

/**
 * Places with the outermost ones drawn nearer to the others, so that a few that lie far outside do
 * not leave most of the map empty.
 */
function drawnIn(places: { x: number; y: number }[]): (readonly [number, number])[] {
  const n = Math.max(1, places.length);
  const middle = [places.reduce((sum, { x }) => sum + x, 0) / n, places.reduce((sum, { y }) => sum + y, 0) / n] as const;
  const distances = places.map(({ x, y }) => Math.hypot(x - middle[0], y - middle[1]));
  const inner = [...distances].sort((a, b) => a - b)[Math.floor(INNER * (n - 1))] ?? 0;
  return places.map(({ x, y }, i) => {
    const distance = distances[i]!;
    const scale = distance > inner ? (inner + OUTER_SCALE * (distance - inner)) / distance : 1;
    return [middle[0] + scale * (x - middle[0]), middle[1] + scale * (y - middle[1])] as const;
  });
}

/** A cluster on the map. */
export interface Disc {
  id: number;
  x: number;
  y: number;
  r: number;
}

/**
 * The map in its own units, whatever the window is like: each cluster is a disc whose area is
 * proportional to its documents, at its place, or pushed aside where discs would overlap.
 */
export class Layout {
  /** Large ones first, so that small ones stay visible on top. */
  readonly discs: Disc[];
  readonly ofCluster: (Disc | undefined)[];
  readonly tree: Quadtree<Disc>;
  readonly largest: number;
  /** The square that holds all discs: its centre, and half of its side. */
  readonly middle: readonly [number, number];
  readonly half: readonly [number, number];

  constructor(data: ReportData) {
    const shown = data.clusters.flatMap((cluster, id) => (cluster.size > 0 && !cluster.hidden ? [{ ...cluster, id }] : []));
    const total = shown.reduce((sum, cluster) => sum + cluster.size, 0) || 1;
    const unit = Math.sqrt((COVERED * 4) / (Math.PI * total));
    const homes = drawnIn(shown);
    const places = shown.map(({ id, size }, i) => {
      const home = homes[i]!;
      return { id, x: home[0], y: home[1], r: Math.max(SMALLEST, unit * Math.sqrt(size)), home };
    });
    type Place = (typeof places)[number];
    const simulation = forceSimulation(places)
      .force("apart", forceCollide<Place>((place) => place.r * 1.04 + 0.001).strength(0.8))
      .force("x", forceX<Place>((place) => place.home[0]).strength(0.1))
      .force("y", forceY<Place>((place) => place.home[1]).strength(0.1))
      .stop();
    simulation.tick(places.length > MANY ? 20 : 120);
    this.discs = places.map(({ id, x, y, r }) => ({ id, x, y, r })).sort((a, b) => b.r - a.r || a.id - b.id);
    this.ofCluster = new Array<Disc | undefined>(data.clusters.length);
    for (const disc of this.discs) this.ofCluster[disc.id] = disc;
    this.largest = this.discs[0]?.r ?? 0;
    this.tree = quadtree<Disc>().x((disc) => disc.x).y((disc) => disc.y).addAll(this.discs);
    const ends = (low: (disc: Disc) => number, high: (disc: Disc) => number) => [Math.min(...this.discs.map(low)), Math.max(...this.discs.map(high))] as const;
    const [left, right] = this.discs.length > 0 ? ends((d) => d.x - d.r, (d) => d.x + d.r) : [-1, 1];
    const [top, bottom] = this.discs.length > 0 ? ends((d) => d.y - d.r, (d) => d.y + d.r) : [-1, 1];
    this.middle = [(left + right) / 2, (top + bottom) / 2];
    this.half = [(right - left) / 2, (bottom - top) / 2];
  }

  /** Where the points are: x and y of each; far outside for those without a disc. */
  place(points: Points): Float32Array {
    const places = new Float32Array(2 * points.n);
    for (let point = 0; point < points.n; point++) {
      const disc = this.ofCluster[points.cluster[point]!];
      if (!disc) {
        places[2 * point] = places[2 * point + 1] = 1e6;
        continue;
      }
      const dx = points.offset[2 * point]! / 32767;
      const dy = points.offset[2 * point + 1]! / 32767;
      const scale = disc.r * SPREAD * Math.hypot(dx, dy) ** (CROWDED - 1);
      places[2 * point] = disc.x + scale * dx;
      places[2 * point + 1] = disc.y + scale * dy;
    }
    return places;
  }

  /** The smallest disc at a place, or within this distance of it. */
  at(x: number, y: number, near: number): Disc | null {
    const reach = this.largest * SPREAD + near;
    let best: Disc | null = null;
    this.tree.visit((node, x0, y0, x1, y1) => {
      if (!("length" in node)) {
        for (let leaf: typeof node | undefined = node; leaf; leaf = leaf.next) {
          const disc = leaf.data;
          if (Math.hypot(disc.x - x, disc.y - y) <= disc.r + near && (!best || disc.r < best.r)) best = disc;
        }
      }
      return x0 > x + reach || x1 < x - reach || y0 > y + reach || y1 < y - reach;
    });
    return best;
  }
}
