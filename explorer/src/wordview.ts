import { count, counted, el, percent, section } from "./dom";
import { clusterLink, hrefOf, swatch, track } from "./links";
import { recolour } from "./overview";
import type { Setting, View } from "./view";

/** Where a word lives: the clusters that have it among their keywords. */
export function wordView(setting: Setting, term: string): View {
  const { state, colours } = setting;
  const { clusters } = state.data;
  const found = clusters.flatMap((cluster, id) => {
    const keyword = cluster.keywords.find(([own]) => own === term);
    return keyword && cluster.size > 0 && !cluster.hidden ? [{ id, share: keyword[4], weight: keyword[1] ?? keyword[2], written: keyword[3], documents: (keyword[4] ?? 0) * cluster.size }] : [];
  });
  found.sort((a, b) => b.documents - a.documents || b.weight - a.weight || a.id - b.id);
  const written = found.find((entry) => entry.written !== null)?.written ?? term;
  const total = found.reduce((sum, entry) => sum + entry.documents, 0);
  const most = Math.max(...found.map((entry) => entry.documents), 1e-9);
  const list = found.map(({ id, share, documents, weight }) =>
    el(
      "li",
      { class: "theme", title: `weight ${weight.toFixed(3)}` },
      el("div", { class: "theme-name" }, swatch(colours, id), clusterLink(state, id), el("span", { class: "number" }, share === null ? "" : count(documents))),
      track(documents / most),
      share !== null && el("p", { class: "facts" }, `in ${percent(share)} of its ${counted(clusters[id]!.size, "document")}`),
    ),
  );
  const documents = total > 0 ? `, in about ${count(total)} of their documents` : "";
  const element = el(
    "article",
    {},
    el("p", { class: "back" }, el("a", { href: hrefOf(null) }, "← Overview")),
    el("h2", { tabindex: -1, dir: "auto" }, written),
    el("p", { class: "facts" }, `keyword of ${counted(found.length, "cluster")}${documents}`),
    el("p", {}, el("a", { href: `#q=${encodeURIComponent(written)}` }, `Search for “${written}”`)),
    section("Documents with it, by cluster", found.length > 0 && el("ol", { class: "themes" }, ...list)),
  );
  return { title: written, element, update: (topics) => (topics.has("colour") || topics.has("theme")) && recolour(setting, element) };
}
