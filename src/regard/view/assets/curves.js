// Curves over time: activations and gates of a recurrent network, one line per row.

import { SERIES } from "./colours.js";
import { fitted, number, widest, write } from "./canvas.js";

const TOP = 14, HIGH = 300, DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

export class Curves {
  constructor(viewer) { this.viewer = viewer; this.rows = null; }

  size(wide) {
    const { viewer } = this, { rows, columns } = viewer.matrix(), context = viewer.context();
    this.left = 52;
    this.right = Math.min(widest(context, viewer.panel.rows, rows), wide * 0.22) + 26;
    this.below = Math.min(widest(context, viewer.panel.columns, columns), 110) * 0.8 + 26;
    const step = Math.max((wide - this.left - this.right) / Math.max(1, columns - 1), columns <= 80 ? 15 : 0.5);
    this.step_ = step;
    return { width: this.left + this.right + step * Math.max(1, columns - 1), height: Math.max(TOP + HIGH + this.below, TOP + 30 + rows * 15) };
  }

  draw(context, view) {
    const { viewer } = this, matrix = viewer.matrix(), { theme } = viewer;
    if (!this.rows) {
      this.rows ??= [];
      Promise.all(Array.from({ length: matrix.rows }, (_, row) => matrix.row(row))).then((rows) => { this.rows = rows; viewer.redraw(); });
    }
    if (!this.rows.length) return matrix.rows === 0;
    const values = this.rows.flatMap((row) => [Math.min(...row), Math.max(...row)]);
    this.low = Math.min(0, ...values); this.high = Math.max(...values, this.low + 1e-9);
    this.axes(context, view, matrix);
    const series = SERIES[theme.dark ? "dark" : "light"], focus = viewer.state.pinnedRow ?? viewer.cell()?.row ?? null;
    this.rows.forEach((row, index) => {
      context.globalAlpha = focus === null || focus === index ? 1 : 0.25;
      context.strokeStyle = series[index % series.length]; context.lineWidth = focus === index ? 3 : 1.8;
      context.setLineDash(DASHES[Math.floor(index / series.length) % DASHES.length]);
      context.beginPath();
      row.forEach((value, column) => context.lineTo(this.x(column, view), this.y(value, view)));
      context.stroke();
      this.legend(context, view, index, series[index % series.length]);
    });
    context.setLineDash([]); context.globalAlpha = 1; context.lineWidth = 1;
    return true;
  }

  legend(context, view, index, hue) {
    const x = this.viewer.content.width - this.right + 8 - view.x, y = TOP + 8 + index * 15 - view.y;
    context.beginPath(); context.moveTo(x, y); context.lineTo(x + 12, y); context.stroke();
    context.fillStyle = hue;
    write(context, fitted(context, this.viewer.rowName(index), this.right - 24), x + 16, y, "left");
  }

  axes(context, view, matrix) {
    const { viewer } = this, { theme } = viewer, span = this.high - this.low;
    const unit = 10 ** Math.floor(Math.log10(span / 3)), step = unit * (span / unit > 10 ? 5 : span / unit > 5 ? 2 : 1);
    context.strokeStyle = theme.line; context.fillStyle = theme.soft;
    for (let tick = Math.ceil(this.low / step) * step; tick <= this.high + 1e-12; tick += step) {
      const y = this.y(tick, view);
      context.beginPath(); context.moveTo(this.left - view.x, y); context.lineTo(viewer.content.width - this.right - view.x, y); context.stroke();
      write(context, number(Math.round(tick / step) * step), this.left - 6 - view.x, y, "right");
    }
    const every = Math.max(1, Math.ceil(14 / this.step_)), cell = viewer.cell();
    for (let column = 0; column < matrix.columns; column += every) {
      const x = this.x(column, view);
      if (x < 0 || x > view.width) continue;
      context.save(); context.translate(x, TOP + HIGH + 10 - view.y); context.rotate(Math.PI / 3.6);
      context.fillStyle = cell?.column === column ? theme.accent : theme.soft;
      write(context, fitted(context, viewer.columnName(column), 110), 0, 0, "left");
      context.restore();
    }
    if (cell) {
      context.strokeStyle = theme.accent;
      context.beginPath(); context.moveTo(this.x(cell.column, view), TOP - view.y); context.lineTo(this.x(cell.column, view), TOP + HIGH - view.y); context.stroke();
    }
  }

  x(column, view) { return this.left + column * this.step_ - view.x; }

  y(value, view) { return TOP + HIGH * (1 - (value - this.low) / (this.high - this.low)) - view.y; }

  hit(x, y, view) {
    const { columns } = this.viewer.matrix();
    const column = Math.min(Math.max(Math.round((x - this.left + view.x) / this.step_), 0), columns - 1);
    if (!this.rows?.length) return null;
    const far = (row) => Math.abs(this.y(row[column], view) - y);
    const row = this.rows.reduce((best, one, index) => (far(one) < far(this.rows[best]) ? index : best), 0);
    return { row, column };
  }

  place({ column }, view) {
    const x = column * this.step_;
    return { x: x < view.x ? x : x + this.left + 20 > view.x + view.width ? x + this.left + 20 - view.width : view.x, y: view.y };
  }

  step(cell, down, along) {
    const { rows, columns } = this.viewer.matrix(), clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    return { row: clamp(cell.row + down, rows), column: clamp(cell.column + along, columns) };
  }
}
