import { bars, line, type Bar } from "./charts";
import { DocumentBrowser } from "./documents";
import { byId, count, counted, el } from "./dom";
import { clusterName } from "./groups";
import { marked } from "./marks";
import { address, type State } from "./state";
import type { Cluster, Doc, Keyword } from "./types";

/** The panel beside the map: the open cluster, or an overview of all. */
export class Panel {
  private readonly box = byId("panel");
  private shown: number | null | undefined;
  private readonly groupLine = el("p", { class: "facts" });
  /** Kept, so that the search is unchanged after a return from a cluster. */
  private readonly browser: DocumentBrowser | false;

  constructor(private readonly state: State) {
    this.browser = state.data.served && new DocumentBrowser(state.data, null);
    state.follow(() => this.update());
    this.update();
  }

  private update(): void {
    const { selected } = this.state;
    this.nameGroup();
    if (selected === this.shown) return;
    const isFirst = this.shown === undefined;
    this.shown = selected;
    this.box.replaceChildren(selected === null ? this.overview() : this.cluster(selected));
    this.box.scrollTop = 0;
    document.title = selected === null ? this.state.data.title : `${clusterName(this.state.data, selected)} · ${this.state.data.title}`;
    if (!isFirst) this.box.querySelector<HTMLElement>("h2")?.focus();
  }

  private cluster(id: number): HTMLElement {
    const { data } = this.state;
    const cluster = data.clusters[id]!;
    return el(
      "article",
      {},
      el("p", { class: "back" }, el("a", { href: address(null) }, "← Overview")),
      el("h2", { tabindex: -1, dir: "auto" }, clusterName(data, id)),
      el("p", { class: "facts" }, `cluster ${id} · ${counted(cluster.size, "document")} · cohesion ${cluster.cohesion.toFixed(3)}${cluster.silhouette === undefined ? "" : ` · silhouette ${cluster.silhouette.toFixed(3)}`}`),
      cluster.heap && el("p", { class: "facts" }, "A heap: its documents have little in common. Its cohesion is far below that of most clusters."),
      this.groupLine,
      ...section(cluster.keywords.some(hasShare) ? "Keywords: weight, share of documents" : "Keywords, by weight and contrast", cluster.keywords.length > 0 && keywords(cluster)),
      ...section("Typical documents", cluster.typical.length > 0 && documents(cluster.typical, cluster, data.stemmed)),
      ...section("Least typical documents", cluster.least.length > 0 && documents(cluster.least, cluster, data.stemmed)),
      ...section(
        "Documents by similarity to the centroid",
        cluster.histogram.length > 0 && cluster.size > 0 && bars("Documents by similarity to the centroid", similaritySteps(cluster.histogram), "linear"),
      ),
      ...section(
        "Nearest clusters",
        cluster.near.length > 0 &&
          el(
            "ul",
            { class: "near" },
            ...cluster.near.map(([other, similarity]) =>
              el("li", {}, el("a", { href: address(other) }, clusterName(data, other)), el("span", { class: "facts" }, ` ${similarity.toFixed(2)}`)),
            ),
          ),
      ),
      ...section("All documents", data.served && new DocumentBrowser(data, id).element),
    );
  }

  /** Shows the group of the open cluster, which depends on the level. */
  private nameGroup(): void {
    const { level, selected } = this.state;
    const group = selected === null ? undefined : level.groups[level.ofCluster[selected]!];
    this.groupLine.textContent = group && level.groups.length > 1 ? `in the group ${group.name}` : "";
  }

  private overview(): HTMLElement {
    const { data } = this.state;
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
    const sizes = data.clusters.map((cluster) => cluster.size).filter((size) => size > 0);
    const { objective, moved } = data.trace;
    return el(
      "article",
      {},
      el("h2", { tabindex: -1 }, "Overview"),
      ...section("Search", this.browser && this.browser.element),
      table(facts),
      ...section("Objective by iteration", objective.length > 0 && line(`Objective by iteration: from ${objective[0]!.toFixed(1)} to ${objective.at(-1)!.toFixed(1)}`, objective, (i) => `iteration ${i}: ${objective[i]!.toFixed(1)}`)),
      ...section("Documents that moved, by iteration", moved.length > 0 && line(`Documents that moved, by iteration: from ${count(moved[0]!)} to ${count(moved.at(-1)!)}`, moved, (i) => `iteration ${i}: ${counted(moved[i]!, "document")}`)),
      ...section("Clusters by their number of documents", bars("Clusters by their number of documents", sizeSteps(sizes), "log")),
      ...section("Settings", data.settings.length > 0 && table(data.settings)),
    );
  }
}

/** A heading with its content, or nothing if there is none. */
function section(title: string, content: Element | false): (Element | false)[] {
  return content ? [el("h3", {}, title), content] : [];
}

function table(rows: [string, string][]): HTMLElement {
  return el("table", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))));
}

/** The mean similarity of the documents that have a cluster to its centroid. */
function meanCohesion(clusters: Cluster[]): number {
  const total = (of: (cluster: Cluster) => number) => clusters.reduce((sum, cluster) => sum + of(cluster), 0);
  return total((cluster) => cluster.size * cluster.cohesion) / Math.max(1, total((cluster) => cluster.size));
}

const hasShare = (keyword: Keyword) => keyword[4] !== null;

/** A share in whole percent; a small one is never shown as nothing. */
function percent(share: number): string {
  return share > 0 && share < 0.01 ? "<1%" : `${Math.round(100 * share)}%`;
}

/** Bars as wide as the weights, with the numbers and the shares of documents beside them. */
function keywords(cluster: Cluster): HTMLElement {
  const hasShares = cluster.keywords.some(hasShare);
  const value = ([, weight, score]: Keyword) => weight ?? score;
  const most = Math.max(...cluster.keywords.map(value), 1e-9);
  return el(
    "ul",
    { class: hasShares ? "keywords shares" : "keywords" },
    ...cluster.keywords.map((keyword) => {
      const [term, weight, score, written, share] = keyword;
      const documents = share === null ? "" : `, in ${percent(share)} of the documents`;
      return el(
        "li",
        { title: `${weight === null ? "" : `weight ${weight.toFixed(3)}, `}score ${score.toFixed(3)}${documents}` },
        el("span", { class: "term", dir: "auto" }, written ?? term),
        el("span", { class: "track" }, el("span", { class: "fill", style: `width:${(100 * value(keyword)) / most}%` })),
        el("span", { class: "number" }, value(keyword).toFixed(2)),
        hasShares && el("span", { class: "number" }, share === null ? "" : percent(share)),
      );
    }),
  );
}

function documents(docs: Doc[], cluster: Cluster, stemmed: boolean): HTMLElement {
  // A stem need not begin the word: "puppi" and "puppy".
  const terms = cluster.keywords.flatMap(([term, , , written]) => (written === null ? [term] : [term, written]));
  return el(
    "ol",
    { class: "documents" },
    ...docs.map((doc) => {
      const text = el("p", { class: "text", dir: "auto" });
      if (doc.text !== undefined) text.append(marked(doc.text, terms, stemmed ? "stems" : "words"));
      return el("li", {}, el("span", { class: "facts" }, el("bdi", {}, doc.id), ` · ${doc.similarity.toFixed(3)}${doc.duplicates === undefined ? "" : ` · and ${counted(doc.duplicates, "near-duplicate")}`}`), doc.text !== undefined && text);
    }),
  );
}

function similaritySteps(histogram: number[]): Bar[] {
  return histogram.map((n, step) => {
    const [from, to] = [step / histogram.length, (step + 1) / histogram.length];
    return { from, to, count: n, title: `${from.toFixed(2)} to ${to.toFixed(2)}: ${counted(n, "document")}` };
  });
}

/** The number of clusters per range of sizes; each range is twice the previous one. */
function sizeSteps(sizes: number[]): Bar[] {
  const step = (size: number) => Math.floor(Math.log2(size));
  const counts = new Array<number>(sizes.reduce((most, size) => Math.max(most, step(size) + 1), 1)).fill(0);
  for (const size of sizes) counts[step(size)]! += 1;
  return counts.map((n, i) => {
    const [from, to] = [2 ** i, 2 ** (i + 1)];
    const range = i === 0 ? "1 document" : `${count(from)} to ${count(to - 1)} documents`;
    return { from, to, count: n, title: `${range}: ${counted(n, "cluster")}` };
  });
}
