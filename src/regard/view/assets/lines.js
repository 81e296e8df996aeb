// Lines between two columns of tokens, as wide and as strong as the weight.

import { SERIES } from "./colours.js";
import { fitted, widest, write } from "./canvas.js";

const ROW = 22, PAD = 12;
const MOST = 8; // lines of a row and head, where none is pointed at
const FAINTEST = 0.02; // of the largest weight, below which no line is drawn unless its token is pointed at

export class Lines {
  constructor(viewer) { this.viewer = viewer; this.tops = new Map(); }

  size(wide) {
    const { viewer } = this, { rows, columns } = viewer.matrix(), context = viewer.context(), most = Math.min(wide * 0.3, 220);
    this.left = Math.min(widest(context, viewer.panel.rows, rows), most) + 18;
    this.right = Math.min(widest(context, viewer.panel.columns, columns), most) + 18;
    this.tall = Math.max(rows, columns) * ROW + 2 * PAD + 16;
    return { width: Math.min(wide, Math.max(320, this.left + this.right + 420)), height: this.tall };
  }

  /** Heads that are drawn: those that are chosen, or the one of the switch. */
  heads() {
    const { viewer } = this, chosen = viewer.state.heads;
    if (!chosen.length) return [{ matrix: viewer.matrix(), head: Math.max(0, viewer.state.head) }];
    return chosen.map((head) => ({ matrix: viewer.matrixOf(viewer.state.layer, head), head }));
  }

  y(index, view) { return PAD + 24 + index * ROW - view.y; }

  draw(context, view) {
    const { viewer } = this, matrix = viewer.matrix(), { theme } = viewer;
    const first = Math.max(0, Math.floor((view.y - PAD - 40) / ROW)), last = Math.ceil((view.y + view.height) / ROW);
    let whole = true;
    context.save();
    context.lineCap = "round";
    for (const { matrix: one, head } of this.heads()) {
      const series = SERIES[theme.dark ? "dark" : "light"], hue = series[head % series.length];
      whole = this.headLines(context, view, one, viewer.panel.kind === "heads" ? hue : series[0], first, last) && whole;
    }
    context.restore();
    this.names(context, view, "row", matrix.rows, first, last);
    this.names(context, view, "column", matrix.columns, first, last);
    this.titles(context, view);
    return whole;
  }

  headLines(context, view, matrix, hue, first, last) {
    const { viewer } = this, { state } = viewer, cell = viewer.cell(), threshold = viewer.shading().threshold;
    const row = state.pinnedRow ?? (state.pinnedColumn === null && this.side === "row" ? cell?.row : null) ?? null;
    const column = state.pinnedColumn ?? (this.side === "column" ? cell?.column : null) ?? null;
    const top = viewer.shading().top, least = Math.max(threshold, row === null && column === null ? FAINTEST * top : 1e-6);
    let whole = true;
    const rows = row !== null ? [row] : Array.from({ length: Math.min(matrix.rows, last + 60) - Math.max(0, first - 60) }, (_, i) => Math.max(0, first - 60) + i);
    for (const one of rows) {
      const count = row === null && column === null ? MOST : matrix.columns;
      const strongest = this.strongest(matrix, one, Math.min(count, matrix.columns));
      if (!strongest) { whole = false; continue; }
      for (const { column: to, value } of strongest) {
        if (Math.abs(value) < least || (column !== null && to !== column)) continue;
        this.line(context, view, one, to, value / top, hue);
      }
    }
    return whole;
  }

  /** The largest weights of a row once they are there. */
  strongest(matrix, row, count) {
    if (!this.tops.has(matrix)) this.tops.set(matrix, new Map());
    const known = this.tops.get(matrix), key = `${row}/${count}`;
    if (!known.has(key)) {
      known.set(key, null);
      matrix.top(row, count).then((found) => { known.set(key, found); this.viewer.redraw(); });
    }
    return known.get(key);
  }

  line(context, view, row, column, part, hue) {
    const x0 = this.left, x1 = this.wide(view) - this.right, y0 = this.y(row, view), y1 = this.y(column, view);
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > view.height) return;
    const size = Math.min(1, Math.abs(part)), middle = (x0 + x1) / 2;
    context.globalAlpha = 0.12 + 0.78 * Math.sqrt(size);
    context.lineWidth = 0.6 + 6 * size;
    context.strokeStyle = hue;
    context.setLineDash(part < 0 ? [5, 5] : []);
    context.beginPath(); context.moveTo(x0, y0); context.bezierCurveTo(middle, y0, middle, y1, x1, y1); context.stroke();
  }

  wide(view) { return Math.min(view.width, this.viewer.content.width); }

  names(context, view, side, count, first, last) {
    const { viewer } = this, { theme, state } = viewer, cell = viewer.cell(), room = (side === "row" ? this.left : this.right) - 12;
    for (let index = first; index < Math.min(count, last + 1); index++) {
      const pinned = state[side === "row" ? "pinnedRow" : "pinnedColumn"] === index;
      const here = pinned || (this.side === side && cell?.[side] === index);
      context.font = context.font.replace(/^(bold )?/, here || viewer.isFound(side, index) ? "bold " : "");
      context.fillStyle = here ? theme.accent : viewer.isFound(side, index) ? theme.found : theme.text;
      const name = fitted(context, side === "row" ? viewer.rowName(index) : viewer.columnName(index), room), y = this.y(index, view);
      if (side === "row") write(context, name, this.left - 6, y, "right"); else write(context, name, this.wide(view) - this.right + 6, y, "left");
    }
    context.font = context.font.replace("bold ", "");
  }

  titles(context, view) {
    const { viewer } = this, y = 11 - view.y;
    context.fillStyle = viewer.theme.soft;
    write(context, fitted(context, viewer.panel.down || "rows", this.left + 60), 6, y, "left");
    write(context, fitted(context, viewer.panel.along || "columns", this.right + 60), this.wide(view) - 6, y, "right");
  }

  hit(x, y, view) {
    const index = Math.round((y - PAD - 24 + view.y) / ROW), { rows, columns } = this.viewer.matrix();
    if (index < 0) return null;
    const cell = this.viewer.state;
    if (x < this.left + 20 && index < rows) { this.side = "row"; return { row: index, column: null, keep: cell.column }; }
    if (x > this.wide(view) - this.right - 20 && index < columns) { this.side = "column"; return { row: null, column: index, keep: cell.row }; }
    return null;
  }

  place({ row, column }, view) {
    const index = (this.side === "column" ? column : row) ?? row ?? column ?? 0, y = PAD + index * ROW;
    return { x: 0, y: y < view.y ? y : y + 2 * ROW + 12 > view.y + view.height ? y + 2 * ROW + 12 - view.height : view.y };
  }

  step(cell, down, along) {
    const { rows, columns } = this.viewer.matrix(), clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    if (along) this.side = along > 0 ? "column" : "row";
    this.side ??= "row";
    return this.side === "row" ? { row: clamp(cell.row + down, rows), column: cell.column } : { row: cell.row, column: clamp(cell.column + down, columns) };
  }
}
