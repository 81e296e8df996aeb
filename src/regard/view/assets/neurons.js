// Neurons: how one query meets every key, dimension by dimension, before the softmax.

import { colour, css, ink, share } from "./colours.js";
import { fitted, number, widest, write } from "./canvas.js";

const ROW = 20, TOP = 72, BAR = 92;

export class Neurons {
  constructor(viewer) { this.viewer = viewer; this.vectors = new Map(); }

  size(wide) {
    const { viewer } = this, matrix = viewer.matrix();
    this.left = Math.min(widest(viewer.context(), viewer.panel.columns, matrix.columns), wide * 0.25, 160) + 14;
    this.depth = viewer.vectors("keys")?.columns ?? 1;
    this.dot = Math.max(2, Math.min(14, (wide - this.left - BAR - 40) / 2 / this.depth));
    return { width: this.left + 2 * this.depth * this.dot + 20 + BAR, height: TOP + matrix.columns * ROW + 10 };
  }

  /** Query of the row that is pinned or pointed at, and all keys. */
  loaded() {
    const { viewer } = this, queries = viewer.vectors("queries"), keys = viewer.vectors("keys"), row = viewer.focusRow();
    if (!queries) return null;
    const name = `${viewer.state.layer}/${viewer.state.head}/${row}`;
    if (!this.vectors.has(name)) {
      this.vectors.set(name, null);
      const every = Array.from({ length: keys.rows }, (_, key) => keys.row(key));
      Promise.all([queries.row(row), viewer.matrix().row(row), ...every]).then(([query, weights, ...rest]) => {
        this.vectors.set(name, { query, weights, keys: rest }); viewer.redraw();
      });
    }
    return this.vectors.get(name);
  }

  draw(context, view) {
    const { viewer } = this, found = this.loaded(), { theme } = viewer;
    if (!viewer.vectors("queries")) {
      context.fillStyle = theme.soft;
      write(context, "choose a layer and a head: their mean has no query and no key", 8, 20, "left");
      return true;
    }
    if (!found) return false;
    const second = this.left + this.depth * this.dot + 10, last = second + this.depth * this.dot + 10;
    const largest = (rows) => Math.max(1e-9, ...rows.map((one) => one.reduce((most, value) => Math.max(most, Math.abs(value)), 0)));
    const products = found.keys.map((key) => key.map((value, d) => value * found.query[d]));
    const tops = [largest([found.query]), largest(found.keys), largest(products)];
    context.fillStyle = theme.soft;
    write(context, "query", this.left - view.x, 9 - view.y, "left");
    write(context, "key", this.left - view.x, 58 - view.y, "left");
    write(context, "query × key", second - view.x, 58 - view.y, "left");
    write(context, "weight", last - view.x, 58 - view.y, "left");
    context.fillStyle = theme.accent;
    write(context, fitted(context, viewer.rowName(viewer.focusRow()), this.left - 10), this.left - 6 - view.x, 18 + ROW / 2 - view.y, "right");
    this.strip(context, found.query, tops[0], this.left - view.x, 18 - view.y);
    const top = viewer.shading().top, cell = viewer.cell();
    for (let key = 0; key < found.keys.length; key++) {
      const y = TOP + key * ROW - view.y;
      if (y < -ROW || y > view.height) continue;
      context.fillStyle = cell?.column === key ? theme.accent : viewer.isFound("column", key) ? theme.found : theme.text;
      write(context, fitted(context, viewer.columnName(key), this.left - 10), this.left - 6 - view.x, y + ROW / 2, "right");
      this.strip(context, found.keys[key], tops[1], this.left - view.x, y);
      this.strip(context, products[key], tops[2], second - view.x, y);
      const shade = colour(share(found.weights[key], top, viewer.shading().root), viewer.matrix().signed, theme.dark);
      context.fillStyle = css(shade); context.fillRect(last - view.x, y + 1, BAR - 20, ROW - 3);
      context.strokeStyle = theme.line; context.strokeRect(last - view.x + 0.5, y + 1.5, BAR - 21, ROW - 4);
      context.fillStyle = ink(shade); write(context, number(found.weights[key]), last - view.x + (BAR - 20) / 2, y + ROW / 2, "center");
    }
    return true;
  }

  strip(context, values, top, x, y) {
    const { dark } = this.viewer.theme;
    values.forEach((value, d) => {
      context.fillStyle = css(colour(share(value, top, false), true, dark));
      context.fillRect(x + d * this.dot, y + 1, Math.max(1, this.dot - 0.5), ROW - 3);
    });
  }

  hit(x, y, view) {
    const column = Math.floor((y - TOP + view.y) / ROW);
    return column >= 0 && column < this.viewer.matrix().columns ? { row: this.viewer.focusRow(), column } : null;
  }

  place({ column }, view) {
    const y = (column ?? 0) * ROW;
    return { x: view.x, y: y < view.y ? y : y + TOP + ROW > view.y + view.height ? y + TOP + ROW - view.height : view.y };
  }

  step(cell, down, along) {
    const { rows, columns } = this.viewer.matrix(), clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    return { row: clamp(cell.row + along, rows), column: clamp(cell.column + down, columns) };
  }
}
