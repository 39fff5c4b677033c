import type { Colours } from "./colouring";
import { sparkline } from "./charts";
import { css } from "./colours";
import { byId, count, counted, el } from "./dom";
import { clusterName } from "./groups";
import { PLACES } from "./search";
import type { Order, State, Topic } from "./state";
import { ratioName, type Times } from "./times";

const ROW = 50;
/** Number of rows drawn above and below the visible ones. */
const SPARE = 6;

const ORDERS: Record<Order, string> = { size: "by size", cohesion: "by cohesion", name: "by name", trend: "by rise", share: "by share of filter" };

/** The list of clusters. Only visible rows exist, so that thousands of clusters stay fast. */
export class List {
  private found: number[] = [];
  /** The row with the keyboard focus. */
  private active = 0;
  private readonly box = byId("list");
  private readonly inner = byId("rows");
  private readonly status = byId("found");
  private readonly order = byId<HTMLSelectElement>("order");
  private opened: number | null = null;

  constructor(
    private readonly state: State,
    private readonly colours: Colours,
    private readonly times: Times | null,
    private readonly open: (id: number) => void,
  ) {
    const orders = (Object.keys(ORDERS) as Order[]).filter((order) => order !== "trend" || times);
    this.order.append(...orders.map((order) => el("option", { value: order }, ORDERS[order])));
    this.order.addEventListener("change", () => state.change((s) => (s.order = this.order.value as Order), "order"));
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.key(event));
    const idOf = (event: Event): number | null => {
      const row = (event.target as Element).closest<HTMLElement>("[data-id]");
      return row ? Number(row.dataset["id"]) : null;
    };
    this.inner.addEventListener("click", (event) => {
      const id = idOf(event);
      if (id !== null) this.open(id);
    });
    const hover = (id: number | null) => id !== state.hovered && state.change((s) => (s.hovered = id), "hover");
    this.inner.addEventListener("mousemove", (event) => hover(idOf(event)));
    this.inner.addEventListener("mouseleave", () => hover(null));
    new ResizeObserver(() => this.draw()).observe(this.box);
    state.follow((topics) => this.update(topics));
    this.update(new Set<Topic>(["order"]));
  }

  private update(topics: Set<Topic>): void {
    const { state } = this;
    if (["order", "filter", "search", "select", "points"].some((topic) => topics.has(topic as Topic))) this.refind(topics);
    if (topics.has("select") && state.cluster !== null && state.cluster !== this.opened) {
      const row = this.found.indexOf(state.cluster);
      if (row >= 0) this.activate(row);
    }
    this.opened = state.cluster;
    this.draw();
  }

  private refind(topics: Set<Topic>): void {
    const { state } = this;
    const before = this.found;
    this.found = this.find();
    const isSame = before.length === this.found.length && before.every((id, row) => id === this.found[row]);
    if (!isSame) {
      this.active = 0;
      this.box.scrollTop = 0;
      this.inner.style.height = `${this.found.length * ROW}px`;
    }
    const share = this.order.querySelector<HTMLOptionElement>('[value="share"]')!;
    share.disabled = !state.filtered.isActive;
    if (topics.has("filter") && share.disabled && state.order === "share") state.order = "size";
    this.order.value = state.order;
    this.status.textContent = (this.found.length === 0 ? "Nothing found" : counted(this.found.length, "cluster")) + this.where();
  }

  private where(): string {
    const { selection, tree } = this.state;
    if (selection?.kind === "group") return ` of the group ${tree.name(selection.node)}`;
    return selection?.kind === "word" ? ` with “${selection.term}”` : "";
  }

  /** The clusters of the list, in order: without empty and hidden ones. */
  find(): number[] {
    const { state } = this;
    const { clusters } = state.data;
    const { byCluster } = state.filtered;
    const found = clusters.flatMap((cluster, id) => (cluster.size > 0 && state.isLit(id) ? [id] : []));
    const share = (id: number) => byCluster[id]! / (clusters[id]!.size + 10);
    const by: Record<Order, (a: number, b: number) => number> = {
      size: (a, b) => byCluster[b]! - byCluster[a]!,
      cohesion: (a, b) => clusters[b]!.cohesion - clusters[a]!.cohesion,
      name: (a, b) => clusterName(state.data, a).localeCompare(clusterName(state.data, b)),
      trend: (a, b) => (this.times?.trends[b]!.certainty ?? 0) - (this.times?.trends[a]!.certainty ?? 0),
      share: (a, b) => share(b) - share(a),
    };
    const { hits } = state;
    const rank = (id: number) => {
      const match = hits!.clusters.get(id)!;
      return Math.min(PLACES.indexOf(match.place), 3);
    };
    // The best place first, then the most documents found.
    const relevance = (a: number, b: number) => (hits ? rank(a) - rank(b) || hits.clusters.get(b)!.documents - hits.clusters.get(a)!.documents : 0);
    return found.sort((a, b) => relevance(a, b) || by[state.order](a, b) || a - b);
  }

  /** Moves the keyboard focus to a row and scrolls it into view. */
  private activate(row: number): void {
    this.active = row;
    const top = row * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.min(this.found.length, first + Math.ceil(this.box.clientHeight / ROW) + 2 * SPARE);
    this.inner.replaceChildren(...this.found.slice(first, last).map((id, offset) => this.row(id, first + offset)));
    const active = this.found[this.active];
    if (active === undefined) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `row-${active}`);
  }

  private row(id: number, row: number): HTMLElement {
    const { state } = this;
    const classes = ["row", row === this.active && "active", id === state.hovered && "hovered"];
    return el(
      "div",
      {
        class: classes.filter(Boolean).join(" "),
        role: "option",
        id: `row-${id}`,
        "data-id": id,
        "aria-selected": String(id === state.cluster),
        "aria-posinset": row + 1,
        "aria-setsize": this.found.length,
        style: `top:${row * ROW}px`,
      },
      el("span", { class: "dot", style: `background:${css(this.colours.ofCluster(id))}` }),
      el("span", { class: "words" }, el("span", { class: "name", dir: "auto" }, clusterName(state.data, id)), el("span", { class: "line" }, el("span", { class: "facts" }, this.facts(id)), this.times && sparkline(this.times.series(id)))),
    );
  }

  private facts(id: number): string {
    const { state } = this;
    const cluster = state.data.clusters[id]!;
    const match = state.hits?.clusters.get(id);
    const facts: string[] = [];
    if (match) {
      if (match.documents > 0) facts.push(`${count(match.documents)} found`);
      if (match.why !== "") facts.push(match.why);
    }
    const { filtered } = state;
    if (filtered.isActive) facts.push(`${filtered.basis === "sample" ? "about " : ""}${count(filtered.byCluster[id]!)} of ${count(cluster.size)}`);
    else facts.push(counted(cluster.size, "document"));
    if (!match && !filtered.isActive) {
      if (state.order === "trend" && this.times) facts.push(`${ratioName(this.times.trends[id]!.ratio)} since ${this.times.since}`);
      else if (state.order === "cohesion" || !this.times) facts.push(`cohesion ${cluster.cohesion.toFixed(2)}`);
    }
    if (cluster.heap) facts.push("heap");
    return [...facts, `#${id}`].join(" · ");
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
