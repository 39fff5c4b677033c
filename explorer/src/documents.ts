import { count, counted, el } from "./dom";
import { clusterName } from "./groups";
import { marked, wordsOf } from "./marks";
import { address } from "./state";
import type { ReportData } from "./types";

interface Answer {
  total: number;
  isMore: boolean;
  pageDocs: number;
  documents: Found[];
}

interface Found {
  number: number;
  id: string;
  cluster: number;
  similarity: number;
  text: string;
  isPart: boolean;
  /** The kept columns that have a value. */
  columns?: Record<string, string | number>;
}

/** Characters shown of a kept value. */
const VALUE_CHARS = 80;

/** Milliseconds to wait for the next keystroke before a query is sent. */
const PAUSE_MS = 200;

/** The documents of one cluster or of all: search and paging through the server. */
export class DocumentBrowser {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly status = el("p", { class: "facts", role: "status" });
  private readonly list = el("ol", { class: "documents" });
  private readonly back = el("button", { type: "button", click: () => this.turn(-1) }, "Previous");
  private readonly forth = el("button", { type: "button", click: () => this.turn(1) }, "Next");
  private page = 0;
  private asked = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly data: ReportData,
    /** All clusters if absent; then nothing is shown before the first search. */
    private readonly cluster: number | null,
  ) {
    const n = cluster === null ? data.totals.documents : data.clusters[cluster]!.size;
    const label = cluster === null ? `Search all ${counted(n, "document")}` : `Search the ${counted(n, "document")} of this cluster`;
    this.input = el("input", { type: "search", class: "wide", placeholder: label, "aria-label": label, maxlength: 200 });
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.ask(0), PAUSE_MS);
    });
    this.element = el("div", { class: "browser" }, this.input, this.status, this.list, el("p", { class: "pages" }, this.back, " ", this.forth));
    this.back.hidden = this.forth.hidden = true;
    if (cluster !== null) void this.ask(0);
  }

  private turn(step: number): void {
    void this.ask(this.page + step).then(() => this.input.scrollIntoView({ block: "nearest" }));
  }

  private async ask(page: number): Promise<void> {
    const words = this.input.value;
    const asked = ++this.asked;
    if (this.cluster === null && words.trim() === "") {
      this.list.replaceChildren();
      this.status.textContent = "";
      this.back.hidden = this.forth.hidden = true;
      return;
    }
    const query = new URLSearchParams({ q: words, page: String(page) });
    if (this.cluster !== null) query.set("cluster", String(this.cluster));
    try {
      const answer = await fetched<Answer>(`api/documents?${query}`);
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
    if (this.cluster === null) {
      const cluster = found.cluster;
      facts.append(" · ", cluster >= 0 ? el("a", { href: address(cluster) }, clusterName(this.data, cluster)) : "in no cluster");
    }
    const item = el("li", {}, facts, text);
    const columns = Object.entries(found.columns ?? {});
    if (columns.length > 0) {
      const shown = columns.map(([name, value]) => el("span", {}, `${name}: `, el("bdi", {}, shortened(String(value)))));
      item.append(el("p", { class: "facts" }, ...shown.flatMap((part, at) => (at > 0 ? [" · ", part] : [part]))));
    }
    if (found.isPart) {
      const whole = el("button", { type: "button", class: "small" }, "Whole text");
      whole.addEventListener("click", () => {
        fetched<Found>(`api/documents/${found.number}`).then(
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
}

function shortened(value: string): string {
  const characters = [...value];
  return characters.length > VALUE_CHARS ? `${characters.slice(0, VALUE_CHARS).join("")}…` : value;
}

async function fetched<T>(url: string): Promise<T> {
  const response = await fetch(url).catch(() => {
    throw new Error("The server does not answer; is docsphere serve still running?");
  });
  const answer = (await response.json()) as T & { error?: string };
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}
