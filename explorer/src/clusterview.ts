import { bars, type Bar } from "./charts";
import { columnCharts } from "./columncharts";
import { DocumentBrowser, documentList } from "./documents";
import { count, counted, el, percent, section, type Child } from "./dom";
import { editor } from "./editor";
import { clusterName } from "./groups";
import { clusterLink, hrefOf, track, wordLink } from "./links";
import type { State } from "./state";
import { ratioName } from "./times";
import type { Cluster, Keyword } from "./types";
import type { Setting, View } from "./view";

/** Keywords that two clusters share, as told. */
const SHARED = 6;

/** An open cluster: why its documents are together, what they say, and what lies near. */
export function clusterView(setting: Setting, id: number): View {
  const { state, times } = setting;
  const { data } = state;
  const cluster = data.clusters[id]!;
  const inGroup = el("span", {});
  const browser = data.served && cluster.size > 0 ? new DocumentBrowser(state, id) : null;
  const trend = times?.trends[id];
  const isNotable = times && trend && Math.abs(trend.certainty) > 4;
  const element = el(
    "article",
    {},
    el("p", { class: "back" }, el("a", { href: hrefOf(null) }, "← Overview")),
    el("h2", { tabindex: -1, dir: "auto" }, clusterName(data, id)),
    el("p", { class: "facts" }, `cluster ${id} · ${counted(cluster.size, "document")} · ${percent(cluster.size / Math.max(1, data.totals.documents))} · cohesion ${cluster.cohesion.toFixed(3)}${cluster.silhouette === undefined ? "" : ` · silhouette ${cluster.silhouette.toFixed(3)}`}`),
    el("p", { class: "facts" }, inGroup),
    cluster.renamed !== undefined && el("p", { class: "facts" }, "renamed from ", el("bdi", {}, cluster.renamed)),
    cluster.hidden && el("p", { class: "facts" }, "Hidden: not in the list, and not on the map."),
    cluster.note !== undefined && el("p", { class: "note", dir: "auto" }, cluster.note),
    cluster.heap && el("p", { class: "facts" }, "A heap: its documents have little in common. Its cohesion is far below that of most clusters."),
    isNotable && el("p", { class: "facts" }, `${ratioName(trend.ratio)} since ${times.since}: its share of those documents, compared with its share before.`),
    ...parts(setting, id, cluster),
    section("All documents", browser?.element),
    editor(state, id),
  );
  const nameGroup = () => inGroup.replaceChildren(...groupOf(state, id));
  nameGroup();
  return {
    title: clusterName(data, id),
    element,
    update: (topics) => {
      if (topics.has("level")) nameGroup();
      browser?.update(topics);
    },
  };
}

function parts({ state }: Setting, id: number, cluster: Cluster): Child[] {
  const { data } = state;
  const marks = cluster.keywords.flatMap(([term, , , written]) => (written === null ? [term] : [term, written]));
  const likeness = data.stemmed ? "stems" : "words";
  return [
    section(cluster.keywords.some(hasShare) ? "Keywords: share of documents" : "Keywords", cluster.keywords.length > 0 && keywords(cluster)),
    section("Typical documents", cluster.typical.length > 0 && documentList(cluster.typical, marks, likeness)),
    ...columnCharts(data, data.columns.map((column) => column.bins?.clusters[id] ?? []), "this cluster"),
    section("Nearest clusters, and keywords of both", cluster.near.length > 0 && near(state, cluster)),
    section("Least typical documents", cluster.least.length > 0 && documentList(cluster.least, marks, likeness)),
    section("How alike: documents by similarity to the centroid", cluster.histogram.length > 0 && cluster.size > 0 && bars("Documents by similarity to the centroid", similaritySteps(cluster.histogram), ["0", "1"]), el("p", { class: "facts" }, spread(cluster))),
  ];
}

/** The group of the open cluster, which depends on the level. */
function groupOf(state: State, id: number): (Node | string)[] {
  const { level } = state;
  const group = level.groups[level.ofCluster[id]!];
  if (!group || level.groups.length < 2 || group.nClusters < 2) return [];
  return ["in the group ", el("a", { href: hrefOf({ kind: "group", node: group.node }), dir: "auto" }, group.name)];
}

export const hasShare = (keyword: Keyword): boolean => keyword[4] !== null;

/** Bars as wide as the shares of documents that have a keyword; of older results, as the weights. */
function keywords(cluster: Cluster): HTMLElement {
  const hasShares = cluster.keywords.some(hasShare);
  const value = ([, weight, score, , share]: Keyword) => (hasShares ? (share ?? 0) : (weight ?? score));
  const most = hasShares ? 1 : Math.max(...cluster.keywords.map(value), 1e-9);
  return el(
    "ul",
    { class: "keywords" },
    ...cluster.keywords.map((keyword) => {
      const [term, weight, score, written, share] = keyword;
      const documents = share === null ? "" : `, in ${percent(share)} of the documents`;
      return el(
        "li",
        { title: `${weight === null ? "" : `weight ${weight.toFixed(3)}, `}score ${score.toFixed(3)}${documents}` },
        wordLink(term, written),
        track(value(keyword) / most),
        el("span", { class: "number" }, hasShares ? (share === null ? "" : percent(share)) : value(keyword).toFixed(2)),
      );
    }),
  );
}

function near(state: State, cluster: Cluster): HTMLElement {
  const { data } = state;
  const own = new Set(cluster.keywords.map(([term]) => term));
  const items = cluster.near.map(([other, similarity]) => {
    const shared = data.clusters[other]!.keywords.filter(([term]) => own.has(term)).slice(0, SHARED);
    const words = shared.flatMap(([term, , , written], at) => [at > 0 ? ", " : null, wordLink(term, written)]);
    return el(
      "li",
      {},
      clusterLink(state, other),
      el("span", { class: "number" }, ` ${similarity.toFixed(2)}`),
      el("p", { class: "facts" }, ...(words.length > 0 ? words : ["no keyword in common"])),
    );
  });
  return el("ul", { class: "near" }, ...items);
}

function similaritySteps(histogram: number[]): Bar[] {
  return histogram.map((n, step) => {
    const [from, to] = [step / histogram.length, (step + 1) / histogram.length];
    return { count: n, title: `${from.toFixed(2)} to ${to.toFixed(2)}: ${counted(n, "document")}` };
  });
}

/** Between which similarities the middle half of the documents lies, by whole bins. */
function spread({ histogram }: Cluster): string | null {
  const total = histogram.reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let sum = 0;
    return histogram.findIndex((n) => (sum += n) >= share * total);
  };
  const [low, high] = [at(0.25) / histogram.length, (at(0.75) + 1) / histogram.length];
  return `At least half of the ${count(total)} documents lie between ${low.toFixed(2)} and ${high.toFixed(2)}.`;
}
