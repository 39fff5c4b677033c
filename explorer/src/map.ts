import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomTransform } from "d3-zoom";

import type { Colours } from "./colouring";
import { css, greyOf } from "./colours";
import { byId } from "./dom";
import { draw as drawLabels, placed, type Box, type Placed } from "./labels";
import { Layout, type Disc } from "./layout";
import { labels, type View } from "./names";
import { FAINT, LIT, PLAIN, PointLayer, setColour } from "./pointlayer";
import { shuffled } from "./points";
import type { State, Topic } from "./state";
import { Tip } from "./tip";

/** Pixels between the outermost discs and the edge. */
const MARGIN = 22;

/** Milliseconds after which another change of size counts as separate. */
const RESIZE_PAUSE = 100;

/** Milliseconds without a movement after which all points are drawn again. */
const REST = 160;

/** The longest frame that counts, in milliseconds. */
const LONGEST = 500;

/** A frame should take less than this while the map moves, in milliseconds. */
const FRAME = 30;

/** Points that are drawn while the map moves, at least. */
const FEWEST = 10_000;

/** Points of a moving map drawn without a GPU, at first. */
const SLOW = 30_000;

/** Pixels from the pointer within which a point is meant. */
const REACH = 8;

/** If a filter leaves a smaller share of the points, they are drawn larger. */
const RARE = 0.2;

/** Names on the map, at most. */
const NAMES = 220;

/**
 * The map: points on one canvas (WebGL2), and names and outlines on another above it. Without
 * points or without WebGL2, discs in place of points.
 */
export class ClusterMap {
  private readonly canvas = byId<HTMLCanvasElement>("map");
  private readonly context = this.canvas.getContext("2d")!;
  private layer: PointLayer | null = null;
  private readonly layout: Layout;
  private readonly tip: Tip;
  private places: Float32Array | null = null;
  private order: Uint32Array | null = null;
  private transform: ZoomTransform = zoomIdentity;
  private width = 0;
  private height = 0;
  private isWaiting = false;
  private isMoving = false;
  private wasMoving = false;
  private drawnAt = 0;
  private budget = Infinity;
  private restTimer: ReturnType<typeof setTimeout> | undefined;
  private scope: unknown = null;
  private readonly zoom = zoom<HTMLCanvasElement, unknown>().scaleExtent([0.8, 80]);

  constructor(
    private readonly state: State,
    private readonly colours: Colours,
    open: (id: number) => void,
  ) {
    this.layout = new Layout(state.data);
    this.tip = new Tip(state);
    this.listen(open);
    state.follow((topics) => this.update(topics));
    this.resize();
    this.usePoints();
  }

  private listen(open: (id: number) => void): void {
    const canvas = select(this.canvas);
    this.zoom.on("zoom", (event: { transform: ZoomTransform }) => {
      this.transform = event.transform;
      this.isMoving = true;
      this.tip.hide();
      this.wait();
    });
    canvas.call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("pointermove", (event) => event.buttons === 0 && this.hover(event.offsetX, event.offsetY));
    this.canvas.addEventListener("pointerleave", () => this.hover(-1e6, -1e6));
    this.canvas.addEventListener("click", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      if (found) open(found.id);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    byId("zoom-in").addEventListener("click", () => this.zoom.scaleBy(canvas, 1.6));
    byId("zoom-out").addEventListener("click", () => this.zoom.scaleBy(canvas, 1 / 1.6));
    byId("zoom-reset").addEventListener("click", () => this.zoom.transform(canvas, zoomIdentity));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = -Infinity;
    new ResizeObserver(() => {
      // Immediately, but not for every step while a window is being resized.
      const now = performance.now();
      clearTimeout(timer);
      if (now - last > RESIZE_PAUSE) this.resize();
      else timer = setTimeout(() => this.resize(), RESIZE_PAUSE);
      last = now;
    }).observe(this.canvas);
  }

  private update(topics: Set<Topic>): void {
    if (topics.has("points")) this.usePoints();
    const isScopeNew = this.scope !== this.state.scope;
    this.scope = this.state.scope;
    if (isScopeNew || ["filter", "search", "level", "colour", "theme"].some((topic) => topics.has(topic as Topic))) this.recolour();
    this.wait();
  }

  private usePoints(): void {
    const { points } = this.state;
    if (!points) return;
    if (!this.layer) {
      this.layer = PointLayer.create(byId<HTMLCanvasElement>("points"), () => this.wait());
      if (!this.layer) return;
      if (this.layer.isSlow) this.budget = SLOW;
      this.fit();
    }
    this.places = this.layout.place(points);
    this.order = shuffled(points.n);
    const sorted = new Float32Array(2 * points.n);
    this.order.forEach((point, at) => {
      sorted[2 * at] = this.places![2 * point]!;
      sorted[2 * at + 1] = this.places![2 * point + 1]!;
    });
    this.layer.setPlaces(sorted);
    this.recolour();
    this.wait();
  }

  /** Whether documents are drawn, and not only clusters. */
  get hasPoints(): boolean {
    return this.layer !== null && this.places !== null;
  }

  private recolour(): void {
    const { state, order } = this;
    const { points, hits, filtered } = state;
    if (!this.layer || !points || !order) return;
    const clusters = state.data.clusters.map((_, id) => ({ colour: this.colours.ofCluster(id), isShown: state.isShown(id), isFound: !hits || hits.clusters.has(id) }));
    const table = this.colours.table();
    const grey = greyOf(this.colours.theme);
    const isRare = filtered.passes !== null && filtered.passes.reduce((sum, passes) => sum + passes, 0) < RARE * points.n;
    this.layer.setColours((colours) => {
      order.forEach((point, at) => {
        const cluster = clusters[points.cluster[point]!];
        if (!cluster) return;
        const colour = table ? table.colours[table.bins[point]!]! : cluster.colour;
        const isOut = !cluster.isShown || filtered.passes?.[point] === 0;
        if (isOut) setColour(colours, at, grey, FAINT);
        else if (isRare && !hits) setColour(colours, at, colour, LIT);
        else if (hits?.points) setColour(colours, at, colour, hits.points[point] ? LIT : FAINT);
        else setColour(colours, at, colour, cluster.isFound ? PLAIN : FAINT);
      });
    });
  }

  /** What is seen now. */
  view(): View {
    const { width, height, transform } = this;
    const [halfX, halfY] = this.layout.half;
    const margin = Math.min(MARGIN, width / 12);
    const base = Math.min((width / 2 - margin) / (halfX || 1), (height / 2 - margin) / (halfY || 1));
    const [midX, midY] = this.layout.middle;
    return {
      scale: base * transform.k,
      zoom: transform.k,
      width,
      height,
      x: (place) => transform.applyX(width / 2 + base * (place - midX)),
      y: (place) => transform.applyY(height / 2 + base * (place - midY)),
    };
  }

  /** Brings a cluster into view. */
  show(id: number): void {
    const disc = this.layout.ofCluster[id];
    if (!disc || this.width === 0) return;
    const view = this.view();
    const [x, y] = [view.x(disc.x), view.y(disc.y)];
    const margin = 40;
    if (x > margin && y > margin && x < this.width - margin && y < this.height - margin) return;
    const [px, py] = this.transform.invert([x, y]);
    this.zoom.translateTo(select(this.canvas), px, py);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return;
    if (clientWidth === this.width && clientHeight === this.height) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.fit();
    // A canvas of another size is empty.
    this.draw();
  }

  /** Gives the canvases the pixels that they have on the screen. */
  private fit(): void {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, ...(this.layer ? [this.layer.canvas] : [])]) {
      [canvas.width, canvas.height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    }
  }

  private wait(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  /** Draws immediately; all other changes wait for the next frame. */
  draw(): void {
    if (this.width === 0) return;
    const view = this.view();
    this.drawPoints(view);
    const { context } = this;
    const ratio = this.canvas.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawDiscs(view);
    drawLabels(this.names(view), context, this.colours.theme.background);
  }

  /** The names that have room. */
  names(view: View): Placed[] {
    return placed(labels(this.state, this.layout, view, this.colours), this.context, this.width, this.height, NAMES, this.reserved());
  }

  /** Where other things lie over the map. */
  private reserved(): Box[] {
    const boxes = [byId("zoom"), byId("sample")].map(({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => ({ left: offsetLeft, top: offsetTop, width: offsetWidth, height: offsetHeight }));
    return boxes.filter((box) => box.width > 0);
  }

  /** The discs in view, with their pixels. */
  *seen(view: View): Generator<{ disc: Disc; x: number; y: number; r: number }> {
    for (const disc of this.layout.discs) {
      const [x, y, r] = [view.x(disc.x), view.y(disc.y), disc.r * view.scale];
      if (x + r >= 0 && y + r >= 0 && x - r <= this.width && y - r <= this.height) yield { disc, x, y, r };
    }
  }

  private drawPoints(view: View): void {
    const { layer, order } = this;
    if (!layer || !order || !this.places) return;
    const count = this.isMoving ? this.pointsOfFrame(order.length) : order.length;
    const ratio = layer.canvas.width / this.width;
    layer.draw({ scale: view.scale * ratio, shift: [view.x(0) * ratio, view.y(0) * ratio], ...this.dotsOf(view, count, ratio), count });
    this.canvas.dataset["points"] = String(count);
  }

  /** How many points this frame of a moving map has: fewer if the last ones took too long. */
  private pointsOfFrame(n: number): number {
    const now = performance.now();
    const took = now - this.drawnAt;
    const shown = Math.min(this.budget, n);
    if (this.wasMoving && took > FRAME) this.budget = Math.max(FEWEST, 0.8 * shown);
    else if (this.wasMoving && took < 0.6 * FRAME) this.budget = shown * 1.1;
    this.drawnAt = now;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.isMoving = this.wasMoving = false;
      this.wait();
      // Frames that come late are no rest.
    }, Math.max(REST, this.wasMoving ? 2 * Math.min(took, LONGEST) : LONGEST));
    this.wasMoving = true;
    return Math.round(Math.min(n, this.budget));
  }

  /** Size and opacity with which so many points nearly cover their discs. */
  private dotsOf(view: View, count: number, ratio: number): { size: number; alpha: number } {
    const area = this.layout.discs.reduce((sum, disc) => sum + Math.PI * disc.r ** 2, 0) * view.scale ** 2;
    const side = Math.min(view.zoom > 4 ? 9 : 7, Math.max(1.4, 1.2 * Math.sqrt(area / Math.max(1, count))));
    const cover = (0.85 * area) / (Math.max(1, count) * 0.785 * side ** 2);
    return { size: side * ratio, alpha: Math.min(0.85, Math.max(0.07, cover)) };
  }

  /** With points only outlines; without, the discs themselves. */
  private drawDiscs(view: View): void {
    const { context, state, colours } = this;
    const { theme } = colours;
    for (const { disc, x, y, r } of this.seen(view)) {
      const isLit = state.isLit(disc.id);
      const isMarked = disc.id === state.cluster || disc.id === state.hovered;
      const isHeap = state.data.clusters[disc.id]!.heap && isLit && (!this.hasPoints || r > 12);
      const isFound = state.hits !== null && isLit && this.hasPoints && r > 5;
      if (this.hasPoints && !isMarked && !isHeap && !isFound) continue;
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      if (!this.hasPoints) {
        context.globalAlpha = isLit ? 0.8 : 0.12;
        context.fillStyle = css(colours.ofCluster(disc.id));
        context.fill();
        context.globalAlpha = 1;
      }
      context.lineWidth = isMarked ? 2.5 : isHeap || isFound ? 1.5 : 1;
      context.strokeStyle = isMarked || isFound ? theme.text : isHeap ? theme.quiet : theme.background;
      context.setLineDash(isHeap && !isMarked ? [4, 4] : []);
      context.stroke();
      context.setLineDash([]);
    }
  }

  /** The disc under a point of the canvas, or within a few pixels of it. */
  private at(x: number, y: number): Disc | null {
    const view = this.view();
    const found = this.layout.at((x - view.x(0)) / view.scale, (y - view.y(0)) / view.scale, 4 / view.scale);
    return found && this.state.isShown(found.id) ? found : null;
  }

  /** The point of a cluster nearest to the pointer. */
  private pointAt(disc: Disc, x: number, y: number, view: View): number | null {
    const { points } = this.state;
    if (!points || !this.places || !this.hasPoints) return null;
    const [px, py] = [(x - view.x(0)) / view.scale, (y - view.y(0)) / view.scale];
    let best: number | null = null;
    let least = REACH / view.scale;
    for (let at = points.starts[disc.id]!; at < points.starts[disc.id + 1]!; at++) {
      const point = points.byCluster[at]!;
      if (this.state.filtered.passes?.[point] === 0) continue;
      const distance = Math.hypot(this.places[2 * point]! - px, this.places[2 * point + 1]! - py);
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  }

  private hover(x: number, y: number): void {
    const disc = this.at(x, y);
    this.canvas.style.cursor = disc ? "pointer" : "grab";
    const id = disc?.id ?? null;
    if (id !== this.state.hovered) this.state.change((s) => (s.hovered = id), "hover");
    if (!disc) {
      this.tip.hide();
      return;
    }
    const view = this.view();
    this.tip.show(disc.id, this.pointAt(disc, x, y, view), { x, y, width: this.width, height: this.height });
  }

  private key(event: KeyboardEvent): void {
    const canvas = select(this.canvas);
    const moves: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const move = moves[event.key];
    if (move) this.zoom.translateBy(canvas, move[0] / this.transform.k, move[1] / this.transform.k);
    else if (event.key === "+" || event.key === "=") this.zoom.scaleBy(canvas, 1.4);
    else if (event.key === "-") this.zoom.scaleBy(canvas, 1 / 1.4);
    else if (event.key === "0") this.zoom.transform(canvas, zoomIdentity);
    else return;
    event.preventDefault();
  }

  /** The canvases, drawn just now: the one of points keeps its pixels only for the moment. */
  drawn(): { canvases: HTMLCanvasElement[]; width: number; height: number } {
    this.isMoving = false;
    this.draw();
    return { canvases: this.layer && this.hasPoints ? [this.layer.canvas, this.canvas] : [this.canvas], width: this.width, height: this.height };
  }

  /** Where a point is, for drawings other than the canvas. */
  placeOf(point: number): readonly [number, number] | null {
    return this.places && [this.places[2 * point]!, this.places[2 * point + 1]!];
  }
}
