import { DocumentBrowser } from "./documents";
import { count, counted, el, section } from "./dom";
import { clusterLink, hrefOf, swatch } from "./links";
import { marked, wordsOf } from "./marks";
import { PLACES, type Hits, type Match } from "./search";
import type { State } from "./state";
import type { Setting, View } from "./view";

/** Clusters and documents of the sample that are shown. */
const CLUSTERS = 12;
const SAMPLED = 40;

/** What the search box found: clusters with the reason, then documents. */
export function searchView(setting: Setting): View {
  const { state } = setting;
  const heading = el("h2", { tabindex: -1, dir: "auto" });
  const about = el("p", { class: "facts", role: "status" });
  const clusters = el("div", {});
  const sampled = el("div", {});
  const browser = state.data.served ? new DocumentBrowser(state, null) : null;
  const show = () => {
    heading.textContent = `Search: ${state.query.trim()}`;
    about.textContent = state.hits ? facts(state.hits, state.data.served) : "";
    clusters.replaceChildren(...(state.hits ? foundClusters(setting, state.hits) : []));
    if (!browser) sampled.replaceChildren(...(state.hits?.points ? foundTitles(state, state.hits) : []));
  };
  show();
  const element = el(
    "article",
    {},
    el("p", { class: "back" }, el("a", { href: hrefOf(null), "data-clear": "query" }, "← Overview")),
    heading,
    about,
    section("Clusters", clusters),
    browser ? section("Documents", browser.element) : sampled,
  );
  return {
    title: "Search",
    element,
    update: (topics) => {
      if (topics.has("search") || topics.has("filter") || topics.has("theme") || topics.has("colour")) show();
      browser?.update(topics);
    },
  };
}

function facts({ clusters, documents }: Hits, isServed: boolean): string {
  const found = counted(clusters.size, "cluster");
  if (!documents) return `${found}, by names, keywords and the texts shown here${isServed ? "" : "; docsphere serve searches all documents"}`;
  const of = documents.basis === "sample" ? " of the sample on the map" : "";
  return `${documents.isMore ? "more than " : ""}${counted(documents.total, "document")}${of}, ${found}`;
}

/** In the order of the list: the best place first, then the most documents. */
function foundClusters({ state, colours }: Setting, hits: Hits): HTMLElement[] {
  const order = ([, a]: [number, Match], [, b]: [number, Match]) => Math.min(3, PLACES.indexOf(a.place)) - Math.min(3, PLACES.indexOf(b.place)) || b.documents - a.documents;
  const found = [...hits.clusters].filter(([id]) => state.isLit(id)).sort((a, b) => order(a, b) || a[0] - b[0]);
  if (found.length === 0) return [el("p", { class: "facts" }, "No cluster")];
  const items = found.slice(0, CLUSTERS).map(([id, { documents, why }]) => {
    const reasons = [...(documents > 0 ? [`${count(documents)} found`] : []), ...(why === "" ? [] : [why])];
    return el("li", {}, swatch(colours, id), clusterLink(state, id), el("span", { class: "facts" }, ` ${reasons.join(" · ")}`));
  });
  const more = found.length - items.length;
  return [el("ul", { class: "near" }, ...items), ...(more > 0 ? [el("p", { class: "facts" }, `${counted(more, "more cluster")} in the list`)] : [])];
}

/** Documents of the sample, by their beginnings. */
function foundTitles(state: State, hits: Hits): HTMLElement[] {
  const points = state.points!;
  const found: number[] = [];
  for (let point = 0; point < points.n && found.length < SAMPLED; point++) if (hits.points![point] && state.filtered.passes?.[point] !== 0) found.push(point);
  if (found.length === 0) return [];
  const terms = wordsOf(hits.query);
  const items = found.map((point) => {
    const id = points.cluster[point]!;
    const where = el("span", { class: "facts" }, `${(points.similarity[point]! / 255).toFixed(2)} · `, id >= 0 ? clusterLink(state, id) : "in no cluster");
    return el("li", {}, where, el("p", { class: "text", dir: "auto" }, marked(points.titles[point] ?? "", terms, "beginnings")));
  });
  return [section("Documents of the sample", el("ol", { class: "documents" }, ...items)) as HTMLElement];
}
