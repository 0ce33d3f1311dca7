// Draws a scene on a canvas. What is painted is recorded by the same calls, when it is asked for.

const PATTERNS = { F: "plain", B: "rising", I: "falling", W: "dots", OVERLAP: "plain", R: "cross", L: "level" };
const TOKENS = [
  "ground", "lane", "line", "ink", "soft", "faint", "accent", "focus", "now", "hit", "beyond",
  "F", "F-ink", "B", "B-ink", "I", "I-ink", "W", "W-ink", "other", "other-ink",
  "send", "send-ink", "receive", "receive-ink", "overlap", "cause", "effect",
];
const SANS = '"DejaVu Sans", sans-serif';
const MONO = '"DejaVu Sans Mono", monospace';
const DIM = 0.26;
const MANY = 6000;
const GOLDEN = 137.508;

const ARROWS = {
  "next in the program": { token: "soft", dash: [], width: 1.25, isQuiet: true },
  "waits for": { token: "accent", dash: [6, 4], width: 2.25 },
  "taken for another message": { token: "accent", dash: [], width: 2.25, said: "taken for another" },
  "must come first, and nothing ensures it": { token: "accent", dash: [2, 4], width: 2.25, said: "must come first" },
  "takes place, and once more": { token: "accent", dash: [], width: 2.25, said: "once more" },
  "takes away what is needed": { token: "accent", dash: [], width: 2.25, said: "takes away" },
  "must agree, and does not": { token: "accent", dash: [8, 4], width: 2.25, said: "must agree" },
  "the message that the receive names": { token: "soft", dash: [2, 3], width: 1.5, said: "named" },
  "puts what is read, or was there before": { token: "ink", dash: [5, 3], width: 1.25, isNear: true },
  "makes the weights that are read": { token: "ink", dash: [8, 3, 2, 3], width: 1.25, said: "weights" },
};
const PLAIN_ARROW = { token: "ink", dash: [], width: 1.25 };
const isLoud = (arrow) => ARROWS[arrow.means]?.token === "accent";

class Palette {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    for (const token of TOKENS) this[token] = style.getPropertyValue(`--${token}`).trim();
    this.isDark = style.getPropertyValue("--scheme").trim() === "dark";
    this.patterns = new Map();
  }

  /** Fill, ink and pattern of an operation, by what it does or by its microbatch. */
  look(kind, lane, microbatch, isByMicrobatch) {
    const pattern = PATTERNS[kind] ?? (lane === 0 ? "level" : "plain");
    if (isByMicrobatch && microbatch >= 0) {
      const hue = Math.round((microbatch * GOLDEN + 210) % 360);
      const fill = `hsl(${hue} ${this.isDark ? "42% 27%" : "62% 82%"})`;
      return { fill, ink: this.isDark ? "#ffffff" : "#10151f", pattern };
    }
    const token = this[`${kind}-ink`] ? kind : lane === 1 ? "send" : lane === 2 ? "receive" : "other";
    return { fill: this[token], ink: this[`${token}-ink`], pattern };
  }

  /** A hatching in a colour, as something to fill with. */
  hatch(context, name, colour) {
    const key = `${name} ${colour}`;
    if (!this.patterns.has(key)) this.patterns.set(key, hatching(context, name, colour));
    return this.patterns.get(key);
  }
}

const STROKES = {
  rising: [[-2, 8, 8, -2], [-2, 2, 2, -2], [4, 8, 8, 4]],
  falling: [[-2, -2, 8, 8], [4, -2, 8, 2], [-2, 4, 2, 8]],
  level: [[0, 3, 6, 3]],
  cross: [[-2, 8, 8, -2], [-2, -2, 8, 8]],
};

const hatching = (context, name, colour) => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12; // a tile of 6 pixels, sharp at a ratio of 2
  const pen = tile.getContext("2d");
  pen.scale(2, 2);
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 0.9;
  for (const [x, y, toX, toY] of STROKES[name] ?? []) {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
    pen.stroke();
  }
  if (name === "dots") for (const [x, y] of [[1.5, 1.5], [4.5, 4.5]]) pen.fillRect(x - 0.7, y - 0.7, 1.4, 1.4);
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
};

/** What may stand in a box, longest first: the text, then what is left where it does not fit. */
const shorter = (said, kind, lane, microbatch) => {
  if (lane === 1 || lane === 2) {
    const value = /(?:SEND|RECV)[_ ]?([A-Z]+)/.exec(said)?.[1] ?? "";
    return microbatch >= 0 && value ? [said, `${value}${microbatch}`] : [said];
  }
  const words = said.split(" ").filter((word) => !word.includes("="));
  const fewer = [said, words.join(" "), words.at(-1) ?? said];
  const letter = kind.length === 1 ? kind : kind.slice(0, 2);
  return microbatch >= 0 ? [...fewer, `${letter}${microbatch}`, letter] : [...fewer, letter];
};

class Painter {
  /**
   * @param scene where the boxes lie
   * @param shown what is to be seen of them: camera, marks and modes (see `App.shown`)
   * @param context where it is drawn
   * @param record a list of what is drawn, or null
   */
  constructor(scene, shown, palette, context, record = null) {
    Object.assign(this, { scene, shown, palette, context, record, grid: scene.grid, ...shown.camera });
    this.labels = [];
    this.texts = [];
  }

  x(time) {
    return ORIGIN + time * this.scaleX - this.panX;
  }

  y(height) {
    return TOP + height * this.scaleY - this.panY;
  }

  time(x) {
    return (x - ORIGIN + this.panX) / this.scaleX;
  }

  paint() {
    const { context, width, height, palette } = this;
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, width, height);
    const row = this.scene.rankHeight * this.scaleY;
    this.firstRank = Math.max(0, Math.floor((this.panY - TOP + AXIS) / row));
    this.endRank = Math.min(this.grid.ranks, Math.ceil((this.panY + height - AXIS) / row));
    this.#clipped(GUTTER, AXIS, () => {
      this.#background();
      this.#boxes();
      this.#extras();
      this.#frontier();
      this.#place();
      this.#arrows();
      this.#rings();
      this.#pills();
    });
    this.#gutter();
    this.#axis();
  }

  #clipped(left, top, draw) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(left, top, this.width - left, this.height - top);
    this.context.clip();
    draw();
    this.context.restore();
  }

  /** A hatching that stays with the boxes when they move. */
  #hatch(name, colour) {
    const pattern = this.palette.hatch(this.context, name, colour);
    const moved = new DOMMatrix().translate(-(this.panX % 6), -(this.panY % 6)).scale(0.5);
    pattern.setTransform(moved);
    return pattern;
  }

  #background() {
    const { context, scene, palette } = this;
    const end = this.x(Math.min(scene.span, scene.frontier ?? scene.span));
    for (let rank = this.firstRank; rank < this.endRank; rank++) {
      const top = this.y(rank * scene.rankHeight);
      context.fillStyle = palette.line;
      context.fillRect(GUTTER, top + scene.rankHeight * this.scaleY - 0.5, this.width, 1);
      const y = top + scene.laneTop[0] * this.scaleY;
      const height = LANE_HEIGHTS[0] * this.scaleY;
      context.fillStyle = palette.lane;
      context.fillRect(this.x(0), y, end - this.x(0), height);
      if (height < 5) continue;
      context.fillStyle = this.#hatch("rising", palette.faint);
      context.fillRect(this.x(0), y, end - this.x(0), height);
    }
  }

  /** What is in sight, rank by rank; of boxes thinner than a pixel one for each pixel. */
  inSight(most = Infinity) {
    const [from, to] = [this.time(GUTTER), this.time(this.width)];
    const row = this.scene.rankHeight * this.scaleY;
    const end = Math.min(this.grid.ranks, Math.ceil((this.panY + this.height - AXIS) / row));
    const seen = [];
    for (let rank = Math.max(0, Math.floor((this.panY - TOP + AXIS) / row)); rank < end; rank++) {
      for (let lane = 0; lane < LANES.length && seen.length < most; lane++) {
        if (this.scene.hasLane[lane]) this.#lane(rank, lane, from, to, seen);
      }
    }
    return seen;
  }

  #boxes() {
    const seen = this.inSight();
    const isMany = seen.length > MANY;
    for (const op of seen) this.#box(op, isMany);
    this.#brackets(seen, isMany);
  }

  #lane(rank, lane, from, to, seen) {
    const { scene } = this;
    const [first, end] = scene.seen(rank, lane, from, to);
    const pixel = 1 / this.scaleX;
    for (let k = first; k < end; ) {
      const op = scene.order[k];
      if (scene.right[op] > from) seen.push(op);
      const until = scene.left[op] + pixel;
      k++;
      if (k < end && scene.left[scene.order[k]] < until && scene.right[op] - scene.left[op] < pixel) {
        k = search(k, end, (each) => scene.left[scene.order[each]] >= until);
      }
    }
  }

  #box(op, isMany) {
    const { context, grid, palette, shown } = this;
    const box = this.scene.box(op);
    const [kind, lane, microbatch] = [grid.kinds[grid.kind[op]] ?? "", grid.lane[op], grid.microbatch[op]];
    const look = palette.look(kind, lane, microbatch, shown.isByMicrobatch);
    const gap = box.width * this.scaleX > 6 ? 1 : 0;
    const x = this.x(box.x) + gap / 2;
    const y = this.y(box.y);
    const width = Math.max(box.width * this.scaleX - gap, 0.7);
    const height = Math.max(box.height * this.scaleY - (box.height * this.scaleY > 8 ? 1 : 0), 0.7);
    const state = shown.state(op);
    const isDimmed = shown.isDimmed(op);
    context.globalAlpha = !isDimmed ? 1 : state === "later" ? 0.6 : DIM;
    const drawn = { x, y, width, height };
    if (isMany || width < 4 || height < 5) {
      context.fillStyle = state === "later" ? palette.beyond : look.fill;
      context.fillRect(x, y, width, height);
    } else {
      Painter.body(context, palette, drawn, look, state, (name, ink) => this.#hatch(name, ink));
      if (this.scene.isMark[op]) this.#pole(drawn, look);
    }
    const label = isMany ? "" : this.#text(op, drawn, look, state, [kind, lane, microbatch]);
    context.globalAlpha = 1;
    this.record?.boxes.push({
      op, text: grid.said(op), label, kind, pattern: look.pattern, state, ...rounded(drawn),
      dimmed: isDimmed, outlined: shown.first === op, current: shown.current === op,
      lit: shown.lit.get(op) ?? null, hit: shown.hits.has(op),
    });
  }

  /** Draw a box: filled when it is done, half so when it has begun, an outline when it is to come. */
  static body(context, palette, { x, y, width, height }, look, state, hatch = null) {
    const radius = Math.min(3, height / 4, width / 4);
    const alpha = context.globalAlpha;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    context.globalAlpha = 1; // under what is dimmed there is the ground, not the hatching of idle
    context.fillStyle = palette.ground;
    context.fill();
    if (state !== "later") {
      context.globalAlpha = alpha * (state === "begun" ? 0.45 : 1);
      context.fillStyle = look.fill;
      context.fill();
    }
    if (look.pattern !== "plain" && state !== "later") {
      context.globalAlpha = alpha * (state === "begun" ? 0.14 : 0.26);
      context.fillStyle = hatch ? hatch(look.pattern, look.ink) : palette.hatch(context, look.pattern, look.ink);
      context.fill();
    }
    context.strokeStyle = state === "later" ? palette.soft : look.ink;
    context.globalAlpha = alpha * (state === "later" ? 0.75 : 0.55);
    context.lineWidth = 1;
    context.setLineDash({ done: [], begun: [5, 3], later: [2, 3] }[state]);
    context.beginPath();
    context.roundRect(x + 0.5, y + 0.5, Math.max(width - 1, 0.5), Math.max(height - 1, 0.5), radius);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = alpha;
  }

  /** What takes no time hangs like a flag on the moment that it happens at. */
  #pole({ x, y, height }, look) {
    this.context.fillStyle = look.ink;
    this.context.fillRect(x, y, 2, height);
  }

  #text(op, { x, y, width, height }, look, state, [kind, lane, microbatch]) {
    const { context, palette } = this;
    const size = Math.min(lane === 0 ? 13 : 11, height * (height > 20 ? 0.5 : 0.68));
    if (size < 7 || width < 8) return "";
    const fits = shorter(this.grid.said(op, 40), kind, lane, microbatch);
    const inset = this.scene.isMark[op] ? 6 : 4;
    const label = fits.find((each) => each.length * size * CHAR <= width - inset) ?? "";
    if (!label) return "";
    context.font = `${size}px ${MONO}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = state === "later" ? palette.soft : state === "begun" ? palette.ink : look.ink;
    const [middle, half] = [x + width / 2 + (this.scene.isMark[op] ? 1 : 0), (label.length * size * CHAR) / 2];
    context.fillText(label, middle, y + height / 2 + 0.5);
    if (context.globalAlpha === 1) {
      const [ink, halo] = [context.fillStyle, state === "done" ? look.fill : palette.ground];
      this.texts.push({ label, size, ink, halo, x: middle - half, y: y + (height - size) / 2, width: 2 * half, height: size });
    }
    return label;
  }

  /** Operations that overlap by intent stand in one bracket. */
  #brackets(seen, isMany) {
    const { grid, context, palette } = this;
    if (!grid.group || isMany) return;
    const groups = new Map();
    for (const op of seen) {
      if (grid.group[op] >= 0 && grid.lane[op] === 0) {
        const key = `${grid.rank[op]} ${grid.group[op]}`;
        groups.set(key, [...(groups.get(key) ?? []), op]);
      }
    }
    context.strokeStyle = palette.overlap;
    context.lineWidth = 2;
    for (const ops of groups.values()) {
      if (ops.length < 2) continue;
      const [x, y, width, height] = this.#frame(this.scene.around(ops), 1);
      context.globalAlpha = ops.every((op) => this.shown.isDimmed(op)) ? DIM : 1;
      context.beginPath();
      context.roundRect(x, y, width, height, 4);
      context.stroke();
      this.record?.brackets.push(ops);
    }
    context.globalAlpha = 1;
  }

  #frame({ left, right, top, bottom }, out) {
    return [
      this.x(left) - out, this.y(top) - out,
      (right - left) * this.scaleX + 2 * out, (bottom - top) * this.scaleY + 2 * out,
    ];
  }

  #frontier() {
    const { context, scene, palette } = this;
    if (scene.frontier === null) return;
    const x = this.x(scene.frontier);
    const bottom = Math.min(this.height, this.y(scene.height));
    if (this.record) this.record.frontier = Math.round(x);
    if (x > this.width || x < GUTTER - 200) return;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, bottom);
    context.stroke();
  }

  // arrows

  #arrows() {
    const isThere = (op) => op >= 0 || this.shown.extras.has(op);
    const drawn = this.shown.arrows.filter(({ before, after, means, isLit }) =>
      before !== after && isThere(before) && isThere(after) && (isLit || !ARROWS[means]?.isQuiet));
    const isQuieter = drawn.some(isLoud); // beside what is loud the rest steps back
    const paths = drawn.map((arrow) => {
      const look = ARROWS[arrow.means] ?? PLAIN_ARROW;
      const token = isQuieter && !isLoud(arrow) && !arrow.isLit ? "soft" : look.token;
      return [arrow, { ...look, token }, this.#path(arrow.before, arrow.after)];
    });
    paths.sort(([one], [other]) => isLoud(one) - isLoud(other)); // what is loud lies on top
    for (const [arrow, look, path] of paths) {
      this.#stroke(path, look, arrow.isLit);
      const { before, after, means, label } = arrow;
      this.record?.arrows.push({ before, after, means, label: label ?? "", ...rounded(path.end) });
    }
    this.#clear(paths.map(([, , path]) => path));
    for (const [arrow, look, path] of paths.reverse()) if (!look.isQuiet) this.#label(path, look, arrow);
  }

  /** Write texts that arrows run over once more, so that they can be read. */
  #clear(paths) {
    const { context } = this;
    const points = paths.flatMap(({ at }) => Array.from({ length: 65 }, (_, k) => at(k / 64)));
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { label, size, ink, halo, x, y, width, height } of this.texts) {
      if (!points.some(([left, top]) => left > x - 2 && left < x + width + 2 && top > y - 2 && top < y + height + 2)) continue;
      context.font = `${size}px ${MONO}`;
      [context.strokeStyle, context.fillStyle, context.lineWidth] = [halo, ink, 4];
      context.strokeText(label, x + width / 2, y + height / 2 + 0.5);
      context.fillText(label, x + width / 2, y + height / 2 + 0.5);
    }
  }

  /** What is no operation, as the end of a program or what stands nowhere: a dotted box. */
  #extras() {
    const { context, palette } = this;
    for (const id of this.shown.extras.keys()) {
      const { left, top, right, bottom, text } = this.#extra(id);
      context.strokeStyle = palette.accent;
      context.setLineDash([2, 3]);
      context.lineWidth = 1.5;
      context.fillStyle = palette.ground;
      context.beginPath();
      context.roundRect(left, top, right - left, bottom - top, 8);
      context.fill();
      context.stroke();
      context.setLineDash([]);
      context.font = `11px ${SANS}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = palette.accent;
      context.fillText(text, (left + right) / 2, (top + bottom) / 2 + 0.5);
      this.labels.push({ x: left, y: top, width: right - left, height: bottom - top, text });
      this.record?.extras.push({ id, text });
    }
  }

  /** Where what is no operation is drawn: on its rank, beside what it is joined to. */
  #extra(id) {
    const { scene, context } = this;
    const { rank, text, time, lane } = this.shown.extras.get(id);
    context.font = `11px ${SANS}`;
    const width = context.measureText(text).width + 14;
    const left = this.x(time);
    const height = Math.max(16, LANE_HEIGHTS[lane] * this.scaleY);
    const top = this.y(rank * scene.rankHeight + scene.laneTop[lane]);
    return { left, top, right: left + width, bottom: top + height, text };
  }

  /** A curve between two boxes: sideways where there is room between them, else up or down. */
  #path(before, after) {
    const side = (op) => {
      if (op < 0) return this.#extra(op);
      const { x, y, width, height } = this.scene.box(op);
      const [left, top] = [this.x(x), this.y(y)];
      return { left, top, right: left + width * this.scaleX, bottom: top + height * this.scaleY };
    };
    const [from, to] = [side(before), side(after)];
    const isLevel = Math.abs(from.top - to.top) < 1;
    const room = to.left - from.right;
    if (isLevel ? room > -2 && room < 8 : room > 10) {
      const [y, toY] = [(from.top + from.bottom) / 2, (to.top + to.bottom) / 2];
      const bend = Math.max(Math.min(12, room / 2 + 4), room / 2);
      return curve([from.right, y], [from.right + bend, y], [to.left - bend, toY], [to.left, toY]);
    }
    if (isLevel) {
      const lift = from.top - Math.min(24, 8 * Math.max(2, this.scaleY * 2));
      const [part, toPart] = to.left > from.left ? [0.7, 0.3] : [0.2, 0.88];
      const x = from.left + (from.right - from.left) * part;
      const toX = this.#beside(after, to, to.left + (to.right - to.left) * toPart);
      return curve([x, from.top], [x, lift], [toX, lift], [toX, to.top]);
    }
    const isDown = to.top > from.top;
    const part = isDown ? 0.36 : 0.64; // both ways of a cycle can be told apart
    const [near, far] = [Math.max(from.left, to.left), Math.min(from.right, to.right)];
    const isOverlap = far - near > 30; // straight where one lies above the other
    const aim = isOverlap ? near + (far - near) * part : to.left + (to.right - to.left) * part;
    const toX = isDown ? this.#beside(after, to, aim) : aim;
    const x = isOverlap ? Math.min(toX, far) : from.left + (from.right - from.left) * part;
    const [y, toY] = isDown ? [from.bottom, to.top] : [from.top, to.bottom];
    const bend = Math.max(14, Math.abs(toY - y) * 0.45) * (isDown ? 1 : -1);
    return curve([x, y], [x, y + bend], [toX, toY - bend], [toX, toY]);
  }

  /** Where an arrow from above meets a box: beside the rule that stands on it. */
  #beside(op, box, x) {
    if (op !== this.shown.first || this.flag.y > box.top) return x;
    return Math.max(x, Math.min(this.flag.x + this.flag.width + 9, box.right - 6));
  }

  #stroke({ points: [from, one, other, to] }, look, isLit) {
    const { context, palette } = this;
    const width = look.width + (isLit ? 0.5 : 0);
    for (const [colour, wide] of [[palette.ground, width + 3], [palette[look.token], width]]) {
      context.strokeStyle = colour;
      context.lineWidth = wide;
      context.setLineDash(colour === palette.ground ? [] : look.dash);
      context.beginPath();
      context.moveTo(...from);
      context.bezierCurveTo(...one, ...other, ...to);
      context.stroke();
    }
    context.setLineDash([]);
    const angle = Math.atan2(to[1] - other[1], to[0] - other[0]);
    const size = 6 + look.width;
    context.fillStyle = palette[look.token];
    context.beginPath();
    context.moveTo(...to);
    for (const turn of [-0.42, 0.42]) {
      context.lineTo(to[0] - size * Math.cos(angle + turn), to[1] - size * Math.sin(angle + turn));
    }
    context.fill();
  }

  #label({ at, points: [from, , , to] }, look, arrow) {
    const isPlain = arrow.means === "message" || look.isNear;
    const means = look.said ?? arrow.means;
    const label = clean(arrow.label, 48);
    const said = isPlain ? [label] : label ? [`${means}: ${label}`, means] : [means];
    const least = look.isNear ? 160 : arrow.isLit ? 90 : 0;
    if (!said[0] || Math.hypot(to[0] - from[0], to[1] - from[1]) < least) return;
    const isFree = (pill) => !this.labels.some((each) => isOver(each, pill));
    const isClear = (pill) => isFree(pill) && !this.strong.some((box) => isOver(box, pill));
    const pills = said.map((text) => this.#spots(at, text, look.token));
    const pill = pills.flat().find(isClear) ?? pills.at(-1).find(isFree);
    if (pill) this.labels.push(pill);
  }

  /** Where words may stand at an arrow: on it, best in its middle, or a little above or below. */
  #spots(at, text, token) {
    this.context.font = `11px ${SANS}`;
    const width = this.context.measureText(text).width + 10;
    const parts = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(at);
    return [0, -14, 14, -26, 26, 40].flatMap((off) => parts.map(([x, y]) => {
      const left = Math.max(GUTTER + 2, Math.min(x - width / 2, this.width - width - 2));
      return { x: left, y: Math.max(AXIS + 2, y + off - 8), width, height: 16, text, token };
    }));
  }

  #pills() {
    const { context, palette } = this;
    context.font = `11px ${SANS}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const { x, y, width, height, text, token } of this.labels) {
      if (!token) continue;
      context.fillStyle = palette.ground;
      context.strokeStyle = palette[token];
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(x, y, width, height, 8);
      context.fill();
      context.stroke();
      context.fillStyle = palette[token];
      context.fillText(text, x + width / 2, y + height / 2 + 0.5);
    }
    if (this.record) this.record.labels = this.labels.filter(({ token }) => token).map(({ text }) => text);
  }

  // marks around boxes

  #rings() {
    const { shown, palette } = this;
    for (const op of shown.hits) this.#ring(op, palette.hit, 2, 2, [3, 2]);
    for (const [op, how] of shown.lit) {
      const [colour, width] = how === "self" ? [palette.ink, 2] : [palette[how], 1.75];
      this.#ring(op, colour, 2, width, how === "effect" ? [4, 3] : []);
    }
    for (const op of shown.named) if (op !== shown.first) this.#ring(op, palette.accent, 2, 2, []);
    if (shown.first >= 0) {
      this.#ring(shown.first, palette.accent, 3, 3.5, []);
      this.#flag();
    }
    if (shown.focus >= 0) this.#ring(shown.focus, palette.focus, 5, 2, []);
    if (shown.current >= 0) {
      this.#ring(shown.current, palette.now, 1, 2.5, []);
      this.#pointer(shown.current);
    }
  }

  #ring(op, colour, out, width, dash) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.roundRect(...this.#frame(this.scene.around([op]), out), 4);
    context.stroke();
    context.setLineDash([]);
  }

  /** The rule stands at the first illegal event itself: keep room for it, and for boxes named. */
  #place() {
    const { context, shown } = this;
    this.strong = [...shown.cause].map((op) => {
      const [x, y, width, height] = this.#frame(this.scene.around([op]), 0);
      return { x, y, width, height };
    });
    for (const op of shown.named) {
      const [x, y, width, height] = this.#frame(this.scene.around([op]), 2);
      this.labels.push({ x, y, width, height, text: "" });
    }
    if (shown.first < 0) return;
    const [x, y, , height] = this.#frame(this.scene.around([shown.first]), 3);
    context.font = `bold 11px ${SANS}`;
    const width = context.measureText(shown.rule).width + 12;
    const top = y - 18 > AXIS ? y - 16 : y + height;
    this.flag = { x: Math.min(x - 1.5, this.width - width - 4), y: top, width, height: 16, text: shown.rule };
    this.labels.push(this.flag);
  }

  #flag() {
    const { context, palette } = this;
    const { text, ...box } = this.flag;
    context.font = `bold 11px ${SANS}`;
    context.fillStyle = palette.accent;
    context.beginPath();
    context.roundRect(box.x, box.y, box.width, box.height, [4, 4, 0, 0]);
    context.fill();
    context.fillStyle = palette.ground;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(text, box.x + 6, box.y + 8.5);
  }

  #pointer(op) {
    const { context, palette } = this;
    const [x, y, width] = this.#frame(this.scene.around([op]), 1);
    const middle = x + width / 2;
    context.fillStyle = palette.now;
    context.beginPath();
    context.moveTo(middle, y - 1);
    context.lineTo(middle - 6, y - 9);
    context.lineTo(middle + 6, y - 9);
    context.fill();
  }

  // what stays in place

  #gutter() {
    const { context, scene, palette, grid } = this;
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, GUTTER - 2, this.height);
    context.fillStyle = palette.line;
    context.fillRect(GUTTER - 2, AXIS, 1, Math.min(this.height, this.y(scene.height)) - AXIS);
    const names = ["", "send", "receive", "other"];
    this.#clipped(0, AXIS, () => {
      context.textBaseline = "middle";
      for (let rank = this.firstRank; rank < this.endRank; rank++) {
        const top = this.y(rank * scene.rankHeight);
        context.textAlign = "left";
        const size = Math.min(13, Math.max(8, scene.rankHeight * this.scaleY * 0.4));
        context.font = `bold ${size}px ${SANS}`;
        context.fillStyle = palette.ink;
        const middle = (scene.laneTop[0] + LANE_HEIGHTS[0] / 2) * this.scaleY;
        if (size > 8 || rank % 8 === 0) context.fillText(grid.ranks > 99 ? `r${rank}` : `rank ${rank}`, 10, top + middle);
        context.font = `10px ${SANS}`;
        context.fillStyle = palette.soft;
        context.textAlign = "right";
        for (let lane = 1; lane < LANES.length; lane++) {
          const height = LANE_HEIGHTS[lane] * this.scaleY;
          if (scene.hasLane[lane] && height >= 10) {
            context.fillText(names[lane], GUTTER - 8, top + scene.laneTop[lane] * this.scaleY + height / 2);
          }
        }
      }
    });
  }

  #axis() {
    const { context, scene, palette } = this;
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, this.width, AXIS);
    context.fillStyle = palette.line;
    context.fillRect(0, AXIS - 1, this.width, 1);
    const every = Math.max(nice(56 / this.scaleX), this.shown.axis === "steps" ? 1 : 0);
    const flag = scene.frontier === null ? null : this.#ending(this.x(scene.frontier));
    context.font = `10px ${SANS}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = palette.soft;
    const first = Math.max(0, Math.ceil(this.time(GUTTER + 4) / every));
    for (let k = first; k * every <= scene.span && this.x(k * every) < this.width; k++) {
      const x = this.x(k * every);
      if (flag && x > flag[0] - 14 && x < flag[1] + 14) continue;
      context.fillText(`${+(k * every).toFixed(6)}`, x, AXIS / 2);
      context.fillRect(x, AXIS - 5, 1, 4);
    }
    context.textAlign = "left";
    context.fillText(this.shown.axis, 10, AXIS / 2);
  }

  #ending(at) {
    const { context, palette } = this;
    const text = "the execution ends here";
    context.font = `bold 10.5px ${SANS}`;
    const width = context.measureText(text).width + 14;
    if (at > this.width || at < GUTTER) return null;
    const left = Math.max(GUTTER, Math.min(at - width / 2, this.width - width - 2));
    context.fillStyle = palette.accent;
    context.beginPath();
    context.roundRect(left, 3, width, AXIS - 6, 4);
    context.fill();
    context.fillRect(at - 1, AXIS - 4, 2, 4);
    context.fillStyle = palette.ground;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, left + width / 2, AXIS / 2 + 0.5);
    return [left, left + width];
  }
}

const curve = (from, one, other, to) => ({
  points: [from, one, other, to],
  end: { x: from[0], y: from[1], toX: to[0], toY: to[1] },
  at: (t) => [0, 1].map((k) => {
    const s = 1 - t;
    return s ** 3 * from[k] + 3 * s * s * t * one[k] + 3 * s * t * t * other[k] + t ** 3 * to[k];
  }),
});

const isOver = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const rounded = (numbers) =>
  Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, Math.round(value * 10) / 10]));

/** A round number that is not smaller: 1, 2 or 5 times a power of ten. */
const nice = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
};
