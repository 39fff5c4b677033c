import { el } from "./dom";

/**
 * Which words are marked: those equal to a term, those whose stem is a term, or those that begin
 * with one.
 */
export type Likeness = "words" | "stems" | "beginnings";

/** Words by the rules of Unicode, as in the command. */
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Dropped words may stand between the words of a term of several words. */
const MOST_BETWEEN = 3;

interface Word {
  start: number;
  end: number;
  folded: string;
}

/** A text in which the words among the terms are marked. */
export function marked(text: string, terms: string[], likeness: Likeness): DocumentFragment {
  const words = segmented(text);
  const isMarked = new Array<boolean>(words.length).fill(false);
  for (const term of terms) markTerm(words, segmented(term).map((word) => word.folded), likeness, isMarked);
  const fragment = document.createDocumentFragment();
  let end = 0;
  words.forEach((word, i) => {
    if (!isMarked[i]) return;
    fragment.append(text.slice(end, word.start), el("mark", {}, text.slice(word.start, word.end)));
    end = word.end;
  });
  fragment.append(text.slice(end));
  return fragment;
}

/** The words of a text. */
export function wordsOf(text: string): string[] {
  return segmented(text).map((word) => word.folded);
}

function segmented(text: string): Word[] {
  const words: Word[] = [];
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) words.push({ start: index, end: index + segment.length, folded: folded(segment) });
  }
  return words;
}

/** Without case and accents. */
function folded(word: string): string {
  return word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}

/** Marks the words of a term wherever they all occur in sequence. */
function markTerm(words: Word[], term: string[], likeness: Likeness, isMarked: boolean[]): void {
  if (term.length === 0) return;
  for (let i = 0; i < words.length; i++) {
    const found: number[] = [];
    for (let j = i; found.length < term.length && j < words.length && j <= (found.at(-1) ?? i) + (found.length > 0 ? 1 + MOST_BETWEEN : 0); j++) {
      if (isLike(words[j]!.folded, term[found.length]!, likeness)) found.push(j);
    }
    if (found.length === term.length) for (const j of found) isMarked[j] = true;
  }
}

function isLike(word: string, term: string, likeness: Likeness): boolean {
  if (word === term) return true;
  if (likeness === "words" || term.length < 3) return false;
  // Stemmers write "happi" for "happy".
  return word.startsWith(term) || (likeness === "stems" && term.endsWith("i") && word.startsWith(`${term.slice(0, -1)}y`));
}
