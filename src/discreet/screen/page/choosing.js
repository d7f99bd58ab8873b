// What is chosen on the page, and choosing by keys: words, lines, marks, single characters.

import { rangeOf, select } from "./text.js";
import { rightToLeft, step } from "./words.js";

const parts = document.getElementById("parts");

export const chosen = {
  record: null, // the record on the page
  words: [], // of each of its texts
  target: null, // what is chosen: { part, start, end }
  walk: null, // the words where choosing by keys began and where it is: { part, anchor, focus }
  resume: null, // where the keys go on when nothing is chosen: { part, at }
  changed: () => {}, // called when something else is chosen
};

export function choose(span, backwards = false) {
  chosen.target = span;
  select(parts, span, backwards);
  chosen.changed();
}

function position() {
  if (chosen.walk) return chosen.walk;
  if (chosen.target) {
    const list = chosen.words[chosen.target.part];
    const anchor = list.findIndex(([, end]) => end > chosen.target.start);
    const focus = list.findLastIndex(([start]) => start < chosen.target.end);
    if (anchor >= 0 && focus >= anchor) return { part: chosen.target.part, anchor, focus };
  }
  return null;
}

function go(part, focus, extend, from) {
  const list = chosen.words[part];
  const anchor = extend && from ? from.anchor : focus;
  chosen.walk = { part, anchor, focus };
  const [low, high] = [Math.min(anchor, focus), Math.max(anchor, focus)];
  choose({ part, start: list[low][0], end: list[high][1] }, focus < anchor);
}

// From where nothing is chosen, the first step goes to the word at hand.
function enter(direction) {
  const part = chosen.resume?.part ?? chosen.words.findIndex((list) => list.length);
  const list = chosen.words[part] ?? [];
  const ahead = list.findIndex(([start]) => start >= (chosen.resume?.at ?? 0));
  const focus = direction > 0 ? (ahead < 0 ? list.length - 1 : ahead) : Math.max(0, (ahead < 0 ? list.length : ahead) - 1);
  if (list.length) go(part, focus, false, null);
}

function word(direction, extend) {
  const from = position();
  if (!from) return enter(direction);
  const focus = from.focus + direction;
  if (chosen.words[from.part][focus]) return go(from.part, focus, extend, from);
  const part = from.part + direction;
  if (!extend && chosen.words[part]?.length) go(part, direction > 0 ? 0 : chosen.words[part].length - 1, false, null);
}

export function line(direction, extend) {
  const from = position();
  if (!from) return enter(direction);
  const box = (number) => {
    const [start, end] = chosen.words[from.part][number];
    return rangeOf(parts, { part: from.part, start, end }).getClientRects()[0] ?? new DOMRect();
  };
  const here = box(from.focus);
  const middle = (rect) => (rect.left + rect.right) / 2;
  let best = null;
  let top = null;
  for (let at = from.focus + direction; chosen.words[from.part][at]; at += direction) {
    const there = box(at);
    const centre = (there.top + there.bottom) / 2;
    if (here.top < centre && centre < here.bottom) continue;
    if (top !== null && Math.abs(centre - top) > here.height) break;
    top ??= centre;
    const distance = Math.abs(middle(there) - middle(here));
    if (!best || distance < best.distance) best = { at, distance };
  }
  if (best) go(from.part, best.at, extend, from);
}

export function jump(direction) {
  const all = chosen.record.parts.flatMap(({ marks }, part) => marks.map(({ start, end }) => ({ part, start, end })));
  const here = chosen.target ?? { part: chosen.resume?.part ?? 0, start: (chosen.resume?.at ?? 0) - (direction > 0 ? 1 : 0) };
  const later = (span) => span.part - here.part || span.start - here.start;
  const span = direction > 0 ? all.find((one) => later(one) > 0) : all.findLast((one) => later(one) < 0);
  if (!span) return;
  chosen.walk = null;
  choose(span);
}

export function adjust(edge, outwards) {
  if (!chosen.target) return;
  const { text } = chosen.record.parts[chosen.target.part];
  const forwards = (edge === "end") === outwards;
  const span = { ...chosen.target, [edge]: step(text, chosen.target[edge], forwards ? 1 : -1) };
  if (span.start < span.end) {
    chosen.walk = null;
    choose(span, edge === "start");
  }
}

export const sideways = (right, extend) => {
  const part = chosen.target?.part ?? chosen.resume?.part ?? 0;
  const text = chosen.record.parts[part].text;
  const reversed = rightToLeft(text, chosen.target?.start ?? chosen.resume?.at ?? 0);
  word(right === reversed ? -1 : 1, extend);
};
