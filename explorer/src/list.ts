import { byId, counted, el } from "./dom";
import { clusterName } from "./groups";
import type { Search } from "./search";
import type { Order, State } from "./state";

const ROW = 44;
/** Number of rows drawn above and below the visible ones. */
const SPARE = 6;

/** The list of clusters. Only visible rows exist, so that thousands of clusters stay fast. */
export class List {
  private found: number[] = [];
  /** The row with the keyboard focus. */
  private active = 0;
  private readonly box = byId("list");
  private readonly inner = byId("rows");
  private readonly status = byId("found");
  private last = "";
  private opened: number | null = null;

  constructor(
    private readonly state: State,
    private readonly search: Search,
    private readonly open: (id: number) => void,
  ) {
    const input = byId<HTMLInputElement>("search");
    input.addEventListener("input", () => state.change((s) => (s.query = input.value)));
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.box.focus();
      if (event.key === "Escape") state.change((s) => (s.query = input.value = ""));
    });
    const order = byId<HTMLSelectElement>("order");
    order.addEventListener("change", () => state.change((s) => (s.order = order.value as Order)));
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.inner.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-id]");
      if (row) this.open(Number(row.dataset["id"]));
    });
    this.inner.addEventListener("mousemove", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-id]");
      const id = row ? Number(row.dataset["id"]) : null;
      if (id !== state.hovered) state.change((s) => (s.hovered = id));
    });
    this.inner.addEventListener("mouseleave", () => state.change((s) => (s.hovered = null)));
    new ResizeObserver(() => this.draw()).observe(this.box);
    state.follow(() => this.update());
    this.update();
  }

  private update(): void {
    const { state } = this;
    const group = state.group === null ? "" : `${state.level.groups.length} ${state.group}`;
    const key = [state.query, state.order, group].join("\n");
    if (key !== this.last) {
      this.last = key;
      this.found = this.search.find(state.query, state.order, (id) => state.isShown(id));
      this.active = 0;
      this.box.scrollTop = 0;
      this.inner.style.height = `${this.found.length * ROW}px`;
      const where = state.group === null ? "" : ` of the group ${state.level.groups[state.group]!.name}`;
      this.status.textContent = (this.found.length === 0 ? "Nothing found" : counted(this.found.length, "cluster")) + where;
    }
    if (state.selected !== null && state.selected !== this.opened) {
      const row = this.found.indexOf(state.selected);
      if (row >= 0) this.activate(row);
    }
    this.opened = state.selected;
    this.draw();
  }

  /** Moves the keyboard focus to a row and scrolls it into view. */
  private activate(row: number): void {
    this.active = row;
    const top = row * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
  }

  private draw(): void {
    const { state } = this;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.min(this.found.length, first + Math.ceil(this.box.clientHeight / ROW) + 2 * SPARE);
    const rows = this.found.slice(first, last).map((id, offset) => {
      const row = first + offset;
      const cluster = state.data.clusters[id]!;
      const classes = ["row", row === this.active && "active", id === state.hovered && "hovered"];
      return el(
        "div",
        {
          class: classes.filter(Boolean).join(" "),
          role: "option",
          id: `row-${id}`,
          "data-id": id,
          "aria-selected": String(id === state.selected),
          "aria-posinset": row + 1,
          "aria-setsize": this.found.length,
          style: `top:${row * ROW}px`,
        },
        el("span", { class: "name", dir: "auto" }, clusterName(state.data, id)),
        el("span", { class: "facts" }, `${counted(cluster.size, "document")} · cohesion ${cluster.cohesion.toFixed(2)}${cluster.heap ? " · heap" : ""} · #${id}`),
      );
    });
    this.inner.replaceChildren(...rows);
    const active = this.found[this.active];
    if (active === undefined) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `row-${active}`);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") {
      const id = this.found[this.active];
      if (id !== undefined) this.open(id);
    } else if (event.key in steps) {
      this.activate(Math.max(0, Math.min(this.found.length - 1, this.active + steps[event.key]!)));
      this.draw();
    } else return;
    event.preventDefault();
  }
}
