// Where boxes lie: ranks as rows, lanes in them, time to the right.

const GUTTER = 78;
const ORIGIN = GUTTER + 7; // where time begins
const AXIS = 24;
const TOP = AXIS + 20; // where rank 0 begins: arrows bend above it
const LANE_HEIGHTS = [28, 17, 17, 17];
const LANE_GAP = 2;
const RANK_PAD = 7;
const SLIVER = 0.12;
const MOST_TRACKS = 4;
const CHAR = 0.602; // the width of a letter of the font of the boxes, in its size

class Scene {
  /** The boxes of a grid in a layout; x is in units of time, y in pixels at height 1. */
  static async of(grid, held) {
    const found = await columns(held, ["start", "end", "happened"]);
    return new Scene(grid, held, found);
  }

  constructor(grid, held, { start, end, happened }) {
    Object.assign(this, { grid, held, happened, count: grid.count, unit: held.ticks_per_unit || 1 });
    this.frontier = held.frontier == null ? null : held.frontier / this.unit;
    this.left = new Float64Array(this.count);
    this.right = new Float64Array(this.count);
    this.isMark = new Uint8Array(this.count);
    for (let op = 0; op < this.count; op++) {
      this.left[op] = start[op] / this.unit;
      this.right[op] = end[op] / this.unit;
      this.isMark[op] = start[op] === end[op] ? 1 : 0;
    }
    this.#lanes();
    this.#rows();
    let span = held.span / this.unit || 0;
    for (const x of this.right) if (x > span) span = x;
    this.span = span || 1;
    this.step = this.#usual();
  }

  /** Sort every lane by time, give marks a width and those that overlap a track each. */
  #lanes() {
    const { grid, count } = this;
    this.laneStart = new Int32Array(grid.ranks * LANES.length + 1);
    for (let op = 0; op < count; op++) this.laneStart[this.laneOf(op) + 1]++;
    for (let k = 1; k < this.laneStart.length; k++) this.laneStart[k] += this.laneStart[k - 1];
    this.order = new Int32Array(count);
    const next = this.laneStart.slice();
    for (let op = 0; op < count; op++) this.order[next[this.laneOf(op)]++] = op;
    this.furthest = new Float64Array(count);
    this.track = new Uint8Array(count);
    this.tracks = new Uint8Array(count).fill(1);
    for (let lane = 0; lane < this.laneStart.length - 1; lane++) this.#arrange(lane);
  }

  laneOf(op) {
    return this.grid.rank[op] * LANES.length + this.grid.lane[op];
  }

  #arrange(lane) {
    const [from, to] = [this.laneStart[lane], this.laneStart[lane + 1]];
    const part = this.order.subarray(from, to);
    for (let k = 1; k < part.length; k++) {
      if (this.left[part[k]] < this.left[part[k - 1]]) {
        part.sort((a, b) => this.left[a] - this.left[b] || this.grid.position[a] - this.grid.position[b]);
        break;
      }
    }
    this.#marks(part);
    this.#tracks(part);
    let furthest = -Infinity;
    for (let k = 0; k < part.length; k++) {
      furthest = Math.max(furthest, this.right[part[k]]);
      this.furthest[from + k] = furthest;
    }
  }

  /** What takes no time is drawn as a flag in the room up to the next of its lane. */
  #marks(part) {
    for (let k = 0; k < part.length; ) {
      if (!this.isMark[part[k]]) {
        k++;
        continue;
      }
      const at = this.left[part[k]];
      let end = k;
      while (end < part.length && this.isMark[part[end]] && this.left[part[end]] === at) end++;
      const room = end < part.length ? this.left[part[end]] - at : Infinity;
      const width = Math.min(0.9, room) / (end - k) || SLIVER;
      for (let mark = k; mark < end; mark++) {
        this.left[part[mark]] = at + (mark - k) * width;
        this.right[part[mark]] = this.left[part[mark]] + width;
      }
      k = end;
    }
  }

  #tracks(part) {
    let ends = [];
    let cluster = 0;
    const close = (k) => {
      for (let each = cluster; each < k; each++) this.tracks[part[each]] = ends.length;
      cluster = k;
      ends = [];
    };
    for (let k = 0; k < part.length; k++) {
      const op = part[k];
      if (ends.every((end) => end <= this.left[op] + 1e-9)) close(k);
      let track = ends.findIndex((end) => end <= this.left[op] + 1e-9);
      if (track < 0) track = Math.min(ends.length, MOST_TRACKS - 1);
      ends[track] = Math.max(ends[track] ?? 0, this.right[op]);
      this.track[op] = track;
    }
    close(part.length);
  }

  /** Which lanes any rank has, and how high a rank is. */
  #rows() {
    const has = LANES.map(() => false);
    for (const lane of this.grid.lane) has[lane] = true;
    has[0] = true;
    let y = RANK_PAD;
    this.laneTop = LANES.map((_, lane) => {
      const top = y;
      if (has[lane]) y += LANE_HEIGHTS[lane] + LANE_GAP;
      return top;
    });
    this.hasLane = has;
    this.rankHeight = y - LANE_GAP + RANK_PAD;
    this.height = this.rankHeight * this.grid.ranks;
  }

  /** How long an operation that computes usually is, and how wide its text is at 12 pixels. */
  #usual() {
    const lengths = [];
    let letters = 3;
    const every = Math.max(1, Math.floor(this.count / 4000));
    for (let op = 0; op < this.count; op += every) {
      if (this.grid.lane[op] === 0) {
        lengths.push(this.right[op] - this.left[op]);
        letters = Math.max(letters, Math.min(8, this.grid.said(op).length));
      }
    }
    lengths.sort((a, b) => a - b);
    return { length: lengths[lengths.length >> 2] || 1, width: letters * 12 * CHAR + 12 };
  }

  /** A scale at which the texts of operations can be read: those given, or as they usually are. */
  readable(ops = []) {
    const usual = this.step.width / this.step.length;
    const wide = (op) => (Math.min(12, this.grid.said(op).length) * 11 * CHAR + 12) / (this.right[op] - this.left[op]);
    const most = ops.length > 60 ? usual : Math.max(usual, ...ops.filter((op) => !this.isMark[op]).map(wide));
    return Math.min(most, 1.9 * usual);
  }

  /** Where an operation lies: x and width in time, y and height in pixels at height 1. */
  box(op) {
    const lane = this.grid.lane[op];
    const height = LANE_HEIGHTS[lane] / this.tracks[op];
    const y = this.grid.rank[op] * this.rankHeight + this.laneTop[lane] + this.track[op] * height;
    return { x: this.left[op], width: this.right[op] - this.left[op], y, height };
  }

  /** The part of `order` of a lane that may be seen between two times. */
  seen(rank, lane, from, to) {
    const first = this.laneStart[rank * LANES.length + lane];
    const end = this.laneStart[rank * LANES.length + lane + 1];
    return [
      search(first, end, (k) => this.furthest[k] > from),
      search(first, end, (k) => this.left[this.order[k]] >= to),
    ];
  }

  /** The operation at a time and a height, -1 where there is none. */
  at(x, y) {
    const rank = Math.floor(y / this.rankHeight);
    if (rank < 0 || rank >= this.grid.ranks) return -1;
    for (let lane = 0; lane < LANES.length; lane++) {
      const [from, to] = this.seen(rank, lane, x - 1e-9, x + 1e-9);
      for (let k = to - 1; k >= from; k--) {
        const box = this.box(this.order[k]);
        const isIn = x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
        if (isIn) return this.order[k];
      }
    }
    return -1;
  }

  /** The operation on another row that is nearest in time; rows are the lanes that there are. */
  across(op, step) {
    const middle = (this.left[op] + this.right[op]) / 2;
    for (let lane = this.laneOf(op) + step; lane >= 0 && lane < this.laneStart.length - 1; lane += step) {
      const [first, end] = [this.laneStart[lane], this.laneStart[lane + 1]];
      if (first === end) continue;
      const k = Math.min(search(first, end, (each) => this.right[this.order[each]] > middle), end - 1);
      return this.order[k];
    }
    return op;
  }

  /** The smallest rectangle around operations, in the terms of `box`. */
  around(ops) {
    const sides = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (const op of ops) {
      const box = this.box(op);
      sides.left = Math.min(sides.left, box.x);
      sides.right = Math.max(sides.right, box.x + box.width);
      sides.top = Math.min(sides.top, box.y);
      sides.bottom = Math.max(sides.bottom, box.y + box.height);
    }
    return sides;
  }
}

/** The first of from … to - 1 that `holds`, where what follows holds too; `to` if none does. */
const search = (from, to, holds) => {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};
