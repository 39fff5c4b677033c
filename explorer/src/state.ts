import { filter, readBrush, writeBrush, type Brush, type Brushes, type Filtered } from "./filter";
import { Tree, type Level } from "./groups";
import type { Points } from "./points";
import type { Hits } from "./search";
import type { ReportData } from "./types";

/** How the map is coloured: or the position of a column. */
export type Colouring = "cohesion" | "group" | number;
export type Order = "size" | "cohesion" | "name" | "trend" | "share";

/** What the panel shows. */
export type Selection = { kind: "cluster"; id: number } | { kind: "group"; node: number } | { kind: "word"; term: string } | null;

/** What a change was about. */
export type Topic = "select" | "hover" | "filter" | "search" | "level" | "colour" | "points" | "order" | "theme";

/** The view state: one object, changed in one place, observed by all parts. */
export class State {
  readonly tree: Tree;
  level: Level;
  selection: Selection = null;
  /** The cluster under the pointer. */
  hovered: number | null = null;
  colouring: Colouring = "group";
  isColouringChosen = false;
  order: Order = "size";
  query = "";
  /** What the search box found; null without a query. */
  hits: Hits | null = null;
  points: Points | null = null;
  brushes: Brushes = new Map();
  filtered: Filtered;
  /** The clusters of the selected group or with the selected word; null if neither is selected. */
  scope: Set<number> | null = null;
  private readonly listeners: ((topics: Set<Topic>) => void)[] = [];

  constructor(readonly data: ReportData) {
    this.tree = new Tree(data);
    this.level = this.tree.cut(data.nGroups);
    this.filtered = filter(data, null, this.brushes);
    this.colour();
  }

  /** Until the user chooses: by group, unless there is one, whose colour says nothing. */
  private colour(): void {
    if (!this.isColouringChosen) this.colouring = this.level.groups.length > 1 ? "group" : "cohesion";
  }

  follow(listener: (topics: Set<Topic>) => void): void {
    this.listeners.push(listener);
  }

  /** Changes something and says what. */
  change(change: (state: State) => void, ...topics: Topic[]): void {
    change(this);
    const told = new Set(topics);
    if (told.has("select")) this.scope = this.scopeOf(this.selection);
    if (told.has("filter") || told.has("points")) this.filtered = filter(this.data, this.points, this.brushes);
    for (const listener of this.listeners) listener(told);
  }

  /** Changes the level of the tree. */
  regroup(nGroups: number): void {
    this.change(
      (state) => {
        state.level = state.tree.cut(nGroups);
        state.colour();
      },
      "level",
      "colour",
    );
  }

  /** Chooses bins of a column, or removes its filter. */
  brush(column: number, brush: Brush | null): void {
    // Counts by cluster say nothing about two columns together.
    const brushes = new Map(this.points ? this.brushes : []);
    if (brush && brush.length > 0) brushes.set(column, brush);
    else brushes.delete(column);
    this.change((state) => (state.brushes = brushes), "filter");
  }

  get cluster(): number | null {
    return this.selection?.kind === "cluster" ? this.selection.id : null;
  }

  private scopeOf(selection: Selection): Set<number> | null {
    if (selection?.kind === "group") return new Set(this.tree.clusters(selection.node));
    if (selection?.kind !== "word") return null;
    return new Set(this.data.clusters.flatMap((cluster, id) => (cluster.keywords.some(([term]) => term === selection.term) ? [id] : [])));
  }

  /** Whether a cluster is among those of the selected group or word, and is not hidden. */
  isShown(id: number): boolean {
    return !this.data.clusters[id]!.hidden && (this.scope === null || this.scope.has(id));
  }

  /** Whether nothing takes the attention from a cluster: neither search nor filter nor group. */
  isLit(id: number): boolean {
    return this.isShown(id) && (!this.hits || this.hits.clusters.has(id)) && (!this.filtered.isActive || this.filtered.byCluster[id]! > 0);
  }
}

/** What an address holds. */
export interface Address {
  selection: Selection;
  query: string;
  nGroups: number | null;
  colouring: Colouring | null;
  brushes: Map<number, Brush>;
}

const number = (text: string | null, below: number): number | null => (text !== null && /^\d{1,9}$/.test(text) && Number(text) < below ? Number(text) : null);

/** The part of the address after `#`. What leads nowhere is left out. */
export function readAddress(hash: string, data: ReportData): Address {
  const fields = new URLSearchParams(hash.slice(1));
  const cluster = number(fields.get("cluster"), data.clusters.length);
  const group = number(fields.get("group"), data.clusters.length + data.merges.length);
  const term = fields.get("word");
  const column = number(/^c(\d+)$/.exec(fields.get("colour") ?? "")?.[1] ?? null, data.columns.length);
  const colour = fields.get("colour");
  return {
    selection:
      cluster !== null ? { kind: "cluster", id: cluster } : group !== null ? { kind: "group", node: group } : term ? { kind: "word", term } : null,
    query: (fields.get("q") ?? "").slice(0, 200),
    nGroups: number(fields.get("groups"), 1_000_000),
    colouring: column !== null && data.columns[column]!.bins ? column : colour === "cohesion" || colour === "group" ? colour : null,
    brushes: new Map(fields.getAll("filter").flatMap((text) => [readBrush(text, data)].filter((brush) => brush !== null))),
  };
}

/** The address of a selection, with all else as it is. */
export function address(selection: Selection, state: State): string {
  const fields: string[] = [];
  const add = (name: string, value: string | number) => fields.push(`${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",")}`);
  if (selection?.kind === "cluster") add("cluster", selection.id);
  if (selection?.kind === "group") add("group", selection.node);
  if (selection?.kind === "word") add("word", selection.term);
  if (state.query.trim() !== "") add("q", state.query);
  for (const [column, brush] of state.brushes) add("filter", writeBrush(column, brush));
  if (state.level.groups.length !== state.tree.nDefault) add("groups", state.level.groups.length);
  if (state.isColouringChosen) add("colour", typeof state.colouring === "number" ? `c${state.colouring}` : state.colouring);
  return `#${fields.join("&")}`;
}

export const toCluster = (id: number, state: State): string => address({ kind: "cluster", id }, state);
