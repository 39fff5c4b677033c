import { el } from "./dom";

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** A text with the words marked that are among the terms. With stems, also words that go on behind a term. */
export function marked(text: string, terms: string[], stemmed: boolean): DocumentFragment {
  const wanted = new Set(terms.flatMap((term) => term.toLowerCase().split(/\s+/)));
  const isWanted = (word: string) => {
    const lower = word.toLowerCase();
    if (wanted.has(lower)) return true;
    if (stemmed) for (const term of wanted) if (term.length > 2 && lower.startsWith(term)) return true;
    return false;
  };
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    if (!isWanted(match[0])) continue;
    fragment.append(text.slice(end, match.index), el("mark", {}, match[0]));
    end = match.index + match[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}
