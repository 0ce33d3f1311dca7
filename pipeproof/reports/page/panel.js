// The words around the picture. Everything is made of elements and text, never of markup.

/** An element with attributes and children; text is cleaned. */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  for (const child of children) {
    if (child != null) element.append(child instanceof Node ? child : clean(child));
  }
  return element;
};

const find = (id) => document.getElementById(id);

const SIGNS = { proved: "✓", refuted: "✗", unknown: "?", error: "!" };
const MOST_LISTED = 200;
const FEW = 4; // so many things that lead to it stand open

const badge = (verdict) =>
  make("span", { class: `badge ${verdict in SIGNS ? verdict : "unknown"}` }, `${SIGNS[verdict] ?? "?"} ${verdict}`);

const placeText = (place, path) => {
  const file = clean((place.file || path || "").split("/").pop(), 80);
  return place.line ? `${file}:${place.line}:${place.column}` : file;
};

/** Where a place stands: the second step and what lowering wrote in are no lines of the file. */
const standing = (place) => [
  `rank ${place.rank}, position ${place.position}`,
  place.step == null ? "" : "second step",
  place.lowered ? "written in by lowering" : "",
].filter(Boolean).join(", ");

const heading = (text) => make("h3", {}, text);

/** Put in place what stands in an element. */
const fill = (element, ...children) => element.replaceChildren(...children.filter((each) => each != null));

/** What is said first: the rule, its sentence, and where. */
const headline = (app) => {
  const { file, view, violation } = app;
  if (violation) return broken(app, violation);
  const verdict = view?.verdict ?? file.verdict;
  const said = {
    proved: `Every order that ${view?.transport ?? "the runtime"} allows is legal.`,
    unknown: "Not decided. What is open stands beside.",
    error: "The file could not be read.",
  };
  const what = make("p", { class: "sentence" }, file.errors?.[0] ?? said[verdict] ?? "");
  return [make("h2", {}, badge(verdict)), what];
};

const broken = (app, violation) => {
  const title = make("h2", {}, make("span", { class: "badge refuted" }, "✗ refuted"), make("code", {}, violation.rule), " ", violation.name);
  const places = make("ul", { class: "places" });
  for (const place of violation.at) places.append(make("li", {}, placeButton(app, place)));
  return [title, make("p", { class: "sentence" }, violation.message), places];
};

const placeButton = (app, place) => {
  const inside = [make("code", {}, clean(place.text, 60)), make("span", {}, standing(place)), make("span", { class: "quiet", title: clean(place.file || app.file.path, 200) }, placeText(place, app.file.path))];
  if (place.op < 0) return make("span", { class: "place" }, ...inside);
  return make("button", { type: "button", class: "place", on: () => app.show(place.op) }, ...inside);
};

/** What stands beside the picture. */
const panel = (app) => {
  const { view, violation, file } = app;
  const parts = [];
  if (violation?.note) parts.push(make("p", { class: "note" }, violation.note));
  if (violation) parts.push(...why(violation), ...cause(app, violation), ...further(violation));
  if (view?.violations.length > 1) parts.push(...others(app, view));
  parts.push(...open(view));
  for (const [title, notes] of [["Errors", file.errors], ["Notes", [...(file.notes ?? []), ...(view?.notes ?? [])]]]) {
    if (notes?.length) parts.push(heading(title), list(notes));
  }
  if (view) parts.push(...covered(app, view));
  return parts;
};

const list = (texts, kind = "ul") => make(kind, {}, ...texts.slice(0, MOST_LISTED).map((text) => make("li", {}, text)), more(texts));

const more = (all) => (all.length > MOST_LISTED ? make("li", { class: "quiet" }, `${all.length - MOST_LISTED} more`) : null);

/** What is no operation: the end of a program, or what stands nowhere. */
const extraText = (app, id) => {
  const extra = app.violation.slice.extra?.find((each) => each.id === id);
  return extra ? `${clean(extra.text, 80)} (rank ${extra.rank})` : "";
};

/** The events of the cause in words: what each has come to, and what joins them. */
const cause = (app, violation) => {
  const { grid } = app;
  const { slice } = violation;
  if (!grid || !slice) return [];
  const arrows = slice.arrows.filter(({ before, after, means }) => before !== -1 && after !== -1 && !ARROWS[means]?.isQuiet);
  const loud = arrows.filter(isLoud).map((arrow) => joined(app, arrow));
  const rest = arrows.filter((arrow) => !isLoud(arrow)).map((arrow) => joined(app, arrow));
  const isSaid = (said) => said === "written in by lowering" || (loud.length && /^waits for rank \d+$/.test(said));
  const told = slice.notes.filter(([, said]) => !isSaid(said)); // the card or an arrow says it
  const notes = told.map(([op, said]) => make("li", {}, opButton(app, op), ` ${clean(said, 200)}`));
  const states = new Map(slice.states);
  const stands = violation.at.filter((place) => !["done", undefined].includes(states.get(place.op))).map((place) => make("li", {}, opButton(app, place.op), `: ${clean(states.get(place.op), 80)}`));
  const left = slice.left_out ? make("p", { class: "quiet" }, `${slice.left_out} more events are part of the cause and are not drawn.`) : null;
  const parts = [heading("The cause"), make("ul", { class: "cause" }, ...loud, ...notes, ...stands)];
  if (rest.length) parts.push(make("details", { open: rest.length <= FEW && loud.length + notes.length < 3 }, make("summary", {}, `What leads to it (${rest.length})`), make("ul", {}, ...rest)));
  return left ? [...parts, left] : parts;
};

const JOINS = {
  message: ["sends", "to"],
  "taken for another message": ["sends", "which is taken by"],
  "puts what is read, or was there before": ["puts", "for"],
  "makes the weights that are read": ["makes the weights,", "read by"],
  "must come first, and nothing ensures it": ["must come first, and nothing makes it come before", ""],
  "takes place, and once more": ["has taken place, and takes place once more as", ""],
  "takes away what is needed": ["takes away what is needed by", ""],
  "must agree, and does not": ["must agree, and does not, with", ""],
  "the message that the receive names": ["is the message that is named by", ""],
};

/** An arrow as a sentence: one operation, what it does for the other, and the other. */
const joined = (app, { before, after, means, label }) => {
  const [does, to] = JOINS[means] ?? [means, ""];
  const what = to ? clean(label || "something", 80) : "";
  const more = !to && label ? make("span", { class: "quiet" }, ` (${clean(label, 80)})`) : null;
  const isAlike = before >= 0 && after >= 0 && app.grid.said(before) === app.grid.said(after);
  const [one, other] = [before, after].map((op) => opButton(app, op, isAlike));
  return make("li", {}, one, ` ${clean([does, what, to].filter(Boolean).join(" "))} `, other, more);
};

const opButton = (app, op, isPlaced = false) =>
  op < 0 ? make("span", { class: "op" }, extraText(app, op)) : make("button", { type: "button", class: "op", on: () => app.show(op), title: app.grid.stands(op) }, app.grid.said(op, 40), isPlaced ? `, ${app.grid.stands(op)}` : null);

/** Why it is bad and what to do, before all that leads to it. */
const why = (violation) => {
  const parts = [heading("Why it breaks training"), make("p", {}, violation.why)];
  return violation.change ? [...parts, heading("What to change"), make("p", {}, violation.change)] : parts;
};

/** Where to read on, and what else is known. */
const further = (violation) => {
  const parts = [];
  const line = make("p", { class: "quiet" }, "More: ", make("code", {}, `pipeproof explain ${clean(violation.rule, 12)}`));
  const seen = violation.confirmation;
  if (seen) parts.push(heading("Seen on tensors"), make("p", {}, `${clean(seen.answer)}. ${clean(seen.why ?? "")}`));
  if (seen?.witness) parts.push(make("p", { class: "quiet" }, seen.witness));
  if (!violation.reached) parts.push(make("p", { class: "quiet" }, "No execution comes to it; the program itself shows it."));
  return [...parts, line];
};

const others = (app, view) => {
  const items = view.violations.slice(0, MOST_LISTED).map((violation, k) => {
    const at = violation.at[0] ? ` at r${violation.at[0].rank}.${violation.at[0].position}` : "";
    const first = violation.first ? make("span", { class: "tag" }, "first") : null;
    const name = make("span", {}, make("code", {}, violation.rule), ` ${clean(violation.name, 60)}${at} `);
    const said = make("span", { class: "quiet" }, clean(violation.message, 120));
    return make("li", {}, make("button", { type: "button", class: "choice", "aria-current": app.chosen === k && "true", on: () => app.choose(k) }, name, first, said));
  });
  const all = make("ul", { class: "choices" }, ...items, more(view.violations));
  return [make("section", { class: "others" }, heading(`Violations (${view.violations.length})`), all)];
};

const open = (view) => {
  const parts = [];
  if (view?.unknown.length) parts.push(heading("Not decided"), list(view.unknown.map(({ rule, why }) => `${rule}: ${why}`)));
  if (view?.warnings.length) parts.push(heading("Warnings"), list(view.warnings.map(({ rule, message }) => `${rule}: ${message}`)));
  return parts;
};

const covered = (app, view) => {
  const facts = app.file.facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat();
  const said = [["transport", view.transport], ["decided by", view.engine], ["assumes", view.assumes.join(", ")]];
  const about = said.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  return [heading("What this is about"), make("dl", { class: "facts" }, ...about, ...facts)];
};

/** The tables of a step: a name, its value before and after; what changed is marked by a sign too. */
const stateTables = (steps, step) => {
  const tables = steps.tables(step).filter((table) => table.rows.length);
  if (!tables.length) return [make("p", { class: "quiet" }, "The file describes no storage, versions or channels, so there is no state to show.")];
  return tables.map(({ group, rows, more }) => {
    const body = rows.map((row) =>
      make("tr", { class: row.changed ? "changed" : "" },
        make("th", { scope: "row" }, row.changed ? make("span", { class: "mark", role: "img", "aria-label": "changed" }, "●") : null, row.name),
        make("td", {}, row.before || "–"), make("td", {}, row.after || "–")));
    const head = make("tr", {}, ...[group, "before", "after"].map((name) => make("th", { scope: "col" }, name)));
    const left = more ? make("caption", {}, `${group}: ${more} more that do not fit`) : make("caption", { class: "hidden" }, group);
    return make("table", {}, left, make("thead", {}, head), make("tbody", {}, ...body));
  });
};

/** What is known of an operation, for the card beside it. */
const cardOf = (app, op) => {
  const { grid, scene } = app;
  const lines = [make("code", {}, grid.said(op, 120)), make("span", { class: "quiet" }, ` ${kindText(grid, op)}`)];
  const at = [grid.stands(op)];
  if (grid.stage[op] >= 0) at.push(`stage ${grid.stage[op]}`);
  if (grid.microbatch[op] >= 0) at.push(`microbatch ${grid.microbatch[op]}`);
  const parts = [make("p", {}, ...lines), make("p", {}, at.join(" · "))];
  const state = new Map(app.violation?.slice?.states ?? []).get(op) ?? STATES[app.stateOf(op)];
  const from = +scene.left[op].toFixed(4);
  parts.push(make("p", {}, state, scene.happened[op] === 1 ? `, from ${from}${scene.isMark[op] ? "" : ` to ${+scene.right[op].toFixed(4)}`}` : ""));
  for (const [noted, said] of app.violation?.slice?.notes ?? []) if (noted === op) parts.push(make("p", {}, said));
  if (grid.added?.[op]) parts.push(make("p", { class: "quiet" }, "written in by lowering"));
  if (grid.copy?.[op]) parts.push(make("p", { class: "quiet" }, "of the second step"));
  if (grid.line?.[op] > 0) parts.push(make("p", { class: "quiet" }, `defined at ${clean(app.file.path, 80)}:${grid.line[op]}:${grid.column[op]}`));
  return parts;
};

const STATES = { done: "done", begun: "started, not done", later: "has not started" };
const WORDS = {
  F: "forward", B: "backward", I: "input gradient", W: "weight gradient", R: "recomputation", L: "loss",
  SEND: "send", RECV: "receive", SEND_F: "send", RECV_F: "receive", SEND_B: "send", RECV_B: "receive",
};
const kindText = (grid, op) => WORDS[grid.kinds[grid.kind[op]]] ?? clean(grid.kinds[grid.kind[op]] ?? "", 20);

const KEYS = [
  ["← →", "event before, next event"],
  ["Home End", "first event, last event"],
  ["Space", "play, pause"],
  ["↑ ↓", "operation above, below"],
  ["[ ]", "operation before, next in the program"],
  ["Enter", "show all that comes before and after it"],
  ["N P", "next, previous violation"],
  ["G", "go to the first illegal event"],
  ["F + −", "show everything, zoom in, zoom out"],
  ["Shift and arrows", "move the picture"],
  ["D", "dim what is not part of the cause"],
  ["C", "colour by microbatch"],
  ["/", "find: Enter goes to the next"],
  ["?", "these keys"],
  ["Esc", "close, let go"],
];
