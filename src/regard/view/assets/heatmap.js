// Heat map: one square per weight, from the whole map down to single values.

import { colour, css, ink, painted, palette, share } from "./colours.js";
import { FONT, fitted, number, widest, write } from "./canvas.js";

const TILE = 512;
const LABEL = 13; // pixels between two labels at least
const SLANT = Math.PI / 3.6; // of labels above narrow columns
const LARGEST_CELL = 36, READABLE = 14, NUMBERS = 46;

/** The next of 1, 2, 5, 10, 20, ... */
function round(value) {
  if (value <= 1) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((one) => one * unit >= value) * unit;
}

export class HeatMap {
  constructor(viewer) { this.viewer = viewer; this.zoom = 1; this.canvases = new Map(); this.table = null; }

  /** Width and height of the whole map with its labels, in a stage as wide as `wide`. */
  size(wide, high) {
    const { viewer } = this, { rows, columns } = viewer.matrix(), context = viewer.context();
    const widestRow = widest(context, viewer.panel.rows, rows), widestColumn = widest(context, viewer.panel.columns, columns);
    this.left = Math.ceil(Math.min(widestRow, Math.max(56, wide * 0.28), 200)) + 12;
    const along = Math.min((wide - this.left - 8) / columns, LARGEST_CELL);
    this.slanted = widestColumn + 6 > along * this.zoom;
    this.label = Math.min(widestColumn, 130);
    this.top = this.slanted ? Math.ceil(this.label * Math.sin(SLANT)) + 18 : 24;
    this.right = this.slanted ? Math.ceil(Math.min(this.label * Math.cos(SLANT), 90)) + 6 : 6;
    let sx = Math.min((wide - this.left - this.right) / columns, LARGEST_CELL);
    let sy = Math.min((high - this.top - 8) / rows, LARGEST_CELL);
    if (sx / sy < 2.5 && sx / sy > 0.4) sx = sy = Math.min(sx, sy);
    if (columns <= 64) sx = Math.max(sx, READABLE);
    if (rows <= 64) sy = Math.max(sy, READABLE + 2);
    this.sx = sx * this.zoom; this.sy = sy * this.zoom;
    return { width: this.left + columns * this.sx + this.right, height: this.top + rows * this.sy + 8 };
  }

  draw(context, view) {
    const { viewer } = this, matrix = viewer.matrix(), { sx, sy, left, top } = this;
    const area = { x: left, y: top, width: view.width - left, height: view.height - top };
    context.save();
    context.beginPath(); context.rect(area.x, area.y, area.width, area.height); context.clip();
    const whole = this.cells(context, matrix, view, area);
    this.marks(context, view, area, matrix);
    context.restore();
    this.rowNames(context, view, matrix);
    this.columnNames(context, view, matrix);
    context.strokeStyle = viewer.theme.line;
    const right = Math.min(view.width - 0.5, left + matrix.columns * sx - view.x), below = Math.min(view.height - 0.5, top + matrix.rows * sy - view.y);
    context.strokeRect(left - 0.5, top - 0.5, right - left + 1, below - top + 1);
    return whole;
  }

  /** Tiles of the level that fits the zoom; until they have come, the coarsest level. Returns whether they are there. */
  cells(context, matrix, view, area) {
    const last = matrix.levels.length - 1;
    let level = 0;
    while (level < last && Math.min(this.sx, this.sy) * 2 ** (level + 1 + matrix.power) <= 1.4) level++;
    const tiles = this.tiles(matrix, view, area, level), whole = tiles.every(({ tile }) => tile !== undefined);
    this.paint(context, matrix, area, whole ? tiles : this.tiles(matrix, view, area, last), whole ? level : last);
    if (matrix.power && matrix.most && this.sx * 2 ** matrix.power > 3) this.single(context, matrix, view, area);
    if (Math.min(this.sx / 1.6, this.sy * 1.6) >= NUMBERS / 1.6) this.numbers(context, matrix, view, area);
    return whole;
  }

  /** The tiles of a level that are seen, and where they begin. */
  tiles(matrix, view, area, level) {
    const { columns, rows } = matrix.levels[level], found = [];
    const [wide, high] = [this.sx * 2 ** (level + matrix.power), this.sy * 2 ** (level + matrix.power)];
    for (let y = Math.floor(view.y / high / TILE); y * TILE < rows && y * TILE * high < view.y + area.height; y++) {
      for (let x = Math.floor(view.x / wide / TILE); x * TILE < columns && x * TILE * wide < view.x + area.width; x++) {
        found.push({ tile: matrix.tile(level, y, x), left: x * TILE * wide - view.x, top: y * TILE * high - view.y });
      }
    }
    return found;
  }

  paint(context, matrix, area, tiles, level) {
    const [wide, high] = [this.sx * 2 ** (level + matrix.power), this.sy * 2 ** (level + matrix.power)], table = this.colours(matrix);
    context.imageSmoothingEnabled = wide < 1;
    for (const { tile, left, top } of tiles) {
      if (tile) context.drawImage(this.canvas(tile, table), area.x + left, area.y + top, tile.width * wide, tile.height * high);
    }
  }

  /** The colour of every q, made anew when something about colours has changed. */
  colours(matrix) {
    const { viewer } = this, how = viewer.shading();
    const key = JSON.stringify([how, matrix.full, matrix.signed]);
    if (this.key !== key) { this.key = key; this.table = palette(matrix, how); this.canvases = new Map(); }
    return this.table;
  }

  canvas(tile, table) {
    if (!this.canvases.has(tile)) {
      if (this.canvases.size > 200) this.canvases.clear();
      this.canvases.set(tile, painted(tile, table));
    }
    return this.canvases.get(tile);
  }

  /** First and last row and column that are seen. */
  seen(matrix, view) {
    return {
      top: Math.max(0, Math.floor(view.y / this.sy)),
      bottom: Math.min(matrix.rows, Math.ceil((view.y + view.height - this.top) / this.sy)),
      left: Math.max(0, Math.floor(view.x / this.sx)),
      right: Math.min(matrix.columns, Math.ceil((view.x + view.width - this.left) / this.sx)),
    };
  }

  /** Single weights of a map whose finest tiles are coarser than a weight. */
  single(context, matrix, view, area) {
    const seen = this.seen(matrix, view), { count, columns, values } = matrix.most, how = this.viewer.shading();
    for (let row = seen.top; row < seen.bottom; row++) {
      for (let i = row * count; i < (row + 1) * count; i++) {
        if (columns[i] < seen.left || columns[i] >= seen.right || Math.abs(values[i]) < how.threshold) continue;
        context.fillStyle = css(colour(share(values[i], how.top, how.root), matrix.signed, how.dark));
        context.fillRect(area.x + columns[i] * this.sx - view.x, area.y + row * this.sy - view.y, this.sx, this.sy);
      }
    }
  }

  numbers(context, matrix, view, area) {
    const seen = this.seen(matrix, view), how = this.viewer.shading();
    context.save();
    context.font = `10.5px ${FONT}`;
    for (let row = seen.top; row < seen.bottom; row++) {
      for (let column = seen.left; column < seen.right; column++) {
        const found = matrix.at(row, column);
        if (!found || found.value === 0 || !(found.exact || found.about === "≈ ") || Math.abs(found.value) < how.threshold) continue;
        context.fillStyle = ink(colour(share(found.value, how.top, how.root), matrix.signed, how.dark));
        const shown = Math.abs(found.value) >= 0.0005 ? found.value.toFixed(3).replace(/^(-?)0\./, "$1.") : number(found.value);
        write(context, shown, area.x + (column + 0.5) * this.sx - view.x, area.y + (row + 0.5) * this.sy - view.y, "center");
      }
    }
    context.restore();
  }

  /** Frames of gold cells, centres of windows, pinned rows and columns, and the cell under the pointer. */
  marks(context, view, area, matrix) {
    const { viewer, sx, sy } = this, { state, panel, theme } = viewer;
    const x = (column) => area.x + column * sx - view.x, y = (row) => area.y + row * sy - view.y;
    this.fade(context, x, y, matrix);
    context.lineWidth = 2;
    context.strokeStyle = theme.gold;
    for (const [row, column] of panel.outlined) context.strokeRect(x(column) + 1, y(row) + 1, sx - 2, sy - 2);
    panel.centres.forEach((centre, row) => {
      const around = () => { context.beginPath(); context.arc(x(centre + 0.5), y(row + 0.5), Math.max(2, Math.min(sx, sy) / 6), 0, 7); context.stroke(); };
      context.lineWidth = 4; context.strokeStyle = theme.paper; around();
      context.lineWidth = 2; context.strokeStyle = theme.gold; around();
    });
    context.strokeStyle = theme.accent;
    if (state.pinnedRow !== null) context.strokeRect(x(0) - 2, y(state.pinnedRow), matrix.columns * sx + 4, sy);
    if (state.pinnedColumn !== null) context.strokeRect(x(state.pinnedColumn), y(0) - 2, sx, matrix.rows * sy + 4);
    const cell = viewer.cell();
    if (cell && cell.row !== null && cell.column !== null) {
      context.strokeStyle = theme.paper; context.lineWidth = 4;
      context.strokeRect(x(cell.column) - 1, y(cell.row) - 1, Math.max(sx, 3) + 2, Math.max(sy, 3) + 2);
      context.strokeStyle = theme.accent; context.lineWidth = 2;
      context.strokeRect(x(cell.column) - 1, y(cell.row) - 1, Math.max(sx, 3) + 2, Math.max(sy, 3) + 2);
    }
    context.lineWidth = 1;
  }

  /** Everything but what is pinned, faded. */
  fade(context, x, y, matrix) {
    const { pinnedRow, pinnedColumn } = this.viewer.state;
    if (pinnedRow === null && pinnedColumn === null) return;
    const [top, bottom] = pinnedRow === null ? [0, 0] : [pinnedRow, pinnedRow + 1];
    const [left, right] = pinnedColumn === null ? [0, 0] : [pinnedColumn, pinnedColumn + 1];
    context.fillStyle = this.viewer.theme.dark ? "rgb(10 13 18 / 62%)" : "rgb(255 255 255 / 62%)";
    for (const [first, last] of [[0, top], [bottom, matrix.rows]]) {
      for (const [from, to] of [[0, left], [right, matrix.columns]]) {
        context.fillRect(x(from), y(first), x(to) - x(from), y(last) - y(first));
      }
    }
  }

  /** What is written among names from first to before last: every so many, and above these those that are marked. */
  named(side, first, last, step) {
    const { viewer } = this, names = [];
    for (let index = Math.ceil(first / step) * step; index < last; index += step) names.push(index);
    const marked = [viewer.cell()?.[side], viewer.state[side === "row" ? "pinnedRow" : "pinnedColumn"], ...viewer.found[side]];
    const seen = new Set(marked.filter((index) => Number.isInteger(index) && index >= first && index < last).slice(0, 200));
    return [...names.filter((index) => !seen.has(index)), ...seen];
  }

  /** Colour and weight of a name: those that were found, that of the cell under the pointer, others. */
  ink(context, side, index) {
    const { viewer } = this, cell = viewer.cell(), pinned = viewer.state[side === "row" ? "pinnedRow" : "pinnedColumn"];
    const here = cell?.[side] === index || pinned === index, found = viewer.isFound(side, index);
    context.fillStyle = here ? viewer.theme.accent : found ? viewer.theme.found : viewer.theme.text;
    context.font = `${here || found ? "bold " : ""}12px ${FONT}`;
    return here || found;
  }

  rowNames(context, view, matrix) {
    const seen = this.seen(matrix, view), step = round(LABEL / this.sy);
    for (const row of this.named("row", seen.top, seen.bottom, step)) {
      const y = this.top + (row + 0.5) * this.sy - view.y;
      if (y < this.top) continue;
      if (step > 1 && this.ink(context, "row", row)) this.plate(context, 0, y - 7, this.left - 3, 14);
      this.ink(context, "row", row);
      write(context, fitted(context, this.viewer.rowName(row), this.left - 10), this.left - 6, y, "right");
    }
  }

  columnNames(context, view, matrix) {
    const seen = this.seen(matrix, view), step = round((this.slanted && this.sx < LABEL ? LABEL + 5 : LABEL) / this.sx);
    for (const column of this.named("column", seen.left, seen.right, step)) {
      const x = this.left + (column + 0.5) * this.sx - view.x;
      if (x < this.left) continue;
      context.save();
      context.translate(x, this.top - 7);
      if (this.slanted) context.rotate(-SLANT);
      if (step > 1 && this.ink(context, "column", column)) this.plate(context, 0, -7, this.label, 14);
      this.ink(context, "column", column);
      const name = fitted(context, this.viewer.columnName(column), this.slanted ? this.label : this.sx);
      if (this.slanted) write(context, name, 0, 0, "left"); else write(context, name, 0, -4, "center");
      context.restore();
    }
  }

  plate(context, x, y, width, height) {
    context.fillStyle = this.viewer.theme.paper;
    context.fillRect(x, y, width, height);
  }

  /** The cell at a place of the stage. */
  hit(x, y, view) {
    const { rows, columns } = this.viewer.matrix();
    const row = Math.floor((y - this.top + view.y) / this.sy), column = Math.floor((x - this.left + view.x) / this.sx);
    if (x < this.left && row >= 0 && row < rows && y >= this.top) return { row, column: null };
    if (y < this.top && column >= 0 && column < columns && x >= this.left) return { row: null, column };
    return row >= 0 && column >= 0 && row < rows && column < columns && x >= this.left && y >= this.top ? { row, column } : null;
  }

  /** Where to scroll so that a cell is seen. */
  place({ row, column }, view) {
    const within = (begin, size, from, room) => (begin < from ? begin : begin + size > from + room ? begin + size - room : from);
    return {
      x: column === null ? view.x : within(column * this.sx, this.sx, view.x, view.width - this.left - this.right),
      y: row === null ? view.y : within(row * this.sy, this.sy, view.y, view.height - this.top - 8),
    };
  }

  step(cell, down, along) {
    const { rows, columns } = this.viewer.matrix(), clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    return { row: clamp(cell.row + down, rows), column: clamp(cell.column + along, columns) };
  }
}
