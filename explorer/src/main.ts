import "./style.css";

import { cohesionRamp, cohesionRange, PAPER, readTheme, type Theme } from "./colours";
import { byId } from "./dom";
import { GroupsView } from "./groupsview";
import { List } from "./list";
import { ClusterMap } from "./map";
import { Panel } from "./panel";
import { Search } from "./search";
import { address, readAddress, State, type Colouring } from "./state";
import type { ReportData } from "./types";

const data = JSON.parse(byId("data").textContent ?? "") as ReportData;
const state = new State(data);
let theme: Theme = readTheme();

byId("title").textContent = data.title;
state.selected = readAddress(location.hash, data.clusters.length);

const open = (id: number) => {
  if (state.selected === id) return;
  location.hash = address(id);
};

new List(state, new Search(data), open);
new Panel(state);
const groups = new GroupsView(state, () => theme);
const colouring = byId<HTMLSelectElement>("colouring");
const showColouring = () => {
  colouring.value = state.colouring;
  byId("scale").hidden = state.colouring !== "cohesion";
};
showColouring();
state.follow(showColouring);
colouring.addEventListener("change", () => {
  state.change((s) => {
    s.colouring = colouring.value as Colouring;
    s.isColouringChosen = true;
  });
});

// Last: it fills the remaining space.
const map = new ClusterMap(state, () => theme, open);

window.addEventListener("hashchange", () => {
  const selected = readAddress(location.hash, data.clusters.length);
  state.change((s) => (s.selected = selected));
  if (selected !== null) map.show(selected);
});
if (state.selected !== null) map.show(state.selected);

cohesionRange(data).forEach((cohesion, end) => (byId(end === 0 ? "ramp-lo" : "ramp-hi").textContent = cohesion.toFixed(2)));

/** The system's theme, until the user chooses one. */
const toggle = byId("theme");
const refresh = () => {
  theme = readTheme();
  byId("ramp").style.background = cohesionRamp(theme);
  toggle.textContent = theme.isDark ? "Light" : "Dark";
  groups.recolour();
  state.change(() => {});
};
toggle.addEventListener("click", () => {
  document.documentElement.dataset["theme"] = theme.isDark ? "light" : "dark";
  refresh();
});
refresh();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);

/** The page prints in the light theme. The print style is not yet active when the event arrives. */
window.addEventListener("beforeprint", () => {
  theme = PAPER;
  map.draw();
});
window.addEventListener("afterprint", () => {
  theme = readTheme();
  map.draw();
});

byId("skip").addEventListener("click", (event) => {
  // Not through the address, which would close an open cluster.
  event.preventDefault();
  byId("list").focus();
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === "/" && !isTyping) {
    byId("search").focus();
    event.preventDefault();
  }
  if (event.key === "Escape" && !isTyping && state.selected !== null) location.hash = address(null);
});
