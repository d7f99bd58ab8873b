// The screening page: one record, its marks, and what a person does with mouse, finger or keys.

import { adjust, choose, chosen, jump, line, sideways } from "./choosing.js";
import { showResult } from "./result.js";
import { ask } from "./server.js";
import { draw, said, selected, textOf } from "./text.js";
import { wordsOf } from "./words.js";

const $ = (id) => document.getElementById(id);
const parts = $("parts");
const BEAT_SECONDS = 30;
const POLL_SECONDS = 3;

let state = null; // what the server last said
let kind = null; // the kind last used
let queue = Promise.resolve();
let leaving = false; // a record is being handed in

const record = () => state?.record ?? null;
const same = (a, b) => a && b && a.part === b.part && a.start === b.start && a.end === b.end;

function chosenMark() {
  const marks = chosen.target && record() ? record().parts[chosen.target.part].marks : [];
  return marks.find((mark) => mark.start <= chosen.target.start && chosen.target.end <= mark.end) ?? null;
}

// Asking: one request after the other, each with the record as it is then.

function send(action, details = () => ({})) {
  queue = queue.then(async () => {
    try {
      show(await ask(action, details()));
      notice("");
    } catch (problem) {
      if (problem.status === 409) {
        show(await ask("next").catch(() => state));
      }
      notice(problem.message);
    }
  });
  return queue;
}

const onRecord = () => ({ number: record().number, serial: record().serial });

function markAs(name) {
  kind = name;
  if (!chosen.target || !record()) return showBar();
  const { part, start, end } = chosen.target;
  const mark = chosenMark();
  const span = mark ? { part, start: mark.start, end: mark.end } : { part, start, end };
  return send("mark", () => ({ ...onRecord(), ...span, kind: name }));
}

function remove() {
  const mark = chosenMark();
  if (!mark || mark.by === "removed") return;
  const { part } = chosen.target;
  send("unmark", () => ({ ...onRecord(), part, start: mark.start, end: mark.end }));
}

function toggle() {
  const mark = chosenMark();
  if (mark && mark.by !== "removed") return remove();
  markAs(mark ? mark.kind : kind);
}

function undo() {
  if (!record()) return;
  if (!record().undoable) return notice("Nothing to undo in this record; B opens the one before.");
  send("undo", onRecord);
}

function next() {
  if (!record() || leaving) return;
  leaving = true;
  send("done", onRecord).finally(() => (leaving = false));
}

const back = () => state?.back && send("back");

// Showing.

function show(answer) {
  const before = record();
  state = answer;
  kind = state.kinds.includes(kind) ? kind : state.kinds.at(-1);
  const { done, total, held } = state.progress;
  const elsewhere = held - (record() ? 1 : 0);
  $("progress").max = total;
  $("progress").value = done;
  $("count").textContent = `${done} of ${total} done` + (elsewhere > 0 ? ` · ${elsewhere} open elsewhere` : "");
  $("record").hidden = $("bar").hidden = !record();
  $("waiting").hidden = Boolean(record() || state.result);
  $("result").hidden = Boolean(record()) || !state.result;
  $("hint").hidden = !record() || localStorage.getItem("hint") === "seen";
  if (record()) showRecord(before);
  else if (state.result) showResult($("result"), state.result, { onBack: back, onStop: stop, canBack: state.back });
}

function showRecord(before) {
  const now = record();
  const fresh = !before || before.number !== now.number;
  if (chosen.target) chosen.resume = { part: chosen.target.part, at: chosen.target.end };
  chosen.target = chosen.walk = null;
  chosen.record = now;
  chosen.words = now.parts.map((part) => wordsOf(part.text));
  draw(parts, now.parts, state.kinds, ["Text", "Pair text"]);
  const marks = now.parts.flatMap((part) => part.marks);
  const count = (by) => marks.filter((mark) => mark.by === by).length;
  const said = [[count("policy"), "found"], [count("person"), "yours"], [count("removed"), "taken away"]];
  $("counts").textContent = said.filter(([number]) => number).map(([number, name]) => `${number} ${name}`).join(" · ") || "no marks";
  $("record-id").textContent = now.id;
  if (fresh) {
    chosen.resume = null;
    scrollTo({ top: 0 });
  }
  textOf(parts, chosen.resume?.part ?? 0).focus({ preventScroll: true });
  showBar();
}

function showBar() {
  const mark = chosenMark();
  const line = $("selection");
  line.replaceChildren();
  if (chosen.target) {
    const quote = document.createElement("q");
    quote.dir = "auto";
    const span = mark ?? chosen.target;
    const text = record().parts[chosen.target.part].text.slice(span.start, span.end);
    quote.textContent = text.length > 60 ? text.slice(0, 40) + " … " + text.slice(-15) : text;
    line.append(quote, mark ? ` ${said(mark)}` : " choose its kind");
  } else {
    line.textContent = "Nothing is selected.";
  }
  $("kinds").replaceChildren(...state.kinds.map((name, number) => chip(name, number, mark)));
  $("undo").disabled = !record()?.undoable;
  $("back").disabled = !state.back;
  $("remove").disabled = !mark;
  $("remove-text").textContent = mark?.by === "removed" ? "A secret after all" : "Not a secret";
}

const keyOf = (number) => (number === state.kinds.length - 1 ? "0" : number < 9 ? String(number + 1) : "");

function chip(name, number, mark) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `chip k${number % 8}`;
  button.setAttribute("aria-pressed", String(mark && mark.by !== "removed" ? mark.kind === name : !chosen.target && kind === name));
  const label = document.createElement("span");
  label.textContent = name;
  button.append(label);
  if (keyOf(number)) {
    const key = document.createElement("kbd");
    key.textContent = keyOf(number);
    button.append(" ", key);
    button.setAttribute("aria-keyshortcuts", keyOf(number));
  }
  button.addEventListener("click", () => markAs(name));
  return button;
}

chosen.changed = showBar;

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
  if (text) $("notice").scrollIntoView({ block: "nearest" });
}

// Keys.

function space() {
  const bottom = document.documentElement.scrollHeight - innerHeight - scrollY;
  if (bottom > 8) scrollBy({ top: (innerHeight - $("bar").offsetHeight) * 0.8 });
  else next();
}

function nothing() {
  chosen.target = chosen.walk = null;
  getSelection().removeAllRanges();
  showBar();
}

const KEYS = {
  arrowleft: (shift) => sideways(false, shift),
  h: (shift) => sideways(false, shift),
  arrowright: (shift) => sideways(true, shift),
  l: (shift) => sideways(true, shift),
  arrowup: (shift) => line(-1, shift),
  arrowdown: (shift) => line(1, shift),
  j: () => jump(1),
  k: () => jump(-1),
  e: (shift) => adjust("end", !shift),
  s: (shift) => adjust("start", !shift),
  escape: nothing,
};
const ONCE = { enter: toggle, m: toggle, x: remove, delete: remove, backspace: remove, u: undo, n: next, " ": space, b: back };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const key = event.key.toLowerCase();
  if (key === "?") return void (event.preventDefault(), $("help").showModal());
  if (!record()) return void (key === "b" && back());
  if (event.target.closest("button") && (key === "enter" || key === " ")) return;
  if (event.shiftKey && key === " ") return;
  const number = /^[0-9]$/.test(key) ? (key === "0" ? state.kinds.length - 1 : Number(key) - 1) : -1;
  const known = KEYS[key] ?? ONCE[key] ?? (state.kinds[number] && keyOf(number) === key ? () => markAs(state.kinds[number]) : null);
  if (!known) return;
  event.preventDefault();
  if (event.repeat && !KEYS[key]) return;
  known(event.shiftKey);
});

// Choosing by mouse or finger.

let pressed = false; // a press on the bar must not lose what is chosen, though some browsers drop the selection
$("bar").addEventListener("pointerdown", () => (pressed = true));
addEventListener("click", () => (pressed = false));

document.addEventListener("selectionchange", () => {
  if (!record() || pressed) return;
  const span = selected(parts);
  if (span) {
    if (same(span, chosen.target)) return;
    chosen.target = span;
    chosen.walk = null;
    return showBar();
  }
  const selection = getSelection();
  if (chosen.target && selection.rangeCount && selection.anchorNode?.parentElement?.closest(".text")) {
    chosen.resume = { part: chosen.target.part, at: chosen.target.start };
    chosen.target = chosen.walk = null;
    showBar();
  }
});

parts.addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  chosen.walk = null;
  choose({ part: Number(mark.closest(".text").dataset.part), start: Number(mark.dataset.start), end: Number(mark.dataset.end) });
});

for (const [id, action] of Object.entries({ back, undo, remove: toggle, next })) $(id).addEventListener("click", action);
$("help-button").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
$("hint-button").addEventListener("click", () => {
  localStorage.setItem("hint", "seen");
  $("hint").hidden = true;
});

async function stop() {
  try {
    await ask("stop");
    $("result").querySelector(".actions").replaceChildren("The screening is closed; you can close this page too.");
  } catch (problem) {
    notice(problem.message);
  }
}

// Holding on to the record while it is open here, and asking for one while others have the rest.

async function beat() {
  if (!record() || leaving) return;
  const { number, serial } = record();
  try {
    await ask("beat", { number, serial });
  } catch (problem) {
    if (problem.status === 409 && record()?.number === number) send("next");
    else if (problem.status !== 409) notice(problem.message);
  }
}

setInterval(beat, BEAT_SECONDS * 1000);
setInterval(() => !$("waiting").hidden && send("next"), POLL_SECONDS * 1000);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && beat());

send("next");
