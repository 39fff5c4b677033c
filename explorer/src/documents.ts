import { get, type Answer, type Found } from "./api";
import { count, counted, el, shortened } from "./dom";
import { writeBrush } from "./filter";
import { clusterLink } from "./links";
import { marked, wordsOf, type Likeness } from "./marks";
import type { State, Topic } from "./state";
import type { Doc } from "./types";

/** Characters shown of a kept value. */
const VALUE_CHARS = 80;

/** Milliseconds to wait for the next change before a query is sent. */
const PAUSE_MS = 200;

/** Documents that the page itself holds. */
export function documentList(docs: Doc[], marks: string[], likeness: Likeness): HTMLElement {
  return el(
    "ol",
    { class: "documents" },
    ...docs.map((doc) => {
      const duplicates = doc.duplicates === undefined ? "" : ` · and ${counted(doc.duplicates, "near-duplicate")}`;
      const text = doc.text !== undefined && el("p", { class: "text", dir: "auto" }, marked(doc.text, marks, likeness));
      return el("li", {}, el("span", { class: "facts" }, el("bdi", {}, doc.id), ` · ${doc.similarity.toFixed(3)}${duplicates}`), text);
    }),
  );
}

/** The address of a document, if it is one of the web. */
export function webAddress(value: string): string | null {
  if (!/^https?:\/\//i.test(value)) return null;
  try {
    const { protocol, href } = new URL(value);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}

/**
 * The documents of one cluster or of all, from the server: those that have the words of the search
 * box and pass the filters, in pages.
 */
export class DocumentBrowser {
  readonly element: HTMLElement;
  private readonly status = el("p", { class: "facts", role: "status" });
  private readonly list = el("ol", { class: "documents" });
  private readonly back = el("button", { type: "button", click: () => this.turn(-1) }, "Previous");
  private readonly forth = el("button", { type: "button", click: () => this.turn(1) }, "Next");
  private page = 0;
  private asked = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly state: State,
    /** All clusters if absent. */
    private readonly cluster: number | null,
  ) {
    this.element = el("div", { class: "browser" }, this.status, this.list, el("p", { class: "pages" }, this.back, " ", this.forth));
    this.back.hidden = this.forth.hidden = true;
    void this.ask(0);
  }

  update(topics: Set<Topic>): void {
    if (!topics.has("search") && !topics.has("filter")) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(0), PAUSE_MS);
  }

  private turn(step: number): void {
    void this.ask(this.page + step).then(() => this.status.scrollIntoView({ block: "nearest" }));
  }

  private async ask(page: number): Promise<void> {
    const words = this.state.query;
    const asked = ++this.asked;
    try {
      const answer = await get<Answer>(documentsAddress(this.state, this.cluster, page));
      // The query may have changed in the meantime.
      if (asked === this.asked) this.show(answer, page, words);
    } catch (error) {
      if (asked === this.asked) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private show(answer: Answer, page: number, words: string): void {
    if (page > 0 && answer.documents.length === 0) {
      // The previous page was full, and the last one.
      this.forth.hidden = true;
      return;
    }
    this.page = page;
    const first = page * answer.pageDocs;
    const last = first + answer.documents.length;
    const total = `${answer.isMore ? "more than " : ""}${count(answer.total)}`;
    this.status.textContent = answer.total === 0 ? "Nothing found" : `${count(first + 1)} to ${count(last)} of ${total}`;
    const terms = wordsOf(words);
    this.list.replaceChildren(...answer.documents.map((found) => this.document(found, terms)));
    this.back.hidden = page === 0;
    this.forth.hidden = answer.documents.length < answer.pageDocs || (!answer.isMore && last >= answer.total);
  }

  private document(found: Found, terms: string[]): HTMLElement {
    const text = el("p", { class: "text", dir: "auto" }, marked(found.text, terms, "beginnings"));
    const facts = el("span", { class: "facts" }, el("bdi", {}, found.id), ` · ${found.similarity.toFixed(3)}`);
    if (this.cluster === null) facts.append(" · ", found.cluster >= 0 ? clusterLink(this.state, found.cluster) : "in no cluster");
    const item = el("li", {}, facts, text);
    const columns = Object.entries(found.columns ?? {});
    if (columns.length > 0) {
      const shown = columns.map(([name, value]) => el("span", {}, `${name}: `, this.value(name, String(value))));
      item.append(el("p", { class: "facts" }, ...shown.flatMap((part, at) => (at > 0 ? [" · ", part] : [part]))));
    }
    if (found.isPart) {
      const whole = el("button", { type: "button", class: "small" }, "Whole text");
      whole.addEventListener("click", () => {
        get<Found>(`api/documents/${found.number}`).then(
          (all) => {
            text.replaceChildren(marked(all.text, terms, "beginnings"));
            whole.remove();
          },
          (error: unknown) => (whole.textContent = String(error)),
        );
      });
      item.append(whole);
    }
    return item;
  }

  /** A kept value; addresses of the web are links. */
  private value(name: string, value: string): HTMLElement {
    const isAddress = this.state.data.columns.some((column) => column.name === name && column.kind === "address");
    const href = isAddress ? webAddress(value) : null;
    const text = shortened(value, VALUE_CHARS);
    return href === null ? el("bdi", {}, text) : el("a", { href, target: "_blank", rel: "noopener noreferrer" }, el("bdi", {}, text));
  }
}

/** Where the server has a page of documents. */
export function documentsAddress(state: State, cluster: number | null, page: number): string {
  const query = new URLSearchParams({ q: state.query, page: String(page) });
  if (cluster !== null) query.set("cluster", String(cluster));
  for (const [column, brush] of state.brushes) query.append("bins", writeBrush(column, brush));
  return `api/documents?${query}`;
}
