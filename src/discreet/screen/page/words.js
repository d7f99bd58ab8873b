// Words of a text as [start, end] in UTF-16 units: what the keys walk over.

const RUN = /\S+/gu;
const EDGE = /^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

const segmenter = (granularity) => ("Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity }) : null);
const WORDS = segmenter("word");
const GRAPHEMES = segmenter("grapheme");

// Runs between white space without the punctuation around them, so that "555-0101." is one word without its full stop.
export function wordsOf(text) {
  const words = [];
  for (const match of text.matchAll(RUN)) {
    const run = match[0];
    if (WORDS && UNSPACED.test(run)) {
      for (const piece of WORDS.segment(run)) {
        if (piece.isWordLike) words.push([match.index + piece.index, match.index + piece.index + piece.segment.length]);
      }
      continue;
    }
    const [bare, cut] = bareOf(run);
    words.push([match.index + cut, match.index + cut + bare.length]);
  }
  return words;
}

function bareOf(run) {
  const edges = [...run.matchAll(EDGE)];
  const before = edges.find((edge) => edge.index === 0)?.[0].length ?? 0;
  const last = edges.at(-1);
  const after = last && last.index > 0 ? last[0].length : 0;
  return before + after >= run.length ? [run, 0] : [run.slice(before, run.length - after), before];
}

// The next or last edge between whole characters as a person sees them (an emoji of many parts is one).
export function step(text, at, direction) {
  if (!GRAPHEMES) return Math.min(text.length, Math.max(0, at + direction));
  if (direction > 0) {
    for (const piece of GRAPHEMES.segment(text.slice(at, at + 100))) return at + piece.segment.length;
    return at;
  }
  const from = Math.max(0, at - 100);
  let last = at;
  for (const piece of GRAPHEMES.segment(text.slice(from, at))) last = from + piece.index;
  return last;
}

// Whether the paragraph at a position runs from right to left, as the page shows it: its first letter decides.
export function rightToLeft(text, at) {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  const letter = /\p{L}/u.exec(text.slice(start, end < 0 ? text.length : end));
  return letter !== null && RIGHT_TO_LEFT.test(letter[0]);
}
