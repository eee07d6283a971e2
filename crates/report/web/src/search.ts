// Where a time stands in an ascending column.

/** Index of the first value that is not below `at`; the column's length if there is none. */
export function firstFrom(column: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Indices [from, to) of what a range shows, with `beyond` values more at each end. */
export function within(column: ArrayLike<number>, range: readonly [number, number], beyond = 0): [number, number] {
  const from = Math.max(0, firstFrom(column, range[0]) - beyond);
  let to = firstFrom(column, range[1]);
  while (to < column.length && column[to] === range[1]) to += 1;
  return [from, Math.min(column.length, to + beyond)];
}
