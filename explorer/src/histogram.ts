import { count, el, svg } from "./dom";
import { period, short, type Brush } from "./filter";
import type { Bins, Column } from "./types";

/** The name of a bin. */
export function binName(bins: Bins, bin: number): string {
  if (bins.edges.length > 0) return `${short(bins.edges[bin]!)} to ${short(bins.edges[bin + 1]!)}`;
  return period(bins.labels[bin] || "(empty)", bins.step);
}

/** What both ends of the axis say. */
export function endsOf(bins: Bins): readonly [string, string] {
  const last = bins.counts.length - 1;
  if (bins.edges.length > 0) return [short(bins.edges[0]!), short(bins.edges[last + 1]!)];
  return [period(bins.labels[0] ?? "", bins.step), period(bins.labels[last] ?? "", bins.step)];
}

/**
 * Bars of a column of dates or numbers, from which a range is chosen: by dragging over them, or
 * with two sliders below.
 */
export class Histogram {
  readonly element: HTMLElement;
  private readonly drawing: SVGSVGElement;
  private readonly all: SVGRectElement[];
  private readonly left: SVGRectElement[];
  private readonly range = svg("rect", { class: "range", y: 0, height: 100 });
  private readonly sliders: readonly [HTMLInputElement, HTMLInputElement];
  private readonly said = el("span", { class: "said" });
  private readonly n: number;
  private start: number | null = null;
  private brush: Brush | null = null;
  private isDragged = false;

  constructor(
    column: Column,
    private readonly bins: Bins,
    private readonly choose: (brush: Brush | null) => void,
  ) {
    this.n = bins.counts.length;
    const bar = (kind: string) => Array.from({ length: this.n }, (_, bin) => svg("rect", { class: kind, x: bin + 0.06, width: 0.88 }));
    [this.all, this.left] = [bar("all"), bar("bar")];
    for (const rect of [...this.all, ...this.left]) rect.append(svg("title"));
    this.drawing = svg("svg", { class: "bars", viewBox: `0 0 ${this.n} 100`, preserveAspectRatio: "none", "aria-hidden": "true" }, this.range, ...this.all, ...this.left);
    const slider = (end: "from" | "to") =>
      el("input", { type: "range", min: 0, max: this.n - 1, value: end === "from" ? 0 : this.n - 1, "aria-label": `${column.name}, ${end}`, input: () => this.slide(end) });
    this.sliders = [slider("from"), slider("to")];
    const [first, last] = endsOf(bins);
    const scale = el("div", { class: "ends" }, el("span", {}, first), this.said, el("span", {}, last));
    this.element = el("div", { class: "histogram" }, this.drawing, el("div", { class: "sliders" }, ...this.sliders), scale);
    this.drag();
  }

  private binAt(event: PointerEvent): number {
    const { left, width } = this.drawing.getBoundingClientRect();
    return Math.min(this.n - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * this.n)));
  }

  private drag(): void {
    this.drawing.addEventListener("pointerdown", (event) => {
      this.start = this.binAt(event);
      this.isDragged = false;
      this.drawing.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    this.drawing.addEventListener("pointermove", (event) => {
      if (this.start === null) return;
      const bin = this.binAt(event);
      if (bin !== this.start) this.isDragged = true;
      if (this.isDragged) this.to(this.start, bin);
    });
    const end = (event: PointerEvent) => {
      if (this.start === null) return;
      const bin = this.binAt(event);
      const isSame = !this.isDragged && this.brush?.length === 1 && this.brush[0] === bin;
      if (isSame) this.choose(null);
      else if (!this.isDragged) this.to(bin, bin);
      this.start = null;
    };
    this.drawing.addEventListener("pointerup", end);
    this.drawing.addEventListener("pointercancel", () => (this.start = null));
  }

  private slide(end: "from" | "to"): void {
    let [from, to] = [Number(this.sliders[0].value), Number(this.sliders[1].value)];
    if (from > to) [from, to] = end === "from" ? [from, from] : [to, to];
    this.to(from, to);
  }

  private to(one: number, other: number): void {
    const [from, to] = [Math.min(one, other), Math.max(one, other)];
    if (this.brush && this.brush[0] === from && this.brush[this.brush.length - 1] === to) return;
    const isAll = from === 0 && to === this.n - 1;
    this.choose(isAll ? null : Array.from({ length: to - from + 1 }, (_, i) => from + i));
  }

  /** Shows what the other filters leave, and what this one chooses. */
  update(left: ArrayLike<number> | null, brush: Brush | null): void {
    this.brush = brush;
    const { counts } = this.bins;
    const own = left ?? counts;
    // What is left has a scale of its own: shapes are to be compared.
    const most = counts.reduce((best, n) => Math.max(best, n), 1e-9);
    const mostLeft = counts.reduce((best, _, bin) => Math.max(best, own[bin]!), 1e-9);
    const chosen = brush && new Set(brush);
    const set = (rect: SVGRectElement, share: number) => {
      const high = share > 0 ? Math.max(1.5, 100 * share) : 0;
      rect.setAttribute("height", String(high));
      rect.setAttribute("y", String(100 - high));
    };
    for (let bin = 0; bin < this.n; bin++) {
      set(this.all[bin]!, counts[bin]! / most);
      set(this.left[bin]!, own[bin]! / mostLeft);
      const title = `${binName(this.bins, bin)}: ${left ? `${count(own[bin]!)} of ` : ""}${count(counts[bin]!)}`;
      for (const rect of [this.all[bin]!, this.left[bin]!]) rect.firstChild!.textContent = title;
      this.left[bin]!.classList.toggle("out", chosen !== null && !chosen.has(bin));
    }
    const [from, to] = [brush?.[0] ?? 0, brush?.[brush.length - 1] ?? this.n - 1];
    this.range.setAttribute("x", String(from));
    this.range.setAttribute("width", String(brush ? to - from + 1 : 0));
    [from, to].forEach((bin, i) => {
      this.sliders[i as 0 | 1].value = String(bin);
      this.sliders[i as 0 | 1].setAttribute("aria-valuetext", binName(this.bins, bin));
    });
    this.said.textContent = brush ? (from === to ? binName(this.bins, from) : `${endName(this.bins, from, 0)} to ${endName(this.bins, to, 1)}`) : "";
  }
}

/** The beginning or the end of a bin. */
function endName(bins: Bins, bin: number, side: 0 | 1): string {
  return bins.edges.length > 0 ? short(bins.edges[bin + side]!) : binName(bins, bin);
}
