// An execution event by event, and the state before and after each.

const GROUPS = ["ranks", "storage", "versions", "channels", "gradients"];
const ROWS = 40;

class Steps {
  static async of(held, count) {
    const names = ["op", "phase", "change_step", "change_name", "change_value"];
    const texts = await Promise.all([textsOf(held.names), textsOf(held.values)]);
    return new Steps(held, await columns(held, names), count, ...texts);
  }

  constructor(held, found, count, names, values) {
    Object.assign(this, found);
    Object.assign(this, { held, names, values });
    this.count = this.op.length;
    this.last = this.count - 1;
    this.firstOf = new Int32Array(count).fill(-1);
    this.lastOf = new Int32Array(count).fill(-1);
    for (let k = 0; k < this.count; k++) {
      const op = this.op[k];
      if (op < 0) continue;
      if (this.firstOf[op] < 0) this.firstOf[op] = k;
      this.lastOf[op] = k;
    }
  }

  phaseOf(step) {
    return clean(this.held.phases[this.phase[step]] ?? "");
  }

  /** The value of each name after the events before `step`: -1 where there is nothing. */
  before(step) {
    const values = new Int32Array(this.names.length).fill(-1);
    const { change_step: at, change_name: name, change_value: value } = this;
    for (let k = 0; k < at.length && at[k] < step; k++) values[name[k]] = value[k];
    return values;
  }

  said(value) {
    return value < 0 ? "" : clean(this.values[value] ?? "", 200);
  }

  /** The tables of a step: for each group rows {name, before, after, changed}, changed first. */
  tables(step) {
    const before = this.before(step);
    const after = this.before(step + 1);
    const groups = new Map(GROUPS.map((group) => [group, []]));
    this.names.forEach(([group, name], k) => {
      const [was, is] = [this.said(before[k]), this.said(after[k])];
      if (!was && !is) return;
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push({ name: clean(name, 120), before: was, after: is, changed: was !== is });
    });
    return [...groups].map(([group, rows]) => {
      const sorted = [...rows.filter((row) => row.changed), ...rows.filter((row) => !row.changed)];
      return { group: clean(group), rows: sorted.slice(0, ROWS), more: Math.max(0, rows.length - ROWS) };
    });
  }
}
