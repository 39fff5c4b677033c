import { get, type Answer } from "./api";
import type { Colours } from "./colouring";
import { css, greyOf } from "./colours";
import { documentsAddress } from "./documents";
import { byId, el, svg } from "./dom";
import { clusterName } from "./groups";
import { eachLine } from "./labels";
import type { List } from "./list";
import type { ClusterMap } from "./map";
import type { State } from "./state";

/** Pages of documents asked of the server for a file: 20 documents each. */
const PAGES = 50;

/** Points of a drawing. */
const DRAWN = 20_000;

type Cell = string | number;

/** The menu of what can be taken away: tables as CSV, the map as PNG and SVG, the address. */
export function takeMenu(state: State, list: List, map: ClusterMap, colours: Colours): void {
  const menu = byId<HTMLDetailsElement>("take");
  const said = el("p", { class: "facts", role: "status" });
  const item = (label: string, act: () => void | Promise<void>) => {
    const run = async () => {
      said.textContent = "";
      try {
        await act();
      } catch (error) {
        said.textContent = String(error);
      }
    };
    return el("button", { type: "button", click: () => void run() }, label);
  };
  const name = state.data.title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "") || "docsphere";
  const copy = async (text: string, what: string) => {
    await copyText(text);
    said.textContent = `${what} copied`;
  };
  const documents = async () => save(`${name}-documents.csv`, "text/csv", csv(await documentRows(state)));
  byId("take-items").append(
    item("Copy the address of this view", () => copy(location.href, "Address")),
    item("Copy the list of clusters", () => copy(tsv(clusterRows(state, list.find())), "List")),
    item("List of clusters (CSV)", () => save(`${name}-clusters.csv`, "text/csv", csv(clusterRows(state, list.find())))),
    item("Documents found or of the open cluster (CSV)", documents),
    item("Map (PNG)", () => savePicture(map, colours, `${name}-map.png`)),
    item("Map (SVG)", () => save(`${name}-map.svg`, "image/svg+xml", drawing(state, map, colours))),
    item("Print", () => window.print()),
    said,
  );
  document.addEventListener("click", (event) => {
    if (menu.open && !menu.contains(event.target as Node)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
    event.stopPropagation();
  });
}

function clusterRows(state: State, found: number[]): Cell[][] {
  const { data, filtered, hits, level } = state;
  const head = ["cluster", "name", "documents", "group", "cohesion", "heap", "keywords"];
  if (filtered.isActive) head.push("documents_filtered");
  if (hits) head.push("documents_found", "why");
  const rows = found.map((id): Cell[] => {
    const cluster = data.clusters[id]!;
    const words = cluster.keywords.map(([term, , , written]) => written ?? term).join("; ");
    const row: Cell[] = [id, clusterName(data, id), cluster.size, level.groups[level.ofCluster[id]!]?.name ?? "", cluster.cohesion, cluster.heap ? 1 : 0, words];
    if (filtered.isActive) row.push(Math.round(filtered.byCluster[id]!));
    const match = hits?.clusters.get(id);
    if (hits) row.push(match?.documents ?? 0, match?.why ?? "");
    return row;
  });
  return [head, ...rows];
}

/** The documents of the open cluster or of the search: of the server, or those in the page. */
async function documentRows(state: State): Promise<Cell[][]> {
  const { data, cluster } = state;
  if (data.served) return servedRows(state, cluster);
  const head = ["id", "cluster", "similarity", "text"];
  const points = state.points;
  const rows: Cell[][] = [];
  if (cluster !== null) for (const doc of [...data.clusters[cluster]!.typical, ...data.clusters[cluster]!.least]) rows.push([doc.id, cluster, doc.similarity, doc.text ?? ""]);
  for (let point = 0; points && point < points.n; point++) {
    const isIn = (cluster === null || points.cluster[point] === cluster) && state.filtered.passes?.[point] !== 0 && (!state.hits?.points || state.hits.points[point]);
    if (isIn) rows.push(["", points.cluster[point]!, Number((points.similarity[point]! / 255).toFixed(3)), points.titles[point] ?? ""]);
  }
  return [head, ...rows];
}

async function servedRows(state: State, cluster: number | null): Promise<Cell[][]> {
  const columns = state.data.columns.map((column) => column.name);
  const rows: Cell[][] = [["id", "cluster", "similarity", "text", ...columns]];
  for (let page = 0; page < PAGES; page++) {
    const { documents, pageDocs } = await get<Answer>(documentsAddress(state, cluster, page));
    for (const found of documents) rows.push([found.id, found.cluster, found.similarity, found.text, ...columns.map((name) => found.columns?.[name] ?? "")]);
    if (documents.length < pageDocs) break;
  }
  return rows;
}

/** A table as RFC 4180 has it. A text that a spreadsheet would compute gets an apostrophe. */
export function csv(rows: Cell[][]): string {
  const cell = (value: Cell) => {
    if (typeof value === "number") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function tsv(rows: Cell[][]): string {
  return rows.map((row) => row.map((value) => String(value).replace(/\s+/g, " ")).join("\t")).join("\n");
}

function save(name: string, type: string, content: string | Blob): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const href = URL.createObjectURL(blob);
  const link = el("a", { href, download: name });
  // Within the menu: a click elsewhere would close it.
  byId("take-items").append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not everywhere is the clipboard open to a page: then through a selected text.
    const box = el("textarea", { readonly: true, "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    const isDone = document.execCommand("copy");
    box.remove();
    if (!isDone) throw new Error("The browser does not let this page copy");
  }
}

async function savePicture(map: ClusterMap, colours: Colours, name: string): Promise<void> {
  const { canvases } = map.drawn();
  const first = canvases[0]!;
  const all = el("canvas", { width: first.width, height: first.height });
  const context = all.getContext("2d")!;
  context.fillStyle = colours.theme.background;
  context.fillRect(0, 0, all.width, all.height);
  for (const canvas of canvases) context.drawImage(canvas, 0, 0);
  const blob = await new Promise<Blob | null>((resolve) => all.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The browser cannot write this picture");
  save(name, "image/png", blob);
}

/** The map as it is seen, as a drawing. */
function drawing(state: State, map: ClusterMap, colours: Colours): string {
  const view = map.view();
  const { width, height } = view;
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  root.append(svg("rect", { width, height, fill: colours.theme.background }));
  const { points } = state;
  for (const { disc, x, y, r } of map.seen(view)) {
    const colour = state.isLit(disc.id) ? css(colours.ofCluster(disc.id)) : css(greyOf(colours.theme));
    root.append(svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1), fill: colour, "fill-opacity": map.hasPoints ? 0.12 : 0.8 }));
  }
  const step = points && map.hasPoints ? Math.max(1, Math.ceil(points.n / DRAWN)) : 0;
  for (let point = 0; step > 0 && point < points!.n; point += step) {
    const place = map.placeOf(point)!;
    const [x, y] = [view.x(place[0]), view.y(place[1])];
    const id = points!.cluster[point]!;
    if (id < 0 || x < 0 || y < 0 || x > width || y > height || state.filtered.passes?.[point] === 0) continue;
    root.append(svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 1.3, fill: css(colours.ofCluster(id)), "fill-opacity": 0.6 }));
  }
  for (const label of map.names(view).reverse()) {
    eachLine(label, (text, x, y) => {
      const line = svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": "middle", "font-family": "system-ui, sans-serif", "font-size": label.size, "font-weight": label.weight, fill: label.colour, stroke: colours.theme.background, "stroke-width": Math.max(3, label.size / 4), "stroke-linejoin": "round", "paint-order": "stroke" });
      line.append(text);
      root.append(line);
    });
  }
  return new XMLSerializer().serializeToString(root);
}
