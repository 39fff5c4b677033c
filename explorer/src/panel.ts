import { clusterView } from "./clusterview";
import { byId } from "./dom";
import { groupView } from "./groupview";
import { overview } from "./overview";
import { searchView } from "./searchview";
import type { State, Topic } from "./state";
import type { Setting, View } from "./view";
import { wordView } from "./wordview";

/** The panel beside the map: the overview, what was found, or an open cluster, group or word. */
export class Panel {
  private readonly box = byId("panel");
  private key = "";
  private view: View | null = null;

  constructor(private readonly setting: Setting) {
    setting.state.follow((topics) => this.update(topics));
    this.update(new Set());
  }

  private update(topics: Set<Topic>): void {
    const { state } = this.setting;
    const key = keyOf(state);
    if (key === this.key) {
      this.view?.update?.(topics);
      return;
    }
    const isFirst = this.key === "";
    this.key = key;
    this.view = this.viewOf();
    this.box.replaceChildren(this.view.element);
    this.box.scrollTop = 0;
    document.title = this.view.title === "" ? state.data.title : `${this.view.title} · ${state.data.title}`;
    // While someone types a query, the focus stays where it is.
    if (!isFirst && topics.has("select")) this.box.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
  }

  private viewOf(): View {
    const { state } = this.setting;
    const { selection } = state;
    if (selection?.kind === "cluster") return clusterView(this.setting, selection.id);
    if (selection?.kind === "group") return groupView(this.setting, selection.node);
    if (selection?.kind === "word") return wordView(this.setting, selection.term);
    return state.query.trim() === "" ? overview(this.setting) : searchView(this.setting);
  }
}

/** What must be equal for a view to stay. */
function keyOf(state: State): string {
  const { selection } = state;
  if (selection) return JSON.stringify(selection);
  return state.query.trim() === "" ? `overview ${state.level.groups.length}` : "search";
}
