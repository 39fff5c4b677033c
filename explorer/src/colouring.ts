import { cohesionRange, css, greyOf, groupColours, N_COLOURS, paletteColour, ramp, rampBackground, type Rgb, type Theme } from "./colours";
import { el } from "./dom";
import { period, short } from "./filter";
import { NO_BIN } from "./points";
import type { Colouring, State } from "./state";
import type { Bins, Column } from "./types";

/** Categories with a colour of their own; the rest is grey. */
const CATEGORIES = Math.min(10, N_COLOURS);

/** The colours of clusters and points for the chosen colouring. */
export class Colours {
  private groups: Int32Array | null = null;
  private level: unknown;
  private readonly cohesions: readonly [number, number];

  constructor(
    private readonly state: State,
    public theme: Theme,
  ) {
    this.cohesions = cohesionRange(state.data);
  }

  /** The colour of a group of the chosen level. */
  ofGroup(group: number): Rgb {
    if (this.level !== this.state.level || !this.groups) {
      this.level = this.state.level;
      this.groups = groupColours(this.state.data, this.state.level);
    }
    return paletteColour(this.groups[group] ?? -1, this.theme);
  }

  ofCluster(id: number): Rgb {
    const { state, theme } = this;
    if (state.colouring === "group") return this.ofGroup(state.level.ofCluster[id]!);
    if (state.colouring === "cohesion") {
      const [lo, hi] = this.cohesions;
      return ramp(hi > lo ? (state.data.clusters[id]!.cohesion - lo) / (hi - lo) : 0.5, theme);
    }
    const column = state.data.columns[state.colouring]!;
    return column.bins ? this.ofPairs(column, column.bins, id) : greyOf(theme);
  }

  /** A cluster by a column: by its mean bin, or by the category that it has more than others. */
  private ofPairs(column: Column, bins: Bins, id: number): Rgb {
    const pairs = bins.clusters[id] ?? [];
    const n = pairs.reduce((sum, [, count]) => sum + count, 0);
    if (n === 0) return greyOf(this.theme);
    if (isOrdered(column)) return this.ofBin(column, bins, Math.round(pairs.reduce((sum, [bin, count]) => sum + bin * count, 0) / n));
    const most = pairs.reduce((best, pair) => (pair[1] / Math.sqrt(bins.counts[pair[0]] || 1) > best[1] / Math.sqrt(bins.counts[best[0]] || 1) ? pair : best));
    return this.ofBin(column, bins, most[0]);
  }

  ofBin(column: Column, bins: Bins, bin: number): Rgb {
    if (isOrdered(column)) return ramp(bins.counts.length > 1 ? bin / (bins.counts.length - 1) : 0.5, this.theme);
    return bin < CATEGORIES ? paletteColour(bin, this.theme) : greyOf(this.theme);
  }

  /** A colour for each point; `null` if points are coloured as their clusters. */
  table(): { bins: Uint8Array; colours: Rgb[] } | null {
    const { colouring, data, points } = this.state;
    if (typeof colouring !== "number") return null;
    const [column, bins] = [data.columns[colouring]!, points?.bins.get(colouring)];
    if (!column.bins || !bins) return null;
    const known = column.bins;
    const colours = Array.from({ length: 256 }, (_, bin) => (bin === NO_BIN || bin >= known.counts.length ? greyOf(this.theme) : this.ofBin(column, known, bin)));
    return { bins, colours };
  }

  /** What the colours mean. */
  legend(): HTMLElement | null {
    const { colouring, data } = this.state;
    if (colouring === "group") return null;
    const scale = (lo: string, hi: string) =>
      el("span", { class: "scale" }, lo, el("span", { class: "ramp", style: `background:${rampBackground(this.theme)}` }), hi);
    if (colouring === "cohesion") return scale(this.cohesions[0].toFixed(2), this.cohesions[1].toFixed(2));
    const column = data.columns[colouring]!;
    const bins = column.bins!;
    const last = bins.counts.length - 1;
    if (bins.edges.length > 0) return scale(short(bins.edges[0]!), short(bins.edges[last + 1]!));
    if (isOrdered(column)) return scale(period(bins.labels[0] ?? "", bins.step), period(bins.labels[last] ?? "", bins.step));
    const shown = bins.labels.slice(0, CATEGORIES).map((label, bin) => this.key(label, css(this.ofBin(column, bins, bin))));
    return el("span", { class: "keys" }, ...shown, bins.labels.length > CATEGORIES && this.key("other", css(greyOf(this.theme))));
  }

  private key(label: string, colour: string): HTMLElement {
    return el("span", { class: "key" }, el("span", { class: "swatch", style: `background:${colour}` }), el("bdi", {}, label || "(empty)"));
  }
}

export function isOrdered(column: Column): boolean {
  return column.kind === "date" || column.kind === "number";
}

/** The possible colourings with their names. */
export function colourings(state: State): [Colouring, string][] {
  const columns = state.data.columns.flatMap((column, at): [Colouring, string][] => (column.bins ? [[at, column.name]] : []));
  return [["group", "group"], ["cohesion", "cohesion"], ...columns];
}
