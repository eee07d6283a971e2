// What the colours and shapes of a chart stand for, in words beneath it.

import { el } from "../page/dom";
import { colour, onTheme } from "../page/theme";
import { addSymbol, type Symbol } from "./pen";

export interface Key {
  text: string;
  /** Name of a colour of the style sheet. */
  colour: string;
  shape: Symbol | "line" | "dashed" | "area" | "bar";
}

export function legend(keys: Key[]): HTMLUListElement {
  const list = el("ul", { class: "legend" });
  for (const key of keys) {
    list.append(el("li", {}, sample(key), key.text));
  }
  return list;
}

const SIDE = 14;

function sample(key: Key): HTMLCanvasElement {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const ratio = Math.max(2, devicePixelRatio);
  canvas.width = canvas.height = SIDE * ratio;
  const paint = () => {
    const ctx = canvas.getContext("2d");
    if (!ctx) return;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, SIDE, SIDE);
    ctx.fillStyle = ctx.strokeStyle = colour(key.colour);
    ctx.lineWidth = 1.75;
    ctx.setLineDash([]);
    const middle = SIDE / 2;
    const path = new Path2D();
    switch (key.shape) {
      case "line":
      case "dashed":
        if (key.shape === "dashed") ctx.setLineDash([3, 2]);
        path.moveTo(0, middle);
        path.lineTo(SIDE, middle);
        ctx.stroke(path);
        break;
      case "area":
        ctx.fillRect(1, 2, SIDE - 2, SIDE - 4);
        break;
      case "bar":
        ctx.fillRect(middle - 1.5, 1, 3, SIDE - 2);
        break;
      case "hollow-triangle":
      case "cross":
      case "square":
        addSymbol(path, key.shape, middle, middle, 5);
        ctx.stroke(path);
        break;
      default:
        addSymbol(path, key.shape, middle, middle, key.shape === "disc" ? 3.5 : 5);
        ctx.fill(path);
    }
  };
  paint();
  onTheme(paint);
  return canvas;
}
