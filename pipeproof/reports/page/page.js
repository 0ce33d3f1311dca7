// The page: what is open, how it is steered, and when it is drawn.

const NEAR = 40; // how far a key moves the picture
const MOST_ROWS = 120;
const MOST_CONE = 4000;
const MOST_HITS = 2000;
const WAIT = 700;

class App {
  constructor(data) {
    this.data = data;
    this.palette = new Palette();
    this.camera = { scaleX: 1, scaleY: 1 };
    this.isByMicrobatch = false;
    this.isOnlyCause = true;
    this.hits = new Set();
    this.found = [];
    this.scenes = new Map();
    this.grids = new Map();
    this.executions = new Map();
    this.forget();
  }

  forget() {
    this.hover = this.focus = this.pinned = -1;
    this.cone = null;
    this.lit = new Map();
    this.litArrows = [];
  }

  // what is open

  get file() {
    return this.data.files[this.fileNumber];
  }

  get view() {
    return this.file.views[this.viewNumber] ?? null;
  }

  get violation() {
    return this.view?.violations[this.chosen] ?? null;
  }

  /** Open a file, a transport and a violation; where nothing is asked for, the first refuted. */
  async open({ file = 0, view = null, violation = null, step = null, op = null } = {}) {
    this.pause();
    this.fileNumber = file;
    this.viewNumber = view ?? usualView(this.file);
    this.chosen = violation ?? usualViolation(this.view);
    this.forget();
    this.hits.clear();
    await this.load();
    this.step = this.steps ? Math.min(step ?? this.steps.last, this.steps.last) : null;
    this.isStepping = step !== null && this.step !== null;
    this.extras = this.scene ? placed(this) : new Map();
    this.told = false;
    this.fillAll();
    this.resize();
    this.aim();
    if (op !== null && this.grid && op < this.grid.count) {
      await this.grid.more();
      this.pin(op);
      this.bring(op);
    }
    this.draw();
    this.address();
  }

  async load() {
    const { view, violation } = this;
    this.grid = this.scene = this.steps = null;
    if (!view?.grid) return;
    const layout = view.layouts[violation ? violation.layout : 0];
    const steps = violation ? violation.steps : view.steps;
    const held = view.grid.same === undefined ? view.grid : this.file.views[view.grid.same].grid;
    this.grid = await kept(this.grids, held, () => Grid.of(held));
    const { grid } = this;
    if (layout) this.scene = await kept(this.scenes, layout, () => Scene.of(grid, layout));
    if (steps) this.steps = await kept(this.executions, steps, () => Steps.of(steps, grid.count));
    const { slice, at } = violation ?? {};
    this.sliced = slice ? new Set([...slice.ops, ...at.map((place) => place.op)]) : null;
  }

  choose(violation) {
    return this.open({ file: this.fileNumber, view: this.viewNumber, violation });
  }

  // what is seen

  /** How far an operation is where the step that is open ends. */
  stateOf(op) {
    const { scene, steps, step } = this;
    const isOver = scene.happened[op] === 1;
    if (!steps) return ["later", "done", "begun"][scene.happened[op]];
    const first = steps.firstOf[op];
    if (first < 0) return this.#untold(op, isOver);
    if (first > step) return "later";
    return steps.lastOf[op] <= step && isOver ? "done" : "begun";
  }

  /** An operation without events of its own happens when the operations around it do. */
  #untold(op, isOver) {
    const { scene, steps, step } = this;
    if (!isOver || step === steps.last) return ["later", "done", "begun"][scene.happened[op]];
    const now = steps.op[step];
    return now >= 0 && scene.left[op] < scene.left[now] ? "done" : "later";
  }

  isDimmed(op) {
    if (this.cone) return !this.cone.has(op);
    return this.isOnlyCause && this.sliced !== null && !this.sliced.has(op);
  }

  /** What the numbers along the top are. */
  get axis() {
    return this.scene?.held.axis ?? "";
  }

  get first() {
    return this.violation?.at.find((place) => place.op >= 0)?.op ?? -1;
  }

  get current() {
    return this.steps && this.isStepping ? this.steps.op[this.step] : -1;
  }

  /** What the painter is told. */
  shown(camera) {
    const slice = this.isOnlyCause && !this.cone ? this.violation?.slice?.arrows ?? [] : [];
    const known = new Set(this.litArrows.map(({ before, after }) => `${before} ${after}`));
    return {
      camera,
      isByMicrobatch: this.isByMicrobatch,
      state: (op) => this.stateOf(op),
      isDimmed: (op) => this.isDimmed(op),
      first: this.first,
      rule: clean(this.violation?.rule ?? "", 12),
      named: new Set(this.violation?.at.map((place) => place.op).filter((op) => op >= 0) ?? []),
      cause: this.isOnlyCause && !this.cone ? [...(this.sliced ?? [])].filter((op) => op >= 0) : [],
      current: this.current,
      focus: this.focus >= 0 ? this.focus : this.pinned,
      lit: this.lit,
      hits: this.hits,
      extras: this.isOnlyCause && !this.cone ? this.extras : new Map(),
      arrows: [...slice.filter((arrow) => !known.has(`${arrow.before} ${arrow.after}`) && this.#isYet(arrow)), ...this.litArrows],
      axis: clean(this.axis.split(",")[0].slice(0, 10)),
    };
  }

  /** Whether an arrow of the cause leads between what has begun at the step that is open. */
  #isYet({ before, after }) {
    if (!this.isStepping || this.step === this.steps.last) return true;
    return [before, after].every((op) => op < 0 || this.stateOf(op) !== "later");
  }

  get seenCamera() {
    const view = find("view");
    return { ...this.camera, panX: view.scrollLeft, panY: view.scrollTop, width: view.clientWidth, height: view.clientHeight };
  }

  draw() {
    if (!this.scene || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      if (!this.scene) return; // another file is being opened since
      if (this.isOnPaper) this.paint(paperCamera(this), 2);
      else this.paint();
    });
  }

  paint(camera = this.seenCamera, ratio = devicePixelRatio || 1) {
    const canvas = find("picture");
    const [width, height] = [Math.round(camera.width * ratio), Math.round(camera.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    canvas.style.width = `${camera.width}px`;
    canvas.style.height = `${camera.height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    new Painter(this.scene, this.shown(camera), this.palette, context).paint();
    if (!this.isDrawn) performance.mark("pipeproof-drawn");
    this.isDrawn = true;
    this.later();
  }

  /** What is not needed for the first picture: edges, and the table for readers. */
  later() {
    clearTimeout(this.waiting);
    const { grid } = this;
    this.waiting = setTimeout(async () => {
      await grid.more();
      if (grid !== this.grid || !this.scene) return;
      fillTable(this);
      if (!this.told && grid.group.some((group) => group >= 0)) this.draw();
      this.told = true;
    }, 60);
  }

  /** What is drawn, as data: for tests. */
  drawn() {
    const record = { boxes: [], arrows: [], extras: [], brackets: [], labels: [], frontier: null };
    const camera = this.scene ? this.seenCamera : null;
    if (this.scene) {
      const context = document.createElement("canvas").getContext("2d");
      new Painter(this.scene, this.shown(camera), this.palette, context, record).paint();
    }
    const { fileNumber: file, chosen: violation, step, pinned, focus } = this;
    const said = (id) => find(id).innerText;
    return {
      ...record, file, view: this.view?.transport ?? null, violation, step, pinned, focus, camera,
      steps: this.steps?.count ?? 0, headline: said("headline"), panel: said("panel"),
      event: said("step-said"), tables: this.steps?.tables(this.step) ?? [],
    };
  }

  // the camera

  resize() {
    const { scene } = this;
    if (!scene) return;
    const view = find("view");
    const high = Math.ceil(scene.height * this.camera.scaleY + TOP + 6);
    view.style.setProperty("--content", `${high}px`);
    const sizer = find("sizer");
    sizer.style.width = `${Math.ceil(ORIGIN + scene.span * this.camera.scaleX + 16)}px`;
    sizer.style.height = `${high}px`;
  }

  get room() {
    const view = find("view");
    return { width: view.clientWidth - ORIGIN - 16, height: Number.parseFloat(getComputedStyle(view).maxHeight) - TOP - 8 || view.clientHeight };
  }

  /** Choose a scale at which texts can be read, and go to what is illegal. */
  aim() {
    const { scene } = this;
    if (!scene) return;
    const { width, height } = this.room;
    const ops = [...(this.sliced ?? [])].filter((op) => op >= 0);
    const readable = scene.readable(ops);
    const whole = width / scene.span;
    if (whole >= (ops.length ? 0.9 : 0.62) * readable) this.camera.scaleX = Math.min(whole, 1.8 * readable);
    else {
      const { left, right } = ops.length ? scene.around(ops) : { left: 0, right: scene.span };
      const room = width / (right - left + 2 * scene.step.length);
      this.camera.scaleX = Math.min(readable, Math.max(0.62 * readable, room));
    }
    this.camera.scaleY = Math.min(1.35, Math.max(0.8, height / scene.height));
    this.resize();
    const view = find("view");
    view.scrollTo(0, 0);
    const op = this.first >= 0 ? this.first : this.current;
    if (op >= 0) this.bring(op);
  }

  fit() {
    const { scene } = this;
    const { width, height } = this.room;
    this.camera.scaleX = Math.min(width / scene.span, 3 * scene.readable());
    this.camera.scaleY = Math.min(1.35, height / scene.height);
    this.resize();
    this.draw();
  }

  zoom(factor, atX = null, atY = null) {
    if (!this.scene) return;
    const view = find("view");
    const [x, y] = [atX ?? view.clientWidth / 2, atY ?? view.clientHeight / 2];
    const { scaleX, scaleY } = this.camera;
    const time = (x - ORIGIN + view.scrollLeft) / scaleX;
    const high = (y - TOP + view.scrollTop) / scaleY;
    const readable = this.scene.readable();
    const least = Math.min(scaleX, (0.9 * this.room.width) / this.scene.span);
    this.camera.scaleX = Math.min(8 * readable, Math.max(least, scaleX * factor));
    this.camera.scaleY = Math.min(2, Math.max(Math.min(scaleY, 0.1), scaleY * factor ** 0.5));
    this.resize();
    view.scrollTo(time * this.camera.scaleX - x + ORIGIN, high * this.camera.scaleY - y + TOP);
    this.draw();
  }

  /** Scroll so that an operation can be seen, with some of what is around it. */
  bring(op) {
    const view = find("view");
    const { x, y, width, height } = this.scene.box(op);
    const { scaleX, scaleY } = this.camera;
    const wide = view.clientWidth - ORIGIN;
    const high = view.clientHeight - TOP;
    const [left, right] = [x * scaleX - view.scrollLeft, (x + width) * scaleX - view.scrollLeft];
    if (left < 40 || right > wide - 90) view.scrollLeft = x * scaleX - wide * 0.55;
    const [top, bottom] = [y * scaleY - view.scrollTop, (y + height) * scaleY - view.scrollTop];
    if (top < 20 || bottom > high - 30) view.scrollTop = y * scaleY - high * 0.45;
  }

  // operations

  /** Light what an operation comes after and what comes after it. */
  async light(op) {
    this.lit = new Map();
    this.litArrows = [];
    const { grid } = this;
    if (op >= 0) {
      await grid.more();
      for (const isBefore of [true, false]) {
        for (const [other, means] of grid.near(op, isBefore)) {
          this.lit.set(other, isBefore ? "cause" : "effect");
          const [before, after] = isBefore ? [other, op] : [op, other];
          this.litArrows.push({ before, after, means, label: "", isLit: true });
        }
      }
      this.lit.set(op, "self");
    }
    this.draw();
  }

  /** Keep an operation open with everything that comes before and after it. */
  pin(op) {
    this.pinned = this.pinned === op ? -1 : op;
    this.cone = this.pinned < 0 ? null : cone(this.grid, this.pinned);
    this.light(this.pinned);
    this.address();
  }

  show(op) {
    this.focusOn(op);
    find("picture").focus({ preventScroll: true });
  }

  /** Move to an operation: it is brought into sight, lit and told. */
  focusOn(op) {
    if (op < 0 || !this.scene) return;
    this.focus = op;
    this.bring(op);
    this.light(op);
    this.card(op);
    const { grid } = this;
    this.tell(`${grid.said(op)}, ${kindText(grid, op)}, ${grid.stands(op)}, ${STATES[this.stateOf(op)]}`);
  }

  letGo() {
    this.forget();
    this.hits.clear();
    find("card").hidden = true;
    this.address();
    this.draw();
  }

  async card(op) {
    const card = find("card");
    card.hidden = op < 0;
    if (op < 0) return;
    await this.grid.more();
    fill(card, ...cardOf(this, op));
    const [box, view] = [this.scene.box(op), find("view")];
    const x = ORIGIN + box.x * this.camera.scaleX - view.scrollLeft;
    const y = TOP + (box.y + box.height) * this.camera.scaleY - view.scrollTop;
    const room = view.clientWidth - card.offsetWidth - 8;
    card.style.left = `${view.offsetLeft + Math.max(4, Math.min(x, room))}px`;
    card.style.top = `${view.offsetTop + Math.min(y, view.clientHeight) + 10}px`;
  }

  tell(text) {
    find("live").textContent = text;
  }

  // stepping

  go(step) {
    if (!this.steps || !this.steps.count) return;
    this.step = Math.max(0, Math.min(step, this.steps.last));
    this.isStepping = true;
    fillStep(this);
    const op = this.steps.op[this.step];
    if (this.scene && op >= 0) this.bring(op);
    this.tell(find("step-said").textContent);
    this.address();
    this.draw();
  }

  play() {
    if (this.playing || !this.steps) return this.pause();
    if (this.step === this.steps.last) this.go(0);
    find("step-play").setAttribute("aria-label", "Pause");
    this.playing = setInterval(() => (this.step < this.steps.last ? this.go(this.step + 1) : this.pause()), WAIT);
    return null;
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    find("step-play").setAttribute("aria-label", "Play");
  }

  // finding

  search(text) {
    const wanted = text.trim().toLowerCase();
    this.hits.clear();
    this.found = wanted && this.grid ? matching(this.grid, wanted) : [];
    for (const op of this.found.slice(0, MOST_HITS)) this.hits.add(op);
    this.hit = -1;
    const number = this.found.length;
    find("hits").textContent = wanted ? `${number} found` : "";
    this.draw();
  }

  next(way) {
    const number = this.found.length;
    if (!number) return;
    this.hit = (this.hit + way + number + (this.hit < 0 && way < 0 ? 1 : 0)) % number;
    find("hits").textContent = `${this.hit + 1} of ${number}`;
    this.focusOn(this.found[this.hit]);
  }

  // the address

  address() {
    const said = new URLSearchParams();
    if (this.fileNumber) said.set("file", this.fileNumber);
    if (this.view) said.set("view", this.view.transport);
    if (this.violation) said.set("violation", this.chosen);
    if (this.isStepping) said.set("step", this.step);
    if (this.pinned >= 0) said.set("op", this.pinned);
    const fragment = `#${said}`;
    if (fragment !== location.hash) history.replaceState(null, "", fragment);
  }

  /** What an address asks for; what is not there is left out. */
  asked() {
    const said = new URLSearchParams(location.hash.slice(1));
    const number = (name, count) => {
      const text = said.get(name) ?? "";
      return /^[0-9]{1,9}$/.test(text) && Number(text) < count ? Number(text) : null;
    };
    const file = number("file", this.data.files.length) ?? 0;
    const views = this.data.files[file].views;
    const named = views.findIndex((each) => each.transport === said.get("view"));
    const view = named >= 0 ? named : usualView(this.data.files[file]);
    const violations = views[view]?.violations ?? [];
    const violation = number("violation", violations.length) ?? usualViolation(views[view]);
    const steps = (violations[violation] ?? views[view])?.steps;
    return { file, view, violation, step: steps ? number("step", lengthOf(steps.op)) : null, op: number("op", 2 ** 31) };
  }

  // the words

  fillAll() {
    const { file, view, data } = this;
    document.title = `${clean(view?.verdict ?? file.verdict)}: ${clean(file.title || file.path, 80)}`;
    fill(find("name"), clean(file.title || file.path, 120));
    const facts = file.facts.map(([name, value]) => `${name} ${value}`).slice(0, 6);
    const path = file.title && file.title !== file.path ? [clean(file.path, 160)] : [];
    fill(find("facts"), clean([...path, ...facts, data.tool].join(" · "), 300));
    fill(find("headline"), ...headline(this));
    fill(find("panel"), ...panel(this));
    fillChoices(this);
    const isThere = Boolean(this.scene);
    for (const id of ["view", "legend"]) find(id).hidden = !isThere;
    for (const id of ["zoom-in", "zoom-out", "fit", "colour", "search"]) find(id).disabled = !isThere;
    for (const id of ["go", "cause"]) find(id).hidden = !this.violation;
    find("no-picture").hidden = isThere;
    fill(find("no-picture"), clean(view?.no_grid ?? "There is no schedule to draw."));
    if (isThere) fillLegend(this);
    fillStep(this);
  }
}

/** What is opened first: a transport under which something is wrong, and its first violation. */
const usualView = (file) => Math.max(0, file.views.findIndex((each) => each.verdict === "refuted"));
const usualViolation = (view) => Math.max(0, (view?.violations ?? []).findIndex((each) => each.first));

const kept = async (map, key, load) => {
  if (!map.has(key)) map.set(key, await load());
  return map.get(key);
};

/** Where what is no operation is drawn: after the last of its rank, or beside what it belongs to. */
const placed = ({ scene, grid, violation }) => {
  const found = new Map();
  for (const { id, rank, text, state } of violation?.slice?.extra ?? []) {
    const held = { rank, text: clean(text, 60), lane: 0, time: 0 };
    const arrow = violation.slice.arrows.find(({ before, after }) => [before, after].includes(id));
    const partner = arrow && Math.max(arrow.before, arrow.after);
    if (state === "stands nowhere" && partner >= 0) {
      const lane = { 1: 2, 2: 1 }[grid.lane[partner]] ?? 0;
      held.lane = scene.hasLane[lane] ? lane : grid.lane[partner];
      held.time = arrow.before === id ? Math.max(0, scene.left[partner] - scene.step.length) : scene.left[partner] + 0.3 * scene.step.length;
    } else {
      for (let lane = 0; lane < LANES.length; lane++) {
        const end = scene.laneStart[rank * LANES.length + lane + 1];
        if (end > scene.laneStart[rank * LANES.length + lane]) held.time = Math.max(held.time, scene.furthest[end - 1]);
      }
    }
    found.set(id, held);
  }
  return found;
};

const lengthOf = (packed) => (Array.isArray(packed) ? packed.length : packed?.n ?? 0);

/** An operation with all that happens before it and after it, up to a number. */
const cone = (grid, op) => {
  const found = new Set([op]);
  for (const isBefore of [true, false]) {
    const todo = [op];
    for (let k = 0; k < todo.length && found.size < MOST_CONE; k++) {
      for (const [other] of grid.near(todo[k], isBefore)) {
        if (!found.has(other)) {
          found.add(other);
          todo.push(other);
        }
      }
    }
  }
  return found;
};

/** Operations whose text holds what is wanted, or the one at rank and position (r1.3). */
const matching = (grid, wanted) => {
  const place = /^r(\d+)\.(\d+)$/.exec(wanted);
  const found = [];
  const written = grid.written ?? grid.position;
  for (let op = 0; op < grid.count; op++) {
    if (place ? grid.rank[op] === +place[1] && written[op] === +place[2] : grid.whole(op).toLowerCase().includes(wanted)) found.push(op);
  }
  return found.sort((a, b) => grid.rank[a] - grid.rank[b] || grid.position[a] - grid.position[b]);
};

// the parts of the page

const fillChoices = (app) => {
  const { data, file } = app;
  find("choose-file").hidden = data.files.length < 2;
  const options = data.files.map((each, k) => make("option", { value: k, selected: k === app.fileNumber }, `${SIGNS[each.verdict] ?? ""} ${clean(each.path, 120)}`));
  fill(find("files"), ...options);
  const tabs = file.views.map((view, k) => {
    const on = () => app.open({ file: app.fileNumber, view: k });
    const sign = make("span", { class: `sign ${view.verdict in SIGNS ? view.verdict : "unknown"}`, "aria-hidden": "true" }, SIGNS[view.verdict] ?? "?");
    const said = make("span", { class: "hidden" }, `: ${view.verdict}`);
    return make("button", { type: "button", class: "tab", "aria-current": k === app.viewNumber && "true", on }, sign, clean(view.transport, 40), said);
  });
  fill(find("views"), ...tabs);
};

const fillStep = (app) => {
  const { steps, step, view, violation } = app;
  const isThere = Boolean(steps?.count);
  const lacks = clean(violation?.no_steps || view?.no_steps || "");
  find("stepper").hidden = !isThere && (!view?.grid || !lacks);
  for (const id of ["step-buttons", "slider"]) find(id).hidden = !isThere;
  find("state").hidden = !isThere;
  if (!isThere) {
    fill(find("step-said"), lacks);
    return;
  }
  const slider = find("slider");
  slider.max = steps.last;
  slider.value = step;
  const op = steps.op[step];
  const what = op >= 0 ? `${app.grid.said(op, 60)} of rank ${app.grid.rank[op]}` : "";
  slider.setAttribute("aria-valuetext", `${step + 1} of ${steps.count}: ${what} ${steps.phaseOf(step)}`);
  const end = step === steps.last && violation ? make("span", { class: "tag" }, "last") : null;
  fill(find("step-said"), make("span", { class: "quiet" }, `event ${step + 1} of ${steps.count}: `), make("code", {}, what), make("span", {}, ` ${steps.phaseOf(step)} `), ...(end ? [end] : []));
  fill(find("state"), ...stateTables(steps, step));
};

const fillLegend = (app) => {
  const { grid } = app;
  const wanted = new Map();
  for (let op = 0; op < grid.count; op++) {
    const kind = grid.kinds[grid.kind[op]];
    const name = grid.lane[op] === 0 ? kind : ["", "send", "receive", "other"][grid.lane[op]];
    if (!wanted.has(name)) wanted.set(name, [kind, grid.lane[op]]);
    if (wanted.size > 12) break;
  }
  const order = ["F", "B", "I", "W"];
  const names = [...wanted.keys()].sort((a, b) => (order.indexOf(a) + 9) % 9 - (order.indexOf(b) + 9) % 9 || (a < b ? -1 : 1));
  const items = names.map((name) => {
    const [kind, lane] = wanted.get(name);
    return make("li", {}, swatch(app, kind, lane, "done"), clean(WORDS[name] ? `${name} ${WORDS[name]}` : name, 24));
  });
  items.push(make("li", {}, swatch(app, "", 0, "idle"), "idle"));
  if (app.scene.happened.includes(0)) items.push(make("li", {}, swatch(app, "F", 0, "begun"), "started, not done"), make("li", {}, swatch(app, "F", 0, "later"), "has not started"));
  if (app.violation) items.push(make("li", {}, make("span", { class: "ring", "aria-hidden": "true" }), "named by the rule"));
  if (app.axis.includes(",")) items.push(make("li", {}, `across: ${clean(app.axis, 80)}`));
  fill(find("legend"), ...items);
};

/** A box as the picture draws it. */
const swatch = (app, kind, lane, state) => {
  const canvas = make("canvas", { width: 48, height: 32, class: "swatch", "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  const { palette } = app;
  if (state === "idle") {
    context.fillStyle = palette.lane;
    context.fillRect(0, 0, 24, 16);
    context.fillStyle = palette.hatch(context, "rising", palette.faint);
    context.fillRect(0, 0, 24, 16);
    return canvas;
  }
  const look = palette.look(kind, lane, -1, false);
  Painter.body(context, palette, { x: 0.5, y: 0.5, width: 23, height: 15 }, look, state);
  return canvas;
};

/** The table for those who do not see the picture: what is named, the cause, then what is in sight. */
const fillTable = (app) => {
  const { grid, scene, violation } = app;
  const painter = new Painter(scene, app.shown(app.seenCamera), app.palette, null);
  const seen = [...new Set([...(app.sliced ?? []), ...painter.inSight(MOST_ROWS)])].filter((op) => op >= 0).slice(0, MOST_ROWS);
  const named = new Set(violation?.at.map((place) => place.op) ?? []);
  const rows = seen.map((op) => {
    const role = named.has(op) ? "named by the rule" : app.sliced?.has(op) ? "part of the cause" : "";
    const cells = [grid.rank[op], grid.written[op], grid.stage[op] < 0 ? "" : grid.stage[op], grid.microbatch[op] < 0 ? "" : grid.microbatch[op], STATES[app.stateOf(op)], role];
    return make("tr", {}, make("th", { scope: "row" }, grid.said(op)), ...cells.map((cell) => make("td", {}, String(cell))));
  });
  const names = ["operation", "rank", "position", "stage", "microbatch", "state", "part"];
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
  const caption = `Operations in the cause and in sight: ${rows.length} of ${grid.count}; ${grid.count - rows.length} are left out.`;
  fill(find("table"), make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows)));
};

// steering

const isTyping = (target) => target.matches("input:not([type=range]), select, textarea");

const keysOf = (app) => ({
  ArrowLeft: () => app.go(app.step - 1),
  ArrowRight: () => app.go(app.step + 1),
  Home: () => app.go(0),
  End: () => app.go(app.steps?.last ?? 0),
  " ": () => app.play(),
  ArrowUp: () => app.focusOn(app.scene.across(start(app), -1)),
  ArrowDown: () => app.focusOn(app.scene.across(start(app), 1)),
  "[": () => beside(app, -1),
  "]": () => beside(app, 1),
  Enter: () => app.focus >= 0 && app.pin(app.focus),
  n: () => other(app, 1),
  p: () => other(app, -1),
  g: () => app.aim() ?? app.draw(),
  f: () => app.fit(),
  d: () => find("cause").click(),
  c: () => find("colour").click(),
  "+": () => app.zoom(1.3),
  "=": () => app.zoom(1.3),
  "-": () => app.zoom(1 / 1.3),
  "/": () => find("search").focus(),
  "?": () => find("help").showModal(),
  Escape: () => app.letGo(),
});

const start = (app) => [app.focus, app.pinned, app.current, app.first].find((op) => op >= 0) ?? 0;

const beside = async (app, way) => {
  await app.grid.more();
  const from = start(app);
  app.focusOn(app.focus < 0 ? from : Math.max(-1, app.grid.beside(from, way)));
};

const other = (app, way) => {
  const number = app.view?.violations.length ?? 0;
  if (number > 1) app.choose((app.chosen + way + number) % number);
};

const PANS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Keys steer from everywhere but from fields and lists that need them themselves. */
const onKey = (app, keys, event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || find("help").open || isTyping(target)) return;
  const isButton = target.matches("button, [type=range]");
  if (isButton && (key === " " || key === "Enter")) return;
  if (!event.shiftKey && target.matches(".panel, .state") && ["ArrowUp", "ArrowDown"].includes(key)) return;
  const pan = event.shiftKey && PANS[key];
  const act = pan ? () => find("view").scrollBy(pan[0] * NEAR, pan[1] * NEAR) : keys[key] ?? keys[key.toLowerCase()];
  if (!act || (!app.scene && key !== "?")) return;
  event.preventDefault();
  act();
};

const onPointer = (app) => {
  const view = find("view");
  const canvas = find("picture");
  let from = null;
  const opAt = (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    if (x < GUTTER || y < AXIS || !app.scene) return -1;
    return app.scene.at((x - ORIGIN + view.scrollLeft) / app.camera.scaleX, (y - TOP + view.scrollTop) / app.camera.scaleY);
  };
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop, isMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from) {
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      from.isMoved ||= Math.hypot(x, y) > 4;
      if (from.isMoved && event.pointerType === "mouse") view.scrollTo(from.left - x, from.top - y);
      return;
    }
    const op = opAt(event);
    if (op === app.hover) return;
    app.hover = op;
    app.light(op >= 0 ? op : app.pinned);
    app.card(op);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from && !from.isMoved) {
      const op = opAt(event);
      app.focus = op;
      if (op >= 0) app.grid.more().then(() => app.pin(op));
      else app.letGo();
    }
    from = null;
  });
  canvas.addEventListener("pointerleave", () => {
    if (app.hover < 0) return;
    app.hover = -1;
    app.light(app.pinned);
    app.card(-1);
  });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    app.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  view.addEventListener("scroll", () => {
    find("card").hidden = true;
    app.draw();
  });
};

const toggle = (id, act) => find(id).addEventListener("click", () => {
  const isOn = find(id).getAttribute("aria-pressed") !== "true";
  find(id).setAttribute("aria-pressed", String(isOn));
  act(isOn);
});

const onButtons = (app) => {
  const acts = {
    "zoom-in": () => app.zoom(1.3),
    "zoom-out": () => app.zoom(1 / 1.3),
    fit: () => app.fit(),
    go: () => app.aim() ?? app.draw(),
    "show-help": () => find("help").showModal(),
    "step-first": () => app.go(0),
    "step-back": () => app.go(app.step - 1),
    "step-play": () => app.play(),
    "step-on": () => app.go(app.step + 1),
    "step-last": () => app.go(app.steps.last),
  };
  for (const [id, act] of Object.entries(acts)) find(id).addEventListener("click", act);
  toggle("cause", (isOn) => {
    app.isOnlyCause = isOn;
    app.draw();
  });
  toggle("colour", (isOn) => {
    app.isByMicrobatch = isOn;
    app.draw();
  });
  find("slider").addEventListener("input", (event) => app.go(Number(event.target.value)));
  find("files").addEventListener("change", (event) => app.open({ file: Number(event.target.value) }));
  const search = find("search");
  search.addEventListener("input", () => app.search(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") app.next(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      search.value = "";
      app.search("");
      app.letGo();
      find("picture").focus({ preventScroll: true });
    }
  });
};

/** On paper: everything if it can be read, else the cause, in light colours. */
const onPaper = (app) => {
  const print = (isOn) => {
    if (!app.scene || app.isOnPaper === isOn) return;
    app.isOnPaper = isOn;
    document.documentElement.classList.toggle("paper", isOn);
    app.palette = new Palette();
    fillLegend(app);
    if (!isOn) return app.draw();
    app.paint(paperCamera(app), 2);
    return null;
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
};

const PAPER = { width: 1040, height: 400 };

const paperCamera = (app) => {
  const { scene } = app;
  const readable = scene.readable();
  const ops = app.sliced && (PAPER.width - ORIGIN) / scene.span < 0.3 * readable ? [...app.sliced].filter((op) => op >= 0) : [];
  const { left, right, top } = ops.length ? scene.around(ops) : { left: 0, right: scene.span, top: 0 };
  const scaleX = Math.min((PAPER.width - ORIGIN - 8) / Math.max(right - left, 1e-9), 2.4 * readable);
  const scaleY = Math.min(1, Math.max((PAPER.height - TOP) / scene.height, ops.length ? 0.7 : 0));
  const high = Math.min(PAPER.height, scene.height * scaleY + TOP + 4);
  const panY = Math.max(0, Math.min(top * scaleY - 20, scene.height * scaleY + TOP - high));
  return { scaleX, scaleY, panX: left * scaleX, panY, width: PAPER.width, height: high };
};

const begin = async () => {
  const data = JSON.parse(find("data").textContent);
  if (data.schema !== "pipeproof.page/1" || !data.files.length) return;
  const summary = find("summary");
  document.body.prepend(find("app").content.cloneNode(true));
  const app = new App(data);
  window.pipeproofDrawn = () => app.drawn();
  for (const [key, said] of KEYS) find("keys").append(make("dt", {}, key), make("dd", {}, said));
  summary.remove();
  const keys = keysOf(app);
  document.addEventListener("keydown", (event) => onKey(app, keys, event));
  onButtons(app);
  onPointer(app);
  onPaper(app);
  await app.open(app.asked());
  addEventListener("hashchange", () => app.open(app.asked()));
  new ResizeObserver(() => app.draw()).observe(find("view"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    app.palette = new Palette();
    if (app.scene) fillLegend(app);
    app.draw();
  });
  await document.fonts.ready;
  await Promise.all([`12px ${MONO}`, `12px ${SANS}`, `bold 12px ${SANS}`].map((font) => document.fonts.load(font)));
  if (app.scene) fillLegend(app);
  app.draw();
  requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset.ready = "true")));
};

begin();
