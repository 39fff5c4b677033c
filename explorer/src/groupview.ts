import { columnCharts, pairsOf } from "./columncharts";
import { count, counted, el, percent, section } from "./dom";
import { hrefOf, nodeLink, swatch, track, wordLink } from "./links";
import { recolour } from "./overview";
import type { State } from "./state";
import type { Setting, View } from "./view";

/** Parts of a group that are shown, and its keywords. */
const PARTS = 8;
const WORDS = 14;

/** A group of clusters: its parts, and the words that they have in common. */
export function groupView(setting: Setting, node: number): View {
  const { state, colours } = setting;
  const { data, tree } = state;
  const clusters = tree.clusters(node);
  const size = tree.size(node);
  const parent = data.merges.findIndex(([left, right]) => left === node || right === node);
  const above = parent >= 0 ? data.clusters.length + parent : null;
  const parts = tree.isCluster(node) ? [node] : tree.parts(node, PARTS);
  const list = parts.map((part) =>
    el(
      "li",
      { class: "theme" },
      el("div", { class: "theme-name" }, swatch(colours, tree.clusters(part)[0] ?? part), nodeLink(state, part), el("span", { class: "number" }, percent(tree.size(part) / (size || 1)))),
      track(tree.size(part) / (size || 1)),
      el("p", { class: "facts" }, `${counted(tree.size(part), "document")}${tree.isCluster(part) ? "" : ` in ${counted(tree.nClusters(part), "cluster")}`}`),
    ),
  );
  const isBelow = above !== null && above !== data.clusters.length + data.merges.length - 1;
  const element = el(
    "article",
    {},
    el("p", { class: "back" }, el("a", { href: hrefOf(null) }, "← Overview"), isBelow && " · within ", isBelow && nodeLink(state, above)),
    el("h2", { tabindex: -1, dir: "auto" }, tree.name(node)),
    el("p", { class: "facts" }, `group of ${counted(clusters.length, "cluster")} · ${counted(size, "document")} · ${percent(size / Math.max(1, data.totals.documents))}`),
    section("Parts, largest first", el("ol", { class: "themes" }, ...list)),
    section("Keywords of its clusters: share of documents, at least", words(state, clusters, size)),
    ...columnCharts(data, pairsOf(data, clusters), "this group"),
  );
  return { title: tree.name(node), element, update: (topics) => (topics.has("colour") || topics.has("theme")) && recolour(setting, element) };
}

/** The keywords that most documents of the group have, as far as their clusters list them. */
function words(state: State, clusters: number[], size: number): HTMLElement | null {
  const known = new Map<string, { written: string | null; documents: number; clusters: number }>();
  for (const id of clusters) {
    const cluster = state.data.clusters[id]!;
    for (const [term, , , written, share] of cluster.keywords) {
      const entry = known.get(term) ?? { written, documents: 0, clusters: 0 };
      entry.documents += (share ?? 0) * cluster.size;
      entry.clusters += 1;
      known.set(term, entry);
    }
  }
  const top = [...known].sort((a, b) => b[1].documents - a[1].documents || b[1].clusters - a[1].clusters).slice(0, WORDS);
  if (top.length === 0) return null;
  return el(
    "ul",
    { class: "keywords" },
    ...top.map(([term, { written, documents, clusters: n }]) =>
      el("li", { title: `keyword of ${counted(n, "cluster")}, in about ${count(documents)} documents of them` }, wordLink(term, written), track(documents / (size || 1)), el("span", { class: "number" }, documents > 0 ? percent(documents / (size || 1)) : "")),
    ),
  );
}
