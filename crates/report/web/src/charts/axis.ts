// One time axis for all the plots that are drawn on it: whichever is zoomed or moved, all follow.

export type Range = [number, number];

/** No closer than this, in nanoseconds: what is nearer than a clock's step says nothing. */
const CLOSEST = 1000;

export class TimeAxis {
  /** All there is to show. */
  readonly full: Range;
  /** What is shown, in whole nanoseconds. */
  range: Range;
  private readonly followers: (() => void)[] = [];

  constructor([from, to]: Range) {
    const first = Math.floor(from);
    this.full = [first, Math.max(first + CLOSEST, Math.ceil(to))];
    this.range = [...this.full];
  }

  get zoomed(): boolean {
    return this.range[0] !== this.full[0] || this.range[1] !== this.full[1];
  }

  follow(follower: () => void): void {
    this.followers.push(follower);
  }

  set(from: number, to: number): void {
    const [first, last] = this.full;
    const width = Math.min(last - first, Math.max(CLOSEST, to - from));
    const middle = (from + to) / 2;
    const start = Math.round(Math.min(Math.max(first, middle - width / 2), last - width));
    const end = Math.min(last, Math.round(start + width));
    if (start === this.range[0] && end === this.range[1]) return;
    this.range = [start, end];
    for (const follower of this.followers) follower();
  }

  /** Shows `factor` times as much, `around` staying where it is. */
  zoom(factor: number, around = (this.range[0] + this.range[1]) / 2): void {
    const [from, to] = this.range;
    const width = Math.max(CLOSEST, (to - from) * factor);
    const at = (around - from) / (to - from);
    this.set(around - width * at, around + width * (1 - at));
  }

  /** Moves by a part of what is shown. */
  pan(part: number): void {
    const by = (this.range[1] - this.range[0]) * part;
    this.set(this.range[0] + by, this.range[1] + by);
  }

  reset(): void {
    this.set(...this.full);
  }
}
