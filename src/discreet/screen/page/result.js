// The end of a screening: figures, files, and what to do with them.

const percent = (share) => (share === null ? "none" : (100 * share).toFixed(2) + "\u00a0%");
const between = (interval) => (interval === null ? "" : `${percent(interval[0])} to ${percent(interval[1])}`);

function element(name, text, properties = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, properties);
}

function row(name, share, what) {
  const made = element("tr");
  made.append(element("th", name, { scope: "row" }));
  const cells = [["share", percent(share.share)], ["95 % interval", between(share.interval)], ["drawn by record", between(share.interval_by_record)], ["of", `${share.count.toLocaleString("en")} of ${share.total.toLocaleString("en")} ${what}`]];
  for (const [label, text] of cells) {
    const cell = element("td", text);
    cell.dataset.label = label;
    made.append(cell);
  }
  return made;
}

export function showResult(section, result, { onBack, onStop, canBack }) {
  const table = element("table", undefined, { className: "figures" });
  const head = element("tr");
  for (const title of ["", "share", "95 % interval", "drawn by record", "of"]) head.append(element("th", title, { scope: "col" }));
  table.append(head);
  table.append(row("Miss rate", result.miss_rate, "secrets"), row("Recall", result.recall, "secrets"));
  table.append(row("Precision", result.precision, "found"), row("Missed tokens", result.tokens, "tokens"));

  const kinds = Object.entries(result.by_kind).map(([kind, [missed, total]]) => `${kind} ${missed} of ${total}`);
  const rate = result.miss_rate;
  const headline = rate.total
    ? `The policy missed ${rate.count} of ${rate.total} secrets: ${percent(rate.share)}, with 95 % confidence between ${between(rate.interval).replace("to", "and")}.`
    : "There is no secret in these records, so there is no miss rate.";
  const files = element("ul", undefined, { className: "files" });
  for (const file of result.files) files.append(element("li", file));

  const actions = element("div", undefined, { className: "line actions" });
  const back = element("button", "Back to the last record", { type: "button", className: "quiet", disabled: !canBack });
  const stop = element("button", "Close the screening", { type: "button", className: "main", id: "stop" });
  back.addEventListener("click", onBack);
  stop.addEventListener("click", onStop);
  actions.append(back, stop);

  const title = element("h2", `All ${result.screened} records are screened`, { tabIndex: -1 });
  section.replaceChildren(
    title,
    element("p", headline, { className: "headline" }),
    table,
    element("p", kinds.length ? "Missed by kind: " + kinds.join(", ") + "." : ""),
    element("p", `Drawn from ${result.population.toLocaleString("en")} records with seed ${result.seed}. The first interval is Clopper-Pearson's; the second draws whole records. Written for jft:`),
    files,
    actions,
  );
  scrollTo({ top: 0 });
  title.focus({ preventScroll: true }); // and not the button: a last press of Space must not close it
}
