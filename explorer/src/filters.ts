import { isOrdered } from "./colouring";
import { byId, count, counted, el } from "./dom";
import type { Brush } from "./filter";
import { Histogram } from "./histogram";
import type { State, Topic } from "./state";
import type { Bins, Column } from "./types";

/** Values of a category shown at first. */
const FEW = 6;

interface Filter {
  element: HTMLElement;
  update(left: ArrayLike<number> | null, brush: Brush | null): void;
}

/** One filter for each kept column that is counted. */
export class Filters {
  private readonly box = byId("filters");
  private readonly status = el("p", { class: "facts", role: "status" });
  private readonly clear = el("button", { type: "button", class: "small" }, "Clear all");
  private readonly filters = new Map<number, Filter>();

  constructor(
    private readonly state: State,
    /** The column that the timeline shows. */
    timeline: number | null,
  ) {
    this.clear.addEventListener("click", () => state.change((s) => (s.brushes = new Map()), "filter"));
    const parts = state.data.columns.flatMap((column, at) => (column.bins && at !== timeline && column.bins.counts.length > 1 ? [this.filter(column, column.bins, at)] : []));
    const uncounted = state.data.columns.filter((column) => !column.bins && column.kind !== "text").map((column) => column.name);
    this.box.hidden = parts.length === 0 && timeline === null;
    this.box.append(
      el("div", { class: "head" }, el("h2", {}, "Filters"), this.clear),
      this.status,
      ...parts,
      ...(uncounted.length > 0 ? [el("p", { class: "facts" }, `Too many values to count: ${uncounted.join(", ")}.`)] : []),
    );
    state.follow((topics) => this.update(topics));
    this.update(new Set<Topic>(["filter"]));
  }

  private filter(column: Column, bins: Bins, at: number): HTMLElement {
    const choose = (brush: Brush | null) => this.state.brush(at, brush);
    const filter = isOrdered(column) ? new Histogram(column, bins, choose) : new Values(column, bins, choose);
    this.filters.set(at, filter);
    const missing = this.state.data.totals.documents - column.values;
    const facts = missing > 0 ? el("span", { class: "facts" }, ` ${counted(missing, "document")} without`) : null;
    return el("section", { class: "filter", "aria-label": `Filter by ${column.name}` }, el("h3", {}, column.name, facts), filter.element);
  }

  private update(topics: Set<Topic>): void {
    if (!topics.has("filter") && !topics.has("points")) return;
    const { filtered, brushes, data } = this.state;
    for (const [at, filter] of this.filters) filter.update(filtered.byColumn.get(at) ?? null, brushes.get(at) ?? null);
    this.clear.hidden = !filtered.isActive;
    const all = data.clusters.reduce((sum, cluster) => sum + cluster.size, 0);
    const about = filtered.basis === "sample" ? "about " : "";
    this.status.textContent = filtered.isActive
      ? `${about}${count(filtered.total)} of ${counted(all, "document")}${filtered.basis === "sample" ? `, estimated from ${count(this.state.points?.n ?? 0)}` : ""}`
      : this.state.points
        ? "Drag over bars, or choose values."
        : "Drag over bars, or choose values; one column at a time.";
  }
}

/** The most frequent values of a category or hosts, as switches. */
class Values implements Filter {
  readonly element = el("div", { class: "values" });
  private readonly buttons: HTMLButtonElement[];
  private readonly chosen = new Set<number>();

  constructor(
    column: Column,
    private readonly bins: Bins,
    choose: (brush: Brush | null) => void,
  ) {
    this.buttons = bins.labels.map((label, bin) => {
      const toggle = () => {
        if (!this.chosen.delete(bin)) this.chosen.add(bin);
        choose(this.chosen.size > 0 ? [...this.chosen].sort((a, b) => a - b) : null);
      };
      return el(
        "button",
        { type: "button", class: "value", "aria-pressed": "false", click: toggle },
        el("span", { class: "value-bar" }),
        el("bdi", { class: "value-name" }, label || "(empty)"),
        el("span", { class: "number" }),
      );
    });
    this.element.append(...this.buttons);
    if (this.buttons.length > FEW + 2) {
      this.buttons.slice(FEW).forEach((button) => (button.hidden = true));
      const more = el("button", { type: "button", class: "small" }, `${this.buttons.length - FEW} more`);
      more.addEventListener("click", () => {
        this.buttons.forEach((button) => (button.hidden = false));
        more.remove();
        this.buttons[FEW]!.focus();
      });
      this.element.append(more);
    }
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", column.name);
  }

  update(left: ArrayLike<number> | null, brush: Brush | null): void {
    this.chosen.clear();
    for (const bin of brush ?? []) this.chosen.add(bin);
    const most = this.bins.counts.reduce((best, n, bin) => Math.max(best, left?.[bin] ?? n), 1);
    this.buttons.forEach((button, bin) => {
      const n = left?.[bin] ?? this.bins.counts[bin]!;
      button.setAttribute("aria-pressed", String(this.chosen.has(bin)));
      if (this.chosen.has(bin)) button.hidden = false;
      button.classList.toggle("out", this.chosen.size > 0 && !this.chosen.has(bin));
      (button.children[0] as HTMLElement).style.width = `${(100 * n) / most}%`;
      button.children[2]!.textContent = count(n);
    });
  }
}
