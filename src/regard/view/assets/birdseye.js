// Bird's eye: every layer and head at a glance, one small heat map each.

import { painted, palette } from "./colours.js";
import { write } from "./canvas.js";

const LEFT = 34, TOP = 22, GAP = 6;

export class BirdsEye {
  constructor(viewer) { this.viewer = viewer; this.small = new Map(); this.shades = new Map(); }

  size(wide) {
    const { layers, heads } = this.viewer.panel;
    this.cell = Math.max(30, Math.min(104, (wide - LEFT - 8) / heads.length));
    const { rows, columns } = this.viewer.matrix();
    this.high = Math.max(20, this.cell * Math.min(1.6, Math.max(0.4, rows / columns)));
    return { width: LEFT + heads.length * this.cell, height: TOP + layers.length * this.high + 8 };
  }

  draw(context, view) {
    const { viewer } = this, { layers, heads } = viewer.panel, { state, theme } = viewer;
    let whole = true;
    for (let layer = 0; layer < layers.length; layer++) {
      for (let head = 0; head < heads.length; head++) {
        const x = LEFT + head * this.cell - view.x, y = TOP + layer * this.high - view.y;
        if (x > view.width || y > view.height || x + this.cell < 0 || y + this.high < 0) continue;
        const picture = this.picture(viewer.matrixOf(layer, head));
        if (!picture) { whole = false; continue; }
        context.imageSmoothingEnabled = picture.width > this.cell;
        context.drawImage(picture, x, y, this.cell - GAP, this.high - GAP);
        const here = layer === state.layer && head === state.head;
        context.strokeStyle = here ? theme.accent : theme.line; context.lineWidth = here ? 3 : 1;
        context.strokeRect(x - 0.5, y - 0.5, this.cell - GAP + 1, this.high - GAP + 1);
      }
    }
    context.lineWidth = 1;
    context.fillStyle = theme.soft;
    write(context, "layer", 2, TOP - 10 - view.y, "left");
    heads.forEach((name, head) => write(context, name, LEFT + (head + 0.5) * this.cell - GAP / 2 - view.x, TOP - 10 - view.y, "center"));
    layers.forEach((name, layer) => write(context, name, LEFT - 8, TOP + (layer + 0.5) * this.high - GAP / 2 - view.y, "right"));
    return whole;
  }

  picture(matrix) {
    const how = this.viewer.shading(), key = JSON.stringify(how);
    if (this.key !== key) { this.key = key; this.shades = new Map(); }
    if (!this.small.has(matrix)) {
      this.small.set(matrix, null);
      matrix.small().then((tile) => { this.small.set(matrix, tile); this.viewer.redraw(); });
    }
    const tile = this.small.get(matrix);
    if (tile && !this.shades.has(matrix)) this.shades.set(matrix, painted(tile, palette(matrix, how)));
    return this.shades.get(matrix);
  }

  hit(x, y, view) {
    const { layers, heads } = this.viewer.panel;
    const head = Math.floor((x - LEFT + view.x) / this.cell), layer = Math.floor((y - TOP + view.y) / this.high);
    return head >= 0 && layer >= 0 && head < heads.length && layer < layers.length ? { layer, head } : null;
  }

  place(_, view) { return { x: view.x, y: view.y }; }
}
