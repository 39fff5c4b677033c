import { byId, el } from "./dom";
import { Histogram } from "./histogram";
import type { State, Topic } from "./state";
import type { Times } from "./times";

/** The timeline of the corpus below the map: a range of time is chosen here. */
export class Timeline {
  private readonly histogram: Histogram;
  private readonly clear = el("button", { type: "button", class: "small" }, "Clear");

  constructor(
    private readonly state: State,
    private readonly times: Times,
  ) {
    const { column, name, bins } = times;
    this.histogram = new Histogram(state.data.columns[column]!, bins, (brush) => state.brush(column, brush));
    this.clear.addEventListener("click", () => state.brush(column, null));
    const box = byId("timeline");
    box.hidden = false;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `Timeline: ${name}`);
    box.append(el("div", { class: "head" }, el("h2", {}, name, el("span", { class: "facts" }, bins.step ? ` documents per ${bins.step}` : "")), this.clear), this.histogram.element);
    const narrow = matchMedia("(max-width: 900px)");
    const place = () => (narrow.matches ? byId("filters").prepend(box) : byId("stage").after(box));
    narrow.addEventListener("change", place);
    place();
    state.follow((topics) => this.update(topics));
    this.update(new Set<Topic>(["filter"]));
  }

  private update(topics: Set<Topic>): void {
    if (!topics.has("filter") && !topics.has("points")) return;
    const { filtered, brushes } = this.state;
    const { column } = this.times;
    this.histogram.update(filtered.byColumn.get(column) ?? null, brushes.get(column) ?? null);
    this.clear.hidden = !brushes.has(column);
  }
}
