// The texts of a record on the page: drawing marks, and positions in a text from and to the browser's selection.
// Text of records only ever becomes text nodes; nothing here can turn it into elements.

export function draw(container, parts, kinds, names) {
  container.replaceChildren(
    ...parts.map((part, number) => {
      const box = document.createElement("div");
      box.className = "part";
      if (parts.length > 1) {
        const title = document.createElement("h2");
        title.textContent = names[number];
        box.append(title);
      }
      const text = document.createElement("div");
      text.className = "text";
      text.dir = "auto";
      text.tabIndex = 0;
      text.setAttribute("role", "document");
      text.setAttribute("aria-label", names[number] + " of the record; the arrow keys go from word to word, ? lists all keys");
      text.dataset.part = number;
      fill(text, part, kinds);
      box.append(text);
      return box;
    }),
  );
}

function fill(element, { text, marks }, kinds) {
  let after = 0;
  for (const mark of marks) {
    element.append(document.createTextNode(text.slice(after, mark.start)), drawn(text, mark, kinds));
    after = mark.end;
  }
  element.append(document.createTextNode(text.slice(after)));
}

const SAID = { policy: "found by the policy", person: "marked by you", removed: "taken away by you" };
const LABEL = { policy: (kind) => kind, person: (kind) => "+ " + kind, removed: () => "no secret" };

function drawn(text, mark, kinds) {
  const element = document.createElement("mark");
  element.className = `k${kinds.indexOf(mark.kind) % 8} ${mark.by}`;
  element.dataset.label = LABEL[mark.by](mark.kind);
  element.dataset.start = mark.start;
  element.dataset.end = mark.end;
  element.title = said(mark);
  element.textContent = text.slice(mark.start, mark.end);
  return element;
}

export function said(mark) {
  return `${mark.kind}, ${SAID[mark.by]}`;
}

export const textOf = (container, part) => container.querySelector(`[data-part="${part}"]`);

// The selection as { part, start, end }, cut to the text it begins in; null where none of a record's text is selected.
export function selected(container) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  for (const element of container.querySelectorAll(".text")) {
    if (!range.intersectsNode(element)) continue;
    const whole = document.createRange();
    whole.selectNodeContents(element);
    const start = range.compareBoundaryPoints(Range.START_TO_START, whole) < 0 ? 0 : unitsBefore(element, range.startContainer, range.startOffset);
    const end = range.compareBoundaryPoints(Range.END_TO_END, whole) > 0 ? whole.toString().length : unitsBefore(element, range.endContainer, range.endOffset);
    if (start < end) return { part: Number(element.dataset.part), start, end };
  }
  return null;
}

function unitsBefore(element, node, offset) {
  const range = document.createRange();
  range.selectNodeContents(element);
  range.setEnd(node, offset);
  return range.toString().length;
}

// Where a position stands in the page's nodes; `atEnd` prefers the end of a node over the start of the next.
function place(element, position, atEnd) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let left = position;
  let last = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    last = node;
    if (left < node.length || (left === node.length && atEnd)) return [node, left];
    left -= node.length;
  }
  return last ? [last, last.length] : [element, 0];
}

export function rangeOf(container, { part, start, end }) {
  const element = textOf(container, part);
  const range = document.createRange();
  range.setStart(...place(element, start, false));
  range.setEnd(...place(element, end, true));
  return range;
}

export function select(container, span, backwards = false) {
  const range = rangeOf(container, span);
  const from = [range.startContainer, range.startOffset];
  const to = [range.endContainer, range.endOffset];
  getSelection().setBaseAndExtent(...(backwards ? to : from), ...(backwards ? from : to));
  reveal(range, backwards);
}

// Scrolls so that what was chosen stands clear of the bars above and below.
function reveal(range, atStart) {
  const boxes = range.getClientRects();
  const box = atStart ? boxes[0] : boxes[boxes.length - 1];
  if (!box) return;
  const top = document.querySelector("header").getBoundingClientRect().bottom + 24;
  const bottom = document.getElementById("bar").getBoundingClientRect().top - 32;
  if (box.top < top) scrollBy({ top: box.top - top });
  else if (box.bottom > bottom) scrollBy({ top: box.bottom - bottom });
}
