import { forceCollide, forceSimulation, forceX, forceY } from "d3-force";
import { quadtree, type Quadtree } from "d3-quadtree";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomTransform } from "d3-zoom";

import { cohesionColour, cohesionRange, groupColour, type Theme } from "./colours";
import { byId, counted } from "./dom";
import { clusterName } from "./groups";
import type { State } from "./state";

/** The share of the canvas that circles cover. */
const COVERED = 0.2;

/** Pixels between the outermost positions and the edge. */
const MARGIN = 36;

/** The smallest radius, so that every circle is visible and can be clicked. */
const SMALLEST = 1.5;

/** With more circles than this, fewer steps push them apart. */
const MANY = 1500;

/** Milliseconds after which another change of size counts as separate. */
const RESIZE_PAUSE = 100;

/** Pixels between a circle and the edge without zoom. */
const EDGE = 3;

/** Moves a centre so that an object with this much room on both sides lies within a length. */
function within(middle: number, half: number, length: number): number {
  return 2 * half > length ? length / 2 : Math.min(Math.max(middle, half), length - half);
}

interface Circle {
  id: number;
  x: number;
  y: number;
  r: number;
}

/** The map: one canvas, redrawn for each frame that needs it. */
export class ClusterMap {
  private readonly canvas = byId<HTMLCanvasElement>("map");
  private readonly tip = byId("tip");
  private readonly context = this.canvas.getContext("2d")!;
  private circles: Circle[] = [];
  private tree!: Quadtree<Circle>;
  private largest = 0;
  private transform: ZoomTransform = zoomIdentity;
  private width = 0;
  private height = 0;
  private isWaiting = false;
  /** The range of cohesions that the colours cover. */
  private readonly range: readonly [number, number];
  private readonly zoom = zoom<HTMLCanvasElement, unknown>().scaleExtent([0.7, 60]);

  constructor(
    private readonly state: State,
    private readonly theme: () => Theme,
    private readonly open: (id: number) => void,
  ) {
    this.range = cohesionRange(state.data);
    const canvas = select(this.canvas);
    this.zoom.on("zoom", (event: { transform: ZoomTransform }) => {
      this.transform = event.transform;
      this.wait();
    });
    canvas.call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.setHovered(null));
    this.canvas.addEventListener("click", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      if (found) this.open(found.id);
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
    state.follow(() => this.wait());
    this.resize();
  }

  /** Brings a cluster into view. */
  show(id: number): void {
    const circle = this.circles.find((c) => c.id === id);
    if (!circle) return;
    const [x, y] = this.transform.apply([circle.x, circle.y]);
    const margin = 40;
    if (x > margin && y > margin && x < this.width - margin && y < this.height - margin) return;
    this.zoom.translateTo(select(this.canvas), circle.x, circle.y);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return;
    if (clientWidth === this.width && clientHeight === this.height) return;
    const ratio = window.devicePixelRatio || 1;
    [this.width, this.height] = [clientWidth, clientHeight];
    [this.canvas.width, this.canvas.height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    this.place();
    // A canvas of another size is empty.
    this.draw();
  }

  /**
   * Lays out the circles without zoom: at their positions, pushed apart where they would overlap.
   * Together they cover a fifth of the canvas.
   */
  private place(): void {
    const { clusters } = this.state.data;
    const total = clusters.reduce((sum, cluster) => sum + cluster.size, 0) || 1;
    const unit = Math.sqrt((COVERED * this.width * this.height) / (Math.PI * total));
    const [halfWidth, halfHeight] = [this.width / 2 - MARGIN, this.height / 2 - MARGIN];
    const places = clusters.flatMap(({ size, x, y }, id) => {
      if (size === 0) return [];
      const [px, py] = [this.width / 2 + x * halfWidth, this.height / 2 + y * halfHeight];
      return [{ id, x: px, y: py, r: Math.max(SMALLEST, unit * Math.sqrt(size)), home: [px, py] as const }];
    });
    // A fixed circle keeps the others away from the buttons.
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = byId("zoom");
    const [fx, fy] = [offsetLeft + offsetWidth / 2, offsetTop + offsetHeight / 2];
    const buttons = { id: -1, x: fx, y: fy, fx, fy, r: Math.hypot(offsetWidth, offsetHeight) / 2, home: [fx, fy] as const };
    const simulation = forceSimulation([...places, buttons])
      .force("apart", forceCollide<(typeof places)[number]>((place) => place.r + 0.5).strength(0.8))
      .force("x", forceX<(typeof places)[number]>((place) => place.home[0]).strength(0.1))
      .force("y", forceY<(typeof places)[number]>((place) => place.home[1]).strength(0.1))
      .stop();
    for (let step = places.length > MANY ? 20 : 120; step > 0; step--) {
      simulation.tick();
      for (const place of places) {
        place.x = within(place.x, place.r + EDGE, this.width);
        place.y = within(place.y, place.r + EDGE, this.height);
      }
    }
    // Large circles first, so that small ones stay visible on top.
    this.circles = places.map(({ id, x, y, r }) => ({ id, x, y, r })).sort((a, b) => b.r - a.r || a.id - b.id);
    this.largest = this.circles[0]?.r ?? 0;
    this.tree = quadtree<Circle>().x((c) => c.x).y((c) => c.y).addAll(this.circles);
  }

  /** Circles grow more slowly than the space between them, so that zooming in separates them. */
  private radius(circle: Circle): number {
    return circle.r * Math.sqrt(this.transform.k);
  }

  private wait(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  private isFaint(id: number): boolean {
    return !this.state.isShown(id);
  }

  /** Draws immediately; all other changes wait for the next frame. */
  draw(): void {
    const { context, state } = this;
    const theme = this.theme();
    const ratio = this.canvas.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    for (const circle of this.circles) {
      const [x, y] = this.transform.apply([circle.x, circle.y]);
      const r = this.radius(circle);
      if (x + r < 0 || y + r < 0 || x - r > this.width || y - r > this.height) continue;
      const isMarked = circle.id === state.selected || circle.id === state.hovered;
      context.globalAlpha = this.isFaint(circle.id) ? 0.12 : 0.8;
      context.fillStyle =
        state.colouring === "group"
          ? groupColour(state.level.ofCluster[circle.id]!, theme)
          : cohesionColour(state.data.clusters[circle.id]!.cohesion, this.range, theme);
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill();
      context.globalAlpha = 1;
      const isHeap = state.data.clusters[circle.id]!.heap && !this.isFaint(circle.id);
      context.lineWidth = isMarked ? 3 : isHeap ? 1.5 : 0.75;
      context.strokeStyle = isMarked || isHeap ? theme.text : theme.background;
      context.setLineDash(isHeap ? [4, 4] : []);
      context.stroke();
      context.setLineDash([]);
    }
    this.label(theme);
    this.showTip();
  }

  /** Draws names where there is room, the largest clusters first. */
  private label(theme: Theme): void {
    const { context, state } = this;
    const taken: [number, number, number, number][] = [];
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const first = this.circles.filter((c) => c.id === state.selected);
    let tried = 0;
    for (const circle of [...first, ...this.circles]) {
      if (this.isFaint(circle.id)) continue;
      const [x, y] = this.transform.apply([circle.x, circle.y]);
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      if (++tried > 400) break;
      const parts = state.data.clusters[circle.id]!.name.split(", ");
      // One part of the name may fit where two do not.
      for (let n = this.radius(circle) > 30 ? 2 : 1; n > 0; n--) {
        const text = parts.slice(0, n).join(", ");
        const width = context.measureText(text).width + 6;
        const [left, top] = [within(x, width / 2, this.width) - width / 2, within(y, 8, this.height) - 8];
        const box: [number, number, number, number] = [left, top, left + width, top + 16];
        if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
        taken.push(box);
        context.lineWidth = 3;
        context.strokeStyle = theme.background;
        context.strokeText(text, left + width / 2, top + 8);
        context.fillStyle = theme.text;
        context.fillText(text, left + width / 2, top + 8);
        break;
      }
    }
  }

  /** The smallest circle under a point, or within a few pixels of it. */
  private at(x: number, y: number): Circle | null {
    const [px, py] = this.transform.invert([x, y]);
    const reach = (this.largest * Math.sqrt(this.transform.k) + 4) / this.transform.k;
    let best: Circle | null = null;
    this.tree.visit((node, x0, y0, x1, y1) => {
      if (!("length" in node)) {
        for (let leaf: typeof node | undefined = node; leaf; leaf = leaf.next) {
          const circle = leaf.data;
          const distance = Math.hypot(circle.x - px, circle.y - py) * this.transform.k;
          if (distance <= this.radius(circle) + 3 && (!best || circle.r < best.r)) best = circle;
        }
      }
      return x0 > px + reach || x1 < px - reach || y0 > py + reach || y1 < py - reach;
    });
    return best;
  }

  private hover(event: PointerEvent): void {
    const found = this.at(event.offsetX, event.offsetY);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    this.setHovered(found ? found.id : null);
  }

  private setHovered(id: number | null): void {
    if (id !== this.state.hovered) this.state.change((s) => (s.hovered = id));
  }

  private showTip(): void {
    const { state, tip } = this;
    const circle = state.hovered === null ? undefined : this.circles.find((c) => c.id === state.hovered);
    if (!circle) {
      tip.hidden = true;
      return;
    }
    const cluster = state.data.clusters[circle.id]!;
    const [x, y] = this.transform.apply([circle.x, circle.y]);
    const group = state.level.groups[state.level.ofCluster[circle.id]!];
    const facts = [clusterName(state.data, circle.id), `${counted(cluster.size, "document")}, cohesion ${cluster.cohesion.toFixed(2)}${cluster.heap ? ", a heap" : ""}`];
    if (group && state.level.groups.length > 1) facts.push(`group: ${group.name}`);
    tip.textContent = facts.join("\n");
    tip.hidden = x < 0 || y < 0 || x > this.width || y > this.height;
    tip.style.left = `${Math.min(Math.max(x, 90), this.width - 90)}px`;
    tip.style.top = `${y + this.radius(circle) + 6}px`;
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
}
