import { get } from "./api";
import { byId } from "./dom";
import { writeBrush } from "./filter";
import { withAnswer, Search, type HitsAnswer } from "./search";
import type { State } from "./state";

/** Milliseconds to wait for the next keystroke before the server is asked. */
const PAUSE_MS = 180;

/** The one search box: clusters at once, and under a server all documents a moment later. */
export class SearchBox {
  private readonly input = byId<HTMLInputElement>("search");
  private readonly search: Search;
  private asked = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly state: State) {
    this.search = new Search(state.data);
    this.input.placeholder = state.data.served ? "Search clusters and all documents ( / )" : "Search clusters and documents ( / )";
    this.input.addEventListener("input", () => this.set(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") byId("list").focus();
      if (event.key === "Escape") this.set("");
    });
    // Points that come later are searched, too; and the server counts hits that pass the filters.
    state.follow((topics) => {
      const isOther = topics.has("points") || (topics.has("filter") && state.data.served);
      if (isOther && state.query !== "") this.set(state.query);
    });
  }

  set(query: string): void {
    const { state } = this;
    if (this.input.value !== query) this.input.value = query;
    const asked = ++this.asked;
    clearTimeout(this.timer);
    const hits = this.search.find(query, state.points);
    state.change((s) => {
      s.query = query;
      s.hits = hits;
    }, "search");
    if (!hits || !state.data.served) return;
    this.timer = setTimeout(async () => {
      try {
        const asking = new URLSearchParams({ q: query });
        for (const [column, brush] of state.brushes) asking.append("bins", writeBrush(column, brush));
        const answer = await get<HitsAnswer>(`api/hits?${asking}`);
        if (asked === this.asked) state.change((s) => (s.hits = withAnswer(hits, answer, s.points)), "search");
      } catch {
        // The list of documents says what is wrong.
      }
    }, PAUSE_MS);
  }
}
