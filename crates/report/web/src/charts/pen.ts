// Values into marks on a plot's canvas: lines, steps, areas, bars and symbols.

import type uPlot from "uplot";

export type Symbol = "disc" | "triangle" | "hollow-triangle" | "square" | "cross";

export class Pen {
  readonly ctx: CanvasRenderingContext2D;
  /** Canvas pixels a CSS pixel. */
  readonly ratio: number;

  constructor(readonly plot: uPlot) {
    this.ctx = plot.ctx;
    this.ratio = plot.ctx.canvas.width / plot.width;
  }

  get box(): { left: number; top: number; width: number; height: number } {
    return this.plot.bbox;
  }

  x(value: number): number {
    return this.plot.valToPos(value, "x", true);
  }

  y(value: number): number {
    return this.plot.valToPos(value, "y", true);
  }

  get bottom(): number {
    return this.box.top + this.box.height;
  }

  stroke(colour: string, width = 1, dash: number[] = []): void {
    this.ctx.strokeStyle = colour;
    this.ctx.lineWidth = width * this.ratio;
    this.ctx.setLineDash(dash.map((length) => length * this.ratio));
  }

  /**
   * Steps: each value holds until the next one's place. Nulls leave gaps. Where many values fall into one
   * pixel its lowest and highest are drawn, and none is lost.
   */
  steps(at: ArrayLike<number>, values: ArrayLike<number | null>, from: number, to: number, options: {
    colour: string; width?: number; dash?: number[]; fill?: string; until?: number;
  }): void {
    const { ctx } = this;
    const line = new Path2D();
    const area = new Path2D();
    let open = false;
    let left = 0;
    let height = 0;
    const base = this.bottom;
    const close = (right: number) => {
      if (!open) return;
      line.lineTo(right, height);
      if (options.fill) area.rect(left, height, right - left, base - height);
    };
    for (let i = from; i < to; i += 1) {
      const value = values[i];
      const x = this.x(at[i] as number);
      close(x);
      if (value == null) {
        open = false;
        continue;
      }
      const y = this.y(value);
      if (open) line.lineTo(x, y);
      else line.moveTo(x, y);
      open = true;
      left = x;
      height = y;
    }
    close(options.until === undefined ? left : this.x(options.until));
    if (options.fill) {
      ctx.fillStyle = options.fill;
      ctx.fill(area);
    }
    this.stroke(options.colour, options.width ?? 1.25, options.dash);
    ctx.lineJoin = "round";
    ctx.stroke(line);
  }

  /** A line through points. */
  line(points: readonly (readonly [number, number])[], colour: string, width = 1.5, dash: number[] = []): void {
    const path = new Path2D();
    points.forEach(([x, y], at) => (at === 0 ? path.moveTo(this.x(x), this.y(y)) : path.lineTo(this.x(x), this.y(y))));
    this.stroke(colour, width, dash);
    this.ctx.lineJoin = "round";
    this.ctx.stroke(path);
  }

  /** Adds a symbol at a place of the canvas to a path. Size is its half width in CSS pixels. */
  symbol(path: Path2D, symbol: Symbol, x: number, y: number, size: number): void {
    addSymbol(path, symbol, x, y, size * this.ratio);
  }

  text(words: string, x: number, y: number, colour: string, align: CanvasTextAlign = "left"): void {
    const { ctx } = this;
    ctx.font = `${11 * this.ratio}px ${FONT}`;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.fillStyle = colour;
    ctx.fillText(words, x, y);
  }
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export function addSymbol(path: Path2D, symbol: Symbol, x: number, y: number, r: number): void {
  switch (symbol) {
    case "disc":
      path.moveTo(x + r, y);
      path.arc(x, y, r, 0, 2 * Math.PI);
      break;
    case "triangle":
    case "hollow-triangle":
      path.moveTo(x, y - r * 1.1);
      path.lineTo(x + r, y + r * 0.8);
      path.lineTo(x - r, y + r * 0.8);
      path.closePath();
      break;
    case "square":
      path.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
      break;
    case "cross":
      path.moveTo(x - r * 0.8, y - r * 0.8);
      path.lineTo(x + r * 0.8, y + r * 0.8);
      path.moveTo(x + r * 0.8, y - r * 0.8);
      path.lineTo(x - r * 0.8, y + r * 0.8);
      break;
  }
}
