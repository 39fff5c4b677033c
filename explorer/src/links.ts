import { css } from "./colours";
import type { Colours } from "./colouring";
import { el } from "./dom";
import { clusterName } from "./groups";
import type { Selection, State } from "./state";

/**
 * Links within the page. Their addresses name only where they lead; a click keeps search, filters
 * and colours (`main.ts`).
 */
export function hrefOf(selection: Selection): string {
  if (selection?.kind === "cluster") return `#cluster=${selection.id}`;
  if (selection?.kind === "group") return `#group=${selection.node}`;
  return selection ? `#word=${encodeURIComponent(selection.term)}` : "#";
}

export function clusterLink(state: State, id: number): HTMLElement {
  return el("a", { href: hrefOf({ kind: "cluster", id }), dir: "auto" }, clusterName(state.data, id));
}

/** A group, or the cluster that it consists of. */
export function nodeLink(state: State, node: number): HTMLElement {
  const { tree } = state;
  return tree.isCluster(node) ? clusterLink(state, node) : el("a", { href: hrefOf({ kind: "group", node }), dir: "auto" }, tree.name(node));
}

/** A keyword: where else it is one. */
export function wordLink(term: string, written: string | null): HTMLElement {
  return el("a", { class: "term", href: hrefOf({ kind: "word", term }), dir: "auto" }, written ?? term);
}

/** The colour of a cluster beside its name. */
export function swatch(colours: Colours, id: number): HTMLElement {
  return el("span", { class: "swatch", "data-cluster": id, style: `background:${css(colours.ofCluster(id))}` });
}

/** A bar as wide as a share. */
export function track(share: number): HTMLElement {
  return el("span", { class: "track" }, el("span", { class: "fill", style: `width:${Math.min(100, 100 * share).toFixed(2)}%` }));
}
