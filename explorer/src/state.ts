import { Tree, type Level } from "./groups";
import type { ReportData } from "./types";

export type Colouring = "cohesion" | "group";
export type Order = "size" | "cohesion" | "name";

/** The view state: one object, changed in one place, observed by all parts. */
export class State {
  readonly tree: Tree;
  level: Level;
  selected: number | null = null;
  hovered: number | null = null;
  /** The selected group, if only one is shown. */
  group: number | null = null;
  colouring: Colouring = "group";
  isColouringChosen = false;
  order: Order = "size";
  query = "";
  private readonly listeners: (() => void)[] = [];

  constructor(readonly data: ReportData) {
    this.tree = new Tree(data);
    this.level = this.tree.cut(data.nGroups);
    this.colour();
  }

  /** Until the user chooses: by group, unless there is one, whose colour says nothing. */
  private colour(): void {
    if (!this.isColouringChosen) this.colouring = this.level.groups.length > 1 ? "group" : "cohesion";
  }

  follow(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(change: (state: State) => void): void {
    change(this);
    for (const listener of this.listeners) listener();
  }

  /** Changes the level of the tree. */
  regroup(nGroups: number): void {
    this.change((state) => {
      state.level = state.tree.cut(nGroups);
      state.group = null;
      state.colour();
    });
  }

  isShown(id: number): boolean {
    return this.group === null || this.level.ofCluster[id] === this.group;
  }
}

/** The address names the open cluster, so that it can be shared. */
export function readAddress(hash: string, nClusters: number): number | null {
  const found = /^#cluster=(\d{1,9})$/.exec(hash);
  const id = found ? Number(found[1]) : NaN;
  return Number.isInteger(id) && id < nClusters ? id : null;
}

export function address(selected: number | null): string {
  return selected === null ? "#" : `#cluster=${selected}`;
}
