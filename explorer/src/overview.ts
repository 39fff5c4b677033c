import { bars, line, type Bar } from "./charts";
import { count, counted, el, percent, section } from "./dom";
import { clusterLink, nodeLink, swatch, track } from "./links";
import type { State, Topic } from "./state";
import { ratioName, type Trend } from "./times";
import type { Cluster } from "./types";
import type { Setting, View } from "./view";

/** Groups listed, clusters named for each, and changed clusters. */
const THEMES = 40;
const EXAMPLES = 3;
const CHANGED = 5;

/** What the corpus is about. */
export function overview(setting: Setting): View {
  const { state } = setting;
  const list = el("div", {});
  const show = () => list.replaceChildren(section(titleOf(state), themes(setting)) as HTMLElement);
  show();
  const element = el(
    "article",
    { class: "overview" },
    el("h2", { tabindex: -1 }, "Overview"),
    el("p", { class: "lead" }, lead(state)),
    list,
    ...changes(setting),
    section("Coverage", ...coverage(state)),
    details(state),
  );
  const update = (topics: Set<Topic>) => {
    if (topics.has("filter") || topics.has("points")) show();
    if (topics.has("colour") || topics.has("theme")) recolour(setting, element);
  };
  return { title: "", element, update };
}

function titleOf({ level, filtered }: State): string {
  const of = filtered.isActive ? " of what the filters leave" : "";
  return level.groups.length > 1 ? `Themes${of}, largest first` : `Largest clusters${of}`;
}

/** Gives the swatches of a view the colours of now. */
export function recolour({ colours }: Setting, element: HTMLElement): void {
  for (const dot of element.querySelectorAll<HTMLElement>("[data-cluster]")) dot.replaceWith(swatch(colours, Number(dot.dataset["cluster"])));
}

function lead(state: State): string {
  const { data, level } = state;
  const n = data.clusters.length - data.totals.emptyClusters;
  const themes = level.groups.length > 1 ? `, joined to ${counted(level.groups.length, "theme")}` : "";
  const point = state.points || data.served ? "Each point of the map is a document: those of a cluster lie together," : "Each disc of the map is a cluster:";
  return `${counted(data.totals.documents, "document")} in ${counted(n, "cluster")}${themes}. ${point} and clusters that use similar words lie near each other.`;
}

function themes(setting: Setting): HTMLElement {
  const { state, colours } = setting;
  const { tree, level } = state;
  const { byCluster, total } = state.filtered;
  const all = total || 1;
  const isGrouped = level.groups.length > 1;
  const sizes = new Map<number, number>();
  const sizeOf = (node: number) => sizes.get(node) ?? sizes.set(node, tree.clusters(node).reduce((sum, id) => sum + byCluster[id]!, 0)).get(node)!;
  const nodes = isGrouped ? level.groups.map((group) => group.node) : state.data.clusters.flatMap((cluster, id) => (cluster.size > 0 && !cluster.hidden ? [id] : []));
  const sorted = nodes.filter((node) => sizeOf(node) > 0).sort((a, b) => sizeOf(b) - sizeOf(a) || a - b);
  const most = sorted.length > 0 ? sizeOf(sorted[0]!) : 1;
  const list = sorted.slice(0, isGrouped ? THEMES : 15).map((node) => {
    const inside = tree.isCluster(node) ? [] : tree.clusters(node).sort((a, b) => byCluster[b]! - byCluster[a]!);
    const examples = inside.slice(0, EXAMPLES).flatMap((id, at) => [at > 0 ? " · " : null, clusterLink(state, id)]);
    const rest = inside.length - EXAMPLES;
    return el(
      "li",
      { class: "theme", "data-size": Math.round(sizeOf(node)) },
      el("div", { class: "theme-name" }, swatch(colours, inside[0] ?? node), nodeLink(state, node), el("span", { class: "number" }, percent(sizeOf(node) / all))),
      track(sizeOf(node) / most),
      inside.length > 1 && el("p", { class: "facts" }, ...examples, rest > 0 && ` and ${count(rest)} more`),
    );
  });
  const more = sorted.length - list.length;
  return el("div", {}, el("ol", { class: "themes" }, ...list), more > 0 && el("p", { class: "facts" }, `${count(more)} more in the list of clusters`));
}

function changes({ state, times }: Setting): (ReturnType<typeof section>)[] {
  if (!times) return [];
  const list = (trends: Trend[]) =>
    trends.length > 0 &&
    el("ul", { class: "changes" }, ...trends.map(({ id, ratio }) => el("li", {}, clusterLink(state, id), el("span", { class: "number" }, ratioName(ratio)))));
  const measure = `Share of the documents since ${times.since}, compared with the share before.`;
  const [rising, falling] = [times.changed("rising", CHANGED), times.changed("falling", CHANGED)];
  return [
    section("Rising", rising.length > 0 && el("p", { class: "facts" }, measure), list(rising)),
    section("Falling", falling.length > 0 && rising.length === 0 && el("p", { class: "facts" }, measure), list(falling)),
  ];
}

function coverage(state: State): HTMLElement[] {
  const { data } = state;
  const { totals } = data;
  const inClusters = data.clusters.reduce((sum, cluster) => sum + cluster.size, 0);
  const outliers = totals.minSimilarity === null ? "share no term with any cluster" : `are less similar than ${totals.minSimilarity} to every cluster`;
  const facts = [`${percent(inClusters / Math.max(1, totals.documents))} of the documents are in a cluster.`];
  if (totals.outliers > 0) facts.push(`${counted(totals.outliers, "outlier")} ${outliers}.`);
  if (totals.withoutTerms > 0) facts.push(`${counted(totals.withoutTerms, "document")} without terms.`);
  const heaps = data.clusters.flatMap((cluster, id) => (cluster.heap && cluster.size > 0 ? [id] : [])).sort((a, b) => data.clusters[b]!.size - data.clusters[a]!.size);
  const hidden = data.clusters.filter((cluster) => cluster.hidden).length;
  if (hidden > 0) facts.push(`${counted(hidden, "cluster")} hidden.`);
  const parts = [el("p", {}, facts.join(" "))];
  if (heaps.length > 0) {
    const some = heaps.slice(0, 6).flatMap((id, at) => [at > 0 ? " · " : null, clusterLink(state, id)]);
    const rest = heaps.length > 6 ? ` and ${heaps.length - 6} more` : "";
    parts.push(el("p", {}, `${counted(heaps.length, "heap")}, whose documents have little in common (dashed outlines): `, ...some, rest));
  }
  return parts;
}

/** How the run went: what the reader of the corpus need not know. */
function details(state: State): HTMLElement {
  const { data } = state;
  const { totals } = data;
  const facts: [string, string][] = [
    ["Documents", count(totals.documents)],
    ["Terms", count(totals.terms)],
    ["Clusters", count(data.clusters.length - totals.emptyClusters)],
    ["Objective", totals.objective.toFixed(1)],
    ["Mean similarity", meanCohesion(data.clusters).toFixed(3)],
    ...(totals.silhouette === null ? [] : [["Mean silhouette, from -1 to 1", totals.silhouette.toFixed(3)] satisfies [string, string]]),
    ["Iterations", `${totals.iterations}, ${totals.converged ? "converged" : "not converged"}`],
    ["Documents without terms", count(totals.withoutTerms)],
    [totals.minSimilarity === null ? "Outliers, which share no term with any cluster" : `Outliers, whose similarity to every cluster is below ${totals.minSimilarity}`, count(totals.outliers)],
    ["Empty clusters", count(totals.emptyClusters)],
    ["Heaps, whose documents have little in common", count(data.clusters.filter((cluster) => cluster.heap).length)],
    ["Seed", totals.seed],
    ["Version", data.version],
  ];
  const sizes = sizeSteps(data.clusters.map((cluster) => cluster.size).filter((size) => size > 0));
  const { objective, moved } = data.trace;
  const one = (value: number) => value.toFixed(1);
  return el(
    "details",
    { class: "part" },
    el("summary", {}, "Details: how the run went, and its settings"),
    table(facts),
    section("Clusters by their number of documents", bars("Clusters by their number of documents", sizes, ["1", `${count(2 ** sizes.length - 1)} documents`])),
    section("Objective by iteration", objective.length > 0 && line(`Objective by iteration: from ${one(objective[0]!)} to ${one(objective.at(-1)!)}`, objective, one)),
    section("Documents that moved, by iteration", moved.length > 0 && line(`Documents that moved, by iteration: from ${count(moved[0]!)} to ${count(moved.at(-1)!)}`, moved, count)),
    section("Settings", data.settings.length > 0 && table(data.settings)),
  );
}

function table(rows: [string, string][]): HTMLElement {
  return el("table", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))));
}

/** The mean similarity of the documents that have a cluster to its centroid. */
function meanCohesion(clusters: Cluster[]): number {
  const total = (of: (cluster: Cluster) => number) => clusters.reduce((sum, cluster) => sum + of(cluster), 0);
  return total((cluster) => cluster.size * cluster.cohesion) / Math.max(1, total((cluster) => cluster.size));
}

/** The number of clusters per range of sizes; each range is twice the previous one. */
function sizeSteps(sizes: number[]): Bar[] {
  const step = (size: number) => Math.floor(Math.log2(size));
  const counts = new Array<number>(sizes.reduce((most, size) => Math.max(most, step(size) + 1), 1)).fill(0);
  for (const size of sizes) counts[step(size)]! += 1;
  return counts.map((n, i) => {
    const range = i === 0 ? "1 document" : `${count(2 ** i)} to ${count(2 ** (i + 1) - 1)} documents`;
    return { count: n, title: `${range}: ${counted(n, "cluster")}` };
  });
}
