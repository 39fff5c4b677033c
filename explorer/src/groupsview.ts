import { groupColour, type Theme } from "./colours";
import { byId, count, counted, el } from "./dom";
import { clusterName, type Group } from "./groups";
import { address, type State } from "./state";

/** Number of parts that an opened group shows. */
const PARTS = 6;

/** The maximum number of groups that people can distinguish. */
const MAX_GROUPS = 200;

/** Shown in place of a single group: by default there is one if clusters have no groups. */
const NO_GROUPS = "No groups: all clusters differ about equally from each other, or one group was chosen. Move the slider to group them.";

/**
 * The groups of the selected level: a legend for the map, a filter, and a tree down to the
 * clusters.
 */
export class GroupsView {
  private readonly box = byId("groups");
  private readonly slider = byId<HTMLInputElement>("level");
  private readonly number = byId("level-number");
  private readonly all = byId("all-groups");
  private shown: unknown;

  constructor(
    private readonly state: State,
    private readonly theme: () => Theme,
  ) {
    const { tree } = state;
    this.slider.max = String(Math.min(tree.nLeaves, Math.max(MAX_GROUPS, state.level.groups.length)));
    this.slider.value = String(state.level.groups.length);
    this.slider.disabled = !tree.hasMerges;
    this.slider.addEventListener("input", () => state.regroup(Number(this.slider.value)));
    this.all.addEventListener("click", () => state.change((s) => (s.group = null)));
    state.follow(() => this.update());
    this.draw();
  }

  /** Called when colours have changed. */
  recolour(): void {
    for (const swatch of this.box.querySelectorAll<HTMLElement>("[data-colour]")) {
      swatch.style.background = groupColour(Number(swatch.dataset["colour"]), this.theme());
    }
  }

  /** Called when the level has changed. */
  private draw(): void {
    const { state } = this;
    this.shown = state.level;
    this.number.textContent = String(state.level.groups.length);
    const groups = [...state.level.groups].sort((a, b) => b.size - a.size || a.id - b.id);
    const isOne = state.tree.hasMerges && groups.length === 1;
    this.box.replaceChildren(...(isOne ? [el("p", { class: "leaf" }, NO_GROUPS)] : groups.map((group) => this.group(group))));
    this.update();
  }

  private update(): void {
    const { state } = this;
    if (this.shown !== state.level) this.draw();
    this.all.hidden = state.group === null;
    for (const button of this.box.querySelectorAll<HTMLElement>("[data-group]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset["group"]) === state.group));
    }
  }

  private group(group: Group): HTMLElement {
    const { state } = this;
    const only = () => state.change((s) => (s.group = s.group === group.id ? null : group.id));
    const button = el("button", { type: "button", class: "only", "data-group": group.id, "aria-pressed": "false", "aria-label": `Show only ${group.name}`, click: only }, "only");
    const swatch = el("span", { class: "swatch", "data-colour": group.id, style: `background:${groupColour(group.id, this.theme())}` });
    if (!state.tree.hasMerges && group.nClusters > 1) return el("p", { class: "leaf" }, "Too many clusters for groups");
    return el("div", { class: "group" }, this.node(group.node, group.name, swatch), button);
  }

  /** A group that can be opened, or a cluster. Contents are created when it is first opened. */
  private node(node: number, name: string, swatch?: HTMLElement): HTMLElement {
    const { state } = this;
    const { tree } = state;
    if (tree.isCluster(node)) {
      return el("p", { class: "leaf" }, swatch, el("a", { href: address(node) }, clusterName(state.data, node)), el("span", { class: "facts" }, ` ${count(tree.size(node))}`));
    }
    const facts = ` ${count(tree.size(node))} in ${counted(tree.nClusters(node), "cluster")}`;
    const details = el("details", {}, el("summary", {}, swatch, name, el("span", { class: "facts" }, facts)));
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      details.append(...tree.parts(node, PARTS).map((part) => this.node(part, tree.name(part))));
    });
    return details;
  }
}
