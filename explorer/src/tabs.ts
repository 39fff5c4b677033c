import { byId, el } from "./dom";

export type Tab = "map" | "panel" | "clusters" | "filters";

const NAMES: Record<Tab, string> = { map: "Map", panel: "Details", clusters: "Clusters", filters: "Filters" };

/** On narrow screens one part of the page is shown at a time. */
export class Tabs {
  private readonly buttons = new Map<Tab, HTMLButtonElement>();

  constructor(hasFilters: boolean) {
    const tabs = (Object.keys(NAMES) as Tab[]).filter((tab) => tab !== "filters" || hasFilters);
    for (const tab of tabs) {
      const button = el("button", { type: "button", "data-tab": tab, click: () => this.show(tab) }, NAMES[tab]);
      this.buttons.set(tab, button);
      byId("tabs").append(button);
    }
    this.show("map");
  }

  show(tab: Tab): void {
    document.body.dataset["tab"] = tab;
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(name === tab));
  }
}
