// What the file holds: columns of numbers are unpacked when they are needed first.

const LANES = ["compute", "send", "receive", "other"];
const LONGEST = 2000;

/** Text as it may be shown: no control or direction characters, not too long. */
const clean = (text, longest = LONGEST) => {
  const whole = String(text);
  const said = whole.slice(0, longest).replace(/[\p{C}\u2028\u2029]/gu, "\ufffd");
  return whole.length > longest ? `${said}… (${whole.length - longest} more characters)` : said;
};

const bytesOf = (base64) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
};

const inflated = async (base64) => {
  const stream = new Blob([bytesOf(base64)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
};

/** A column: a plain list, or {n, z} with n little-endian int32 behind zlib and base64. */
const column = async (packed) => {
  if (Array.isArray(packed)) return Int32Array.from(packed);
  if (!packed || !packed.n) return new Int32Array(0);
  const buffer = await inflated(packed.z);
  if (buffer.byteLength !== 4 * packed.n) throw new Error("a column is not as long as it says");
  const values = new Int32Array(buffer);
  if (packed.d) for (let k = 1; k < values.length; k++) values[k] += values[k - 1];
  return values;
};

/** Texts: a plain list, or {n, t} with a list in JSON behind zlib and base64. */
const textsOf = async (packed) => {
  if (!packed || Array.isArray(packed)) return packed ?? [];
  return JSON.parse(new TextDecoder().decode(await inflated(packed.t)));
};

const columns = async (held, names) => {
  const found = await Promise.all(names.map((name) => column(held[name])));
  return Object.fromEntries(names.map((name, k) => [name, found[k]]));
};

/** The operations of a view; `more()` brings what the first picture does not need. */
class Grid {
  static async of(held) {
    const first = ["rank", "lane", "kind", "text", "position", "microbatch", "stage"];
    const [found, texts] = await Promise.all([columns(held, first), textsOf(held.texts)]);
    return new Grid(held, found, texts);
  }

  constructor(held, first, texts) {
    Object.assign(this, first);
    Object.assign(this, { held, texts });
    this.ranks = held.ranks;
    this.count = this.rank.length;
    this.kinds = held.kinds;
    this.means = held.edge_means;
    this.rest = null;
  }

  more() {
    this.rest ??= (async () => {
      Object.assign(this, await columns(this.held, ["line", "column", "group", "written", "added", "copy"]));
      if (!this.written.length) this.written = this.position;
      const edges = await columns(this.held.edges, ["before", "after", "means"]);
      this.edges = edges;
      this.into = adjacency(edges.after, this.count);
      this.outOf = adjacency(edges.before, this.count);
      this.program = inProgram(this);
      return this;
    })();
    return this.rest;
  }

  /** What an operation does, as its file writes it. */
  said(op, longest = 80) {
    return clean(this.whole(op), longest);
  }

  whole(op) {
    if (this.text[op] >= 0) return this.texts[this.text[op]] ?? "";
    const part = (number) => (number < 0 ? "" : number);
    return `${part(this.stage[op])}${this.kinds[this.kind[op]]}${part(this.microbatch[op])}`;
  }

  /** Where people find it: rank, and position as written. */
  stands(op) {
    return `rank ${this.rank[op]}, position ${(this.written ?? this.position)[op]}`;
  }

  /** The operations that an operation comes right after, or right before: [op, means]. */
  near(op, isBefore) {
    const edges = isBefore ? this.into : this.outOf;
    const ends = isBefore ? this.edges.before : this.edges.after;
    const found = [];
    for (let k = edges.start[op]; k < edges.start[op + 1]; k++) {
      const edge = edges.edge[k];
      found.push([ends[edge], this.means[this.edges.means[edge]] ?? ""]);
    }
    const next = this.beside(op, isBefore ? -1 : 1);
    if (next >= 0) found.push([next, "next in the program"]);
    return found;
  }

  /** The operation before or after in the program of the rank, -1 at its ends. */
  beside(op, step) {
    const { order, place } = this.program;
    let k = place[op] + step;
    for (; k >= 0 && k < this.count; k += step) {
      if (this.rank[order[k]] !== this.rank[op]) return -1;
      if (this.position[order[k]] !== this.position[op]) return order[k];
    }
    return -1;
  }
}

/** Edges by the operation at one end: those of op stand at edge[start[op] … start[op + 1]]. */
const adjacency = (ends, count) => {
  const start = new Int32Array(count + 1);
  for (const op of ends) start[op + 1]++;
  for (let op = 0; op < count; op++) start[op + 1] += start[op];
  const next = start.slice();
  const edge = new Int32Array(ends.length);
  for (let k = 0; k < ends.length; k++) edge[next[ends[k]]++] = k;
  return { start, edge };
};

/** Operations by rank and position; `place` is where each stands in `order`. */
const inProgram = ({ rank, position, count }) => {
  const order = Int32Array.from({ length: count }, (_, k) => k);
  order.sort((a, b) => rank[a] - rank[b] || position[a] - position[b] || a - b);
  const place = new Int32Array(count);
  for (let k = 0; k < count; k++) place[order[k]] = k;
  return { order, place };
};
