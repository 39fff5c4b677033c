import "./style.css";

import { getBytes } from "./api";
import { Colours, colourings } from "./colouring";
import { PAPER, readTheme } from "./colours";
import { byId, count, counted, el } from "./dom";
import { Filters } from "./filters";
import { List } from "./list";
import { ClusterMap } from "./map";
import { Panel } from "./panel";
import { Points } from "./points";
import { SearchBox } from "./searchbox";
import { address, readAddress, State, type Colouring, type Selection } from "./state";
import { Tabs } from "./tabs";
import { takeMenu } from "./take";
import { Timeline } from "./timeline";
import { Times } from "./times";
import type { ReportData } from "./types";

/** The maximum number of groups that people can distinguish. */
const MAX_GROUPS = 200;

/** Milliseconds that a choice must last before the address names it. */
const ADDRESS_PAUSE = 250;

const data = JSON.parse(byId("data").textContent ?? "") as ReportData;
const state = new State(data);
const colours = new Colours(state, readTheme());
const times = Times.of(data);
if (data.points) state.change((s) => (s.points = Points.ofPage(data.points!, data.clusters.length)), "points");

byId("title").textContent = data.title;
byId("summary").textContent = `${counted(data.totals.documents, "document")} · ${counted(data.clusters.length - data.totals.emptyClusters, "cluster")}`;

/** Writes the address of the view, if it is not written yet. */
let settle = () => {};
const go = (selection: Selection) => {
  settle();
  location.hash = address(selection, state);
};
const open = (id: number) => {
  if (state.cluster === id) tabs.show("panel");
  else go({ kind: "cluster", id });
};

// The view as the address says, before anything is drawn.
const box = new SearchBox(state);
apply();

const tabs = new Tabs(data.columns.some((column) => column.bins));
const list = new List(state, colours, times, open);
new Panel({ state, colours, times });
if (times) new Timeline(state, times);
new Filters(state, times?.column ?? null);
controls();
// Last: it fills the remaining space.
const map = new ClusterMap(state, colours, open);
takeMenu(state, list, map, colours);
follow();
if (state.cluster !== null) map.show(state.cluster);
if (state.selection || state.query !== "") tabs.show("panel");
void loadPoints();

/** Takes over what the address says. */
function apply(): void {
  const told = readAddress(location.hash, data);
  const { tree } = state;
  const wanted = told.nGroups ?? data.nGroups;
  if (wanted !== state.level.groups.length && tree.hasMerges) state.regroup(wanted);
  state.change(
    (s) => {
      s.selection = told.selection;
      s.brushes = told.brushes;
      if (told.colouring !== null) {
        s.colouring = told.colouring;
        s.isColouringChosen = true;
      }
    },
    "select",
    "filter",
    "colour",
  );
  if (told.query !== state.query) box.set(told.query);
}

/** Keeps address and view in step. */
function follow(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    try {
      history.replaceState(null, "", address(state.selection, state) || "#");
    } catch {
      // A page within another document has no address of its own.
    }
  };
  state.follow((topics) => {
    if (!["search", "filter", "level", "colour"].some((topic) => topics.has(topic as never))) return;
    clearTimeout(timer);
    timer = setTimeout(write, ADDRESS_PAUSE);
  });
  // Before another view: the way back leads to this one as it is.
  settle = () => {
    clearTimeout(timer);
    write();
  };
  window.addEventListener("hashchange", () => {
    clearTimeout(timer);
    apply();
    if (state.cluster !== null) map.show(state.cluster);
    tabs.show(state.selection || state.query !== "" ? "panel" : "map");
  });
  // Links name only where they lead. All else stays as it is, unless a link says otherwise.
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
    if (!link || link.id === "skip" || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    settle();
    const told = readAddress(link.getAttribute("href")!, data);
    if (told.query !== "" || link.dataset["clear"] === "query") box.set(told.query);
    const next = address(told.selection, state);
    if (next === (location.hash || "#")) tabs.show("panel");
    else location.hash = next;
  });
}

/** Under a server, all documents; a page of its own brings a sample. */
async function loadPoints(): Promise<void> {
  if (!data.served || state.points) return;
  try {
    const bytes = await getBytes("api/points");
    const total = data.clusters.reduce((sum, cluster) => sum + cluster.size, 0);
    if (bytes) state.change((s) => (s.points = Points.ofBytes(bytes, total, data.clusters.length)), "points");
  } catch (error) {
    byId("sample").textContent = error instanceof Error ? error.message : String(error);
  }
}

/** The controls of the map: colours, number of groups, and what the points are. */
function controls(): void {
  const colouring = byId<HTMLSelectElement>("colouring");
  colouring.append(...colourings(state).map(([value, name]) => el("option", { value }, name)));
  colouring.addEventListener("change", () => {
    const chosen = Number(colouring.value);
    state.change((s) => {
      s.colouring = Number.isInteger(chosen) ? chosen : (colouring.value as Colouring);
      s.isColouringChosen = true;
    }, "colour");
  });
  const slider = byId<HTMLInputElement>("level");
  slider.max = String(Math.min(state.tree.nLeaves, Math.max(MAX_GROUPS, state.level.groups.length)));
  slider.disabled = !state.tree.hasMerges;
  slider.addEventListener("input", () => state.regroup(Number(slider.value)));
  const show = () => {
    colouring.value = String(state.colouring);
    byId("legend").replaceChildren(...[colours.legend()].filter((legend) => legend !== null));
    slider.value = String(state.level.groups.length);
    byId("level-number").textContent = String(state.level.groups.length);
    const { points } = state;
    byId("sample").textContent = points && !points.isAll ? `a sample of ${count(points.n)} of ${counted(points.total, "document")}` : "";
  };
  state.follow((topics) => (topics.has("colour") || topics.has("level") || topics.has("theme") || topics.has("points")) && show());
  show();
}

/** The system's theme, until the user chooses one. */
const toggle = byId("theme");
const refresh = () => {
  colours.theme = readTheme();
  toggle.textContent = colours.theme.isDark ? "Light" : "Dark";
  state.change(() => {}, "theme");
};
toggle.addEventListener("click", () => {
  document.documentElement.dataset["theme"] = colours.theme.isDark ? "light" : "dark";
  refresh();
});
refresh();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);

/** The page prints in the light theme. The print style is not yet active when the event arrives. */
const repaint = (theme: typeof PAPER) => {
  colours.theme = theme;
  state.change(() => {}, "theme");
  map.drawn();
};
window.addEventListener("beforeprint", () => repaint(PAPER));
window.addEventListener("afterprint", () => repaint(readTheme()));

byId("skip").addEventListener("click", (event) => {
  // Not through the address, which would close an open cluster.
  event.preventDefault();
  tabs.show("clusters");
  byId("list").focus();
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === "/" && !isTyping) {
    byId("search").focus();
    event.preventDefault();
  }
  if (event.key === "Escape" && !isTyping && state.selection !== null) go(null);
});
