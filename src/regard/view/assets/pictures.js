// Weights over pictures: words over regions, paths of glimpses, symbols over a spectrogram, nodes that read each other.

import { SERIES, colour, css, share } from "./colours.js";
import { fitted, number, widest, write } from "./canvas.js";

/** The picture of a panel, by its kind. */
export function pictureOf(viewer) {
  return new { regions: Regions, glimpses: Glimpses, frames: Frames, network: Network }[viewer.panel.kind](viewer);
}

class Picture {
  constructor(viewer) { this.viewer = viewer; }

  hit() { return null; }

  place(_, view) { return { x: view.x, y: view.y }; }

  step(cell, down, along) {
    const { rows, columns } = this.viewer.matrix(), clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);
    return { row: clamp(cell.row + down, rows), column: clamp(cell.column + along, columns) };
  }

  /** Pixels of the panel's picture as a canvas, once they are there. */
  image() {
    if (this.asked) return this.pixels;
    this.asked = true;
    const [height, width, place] = this.viewer.panel.picture;
    this.viewer.blobs.bytes(place).then((bytes) => {
      this.pixels = canvasOf(width, height, (data) => {
        for (let i = 0, j = 0; j < bytes.length; i += 4, j += 3) { data[i] = bytes[j]; data[i + 1] = bytes[j + 1]; data[i + 2] = bytes[j + 2]; data[i + 3] = 255; }
      });
      this.viewer.redraw();
    });
    return undefined;
  }

  /** All values, row by row, once they are there. */
  values() {
    if (!this.wanted) {
      this.wanted = true;
      const matrix = this.viewer.matrix();
      Promise.all(Array.from({ length: matrix.rows }, (_, row) => matrix.row(row))).then((rows) => { this.known = rows; this.viewer.redraw(); });
    }
    return this.known;
  }
}

function canvasOf(width, height, fill) {
  const canvas = document.createElement("canvas");
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  fill(image.data);
  context.putImageData(image, 0, 0);
  return canvas;
}

class Regions extends Picture {
  size(wide) {
    const [height, width] = this.viewer.panel.picture, { rows } = this.viewer.matrix();
    this.across = Math.max(2, Math.min(6, Math.floor(wide / 140), rows + 1));
    this.card = Math.min(220, (wide - 8) / this.across);
    this.high = ((this.card - 12) * height) / width + 46;
    return { width: this.across * this.card, height: Math.ceil((rows + 1) / this.across) * this.high };
  }

  draw(context, view) {
    const { viewer } = this, image = this.image(), values = this.values(), { theme } = viewer;
    if (!image || !values) return false;
    for (let card = 0; card <= values.length; card++) {
      const x = (card % this.across) * this.card - view.x, y = Math.floor(card / this.across) * this.high - view.y;
      if (y > view.height || y + this.high < 0) continue;
      const wide = this.card - 12, high = this.high - 46, row = card - 1;
      context.imageSmoothingEnabled = image.width > wide;
      context.drawImage(image, x + 6, y + 24, wide, high);
      if (!card) continue;
      this.heat(context, values[row], x + 6, y + 24, wide, high);
      const here = viewer.cell()?.row === row || viewer.state.pinnedRow === row;
      context.fillStyle = here ? theme.accent : viewer.isFound("row", row) ? theme.found : theme.text;
      write(context, fitted(context, viewer.rowName(row), wide), x + 6 + wide / 2, y + 12, "center");
      context.fillStyle = theme.soft;
      write(context, number(Math.max(...values[row])), x + 6 + wide / 2, y + 32 + high, "center");
      if (here) { context.strokeStyle = theme.accent; context.lineWidth = 2; context.strokeRect(x + 5, y + 23, wide + 2, high + 2); context.lineWidth = 1; }
    }
    return true;
  }

  /** Weights of regions, those of several scales above each other, the finer the brighter. */
  heat(context, values, x, y, wide, high) {
    const { grids } = this.viewer.panel;
    const dense = grids.map(([down, along]) => down * along), top = Math.max(1e-9, ...this.densities(values, dense));
    let begin = 0;
    grids.forEach(([down, along], scale) => {
      const cells = canvasOf(along, down, (data) => {
        for (let i = 0; i < down * along; i++) {
          const part = Math.min(1, (values[begin + i] * dense[scale]) / top);
          data.set([...colour(part, false, true), Math.round(190 * part)], i * 4);
        }
      });
      begin += down * along;
      context.imageSmoothingEnabled = true;
      context.drawImage(cells, x, y, wide, high);
    });
  }

  densities(values, dense) {
    let begin = 0;
    return dense.flatMap((cells) => { const part = Array.from(values.subarray(begin, begin + cells), (one) => one * cells); begin += cells; return part; });
  }

  hit(x, y, view) {
    const card = Math.floor((x + view.x) / this.card) + Math.floor((y + view.y) / this.high) * this.across, row = card - 1;
    if (row < 0 || row >= this.viewer.matrix().rows || x + view.x >= this.across * this.card) return null;
    const [down, along] = this.viewer.panel.grids[0], inside = (x + view.x) % this.card - 6, below = (y + view.y) % this.high - 24;
    const clamp = (share, size) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
    return { row, column: clamp(below / (this.high - 46), down) * along + clamp(inside / (this.card - 12), along) };
  }
}

class Glimpses extends Picture {
  size(wide) {
    const [height, width] = this.viewer.panel.picture;
    this.scale = Math.min((wide - 80) / width, 420 / height);
    return { width: width * this.scale + 80, height: height * this.scale + 80 };
  }

  draw(context, view) {
    const { viewer } = this, { theme, panel } = viewer, [height, width] = panel.picture, image = this.image();
    if (!image) return false;
    const [size, scales, factor] = panel.retina, x = (at) => 40 + ((at + 1) / 2) * width * this.scale - view.x, y = (at) => 40 + ((at + 1) / 2) * height * this.scale - view.y;
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 40 - view.x, 40 - view.y, width * this.scale, height * this.scale);
    const hues = SERIES.dark, cell = viewer.cell();
    panel.locations.forEach(([across, down], step) => {
      const faint = cell && cell.row !== step ? 0.35 : 1, hue = hues[step % hues.length];
      context.globalAlpha = faint;
      if (step) this.outlined(context, hue, 2, () => { const [a, b] = panel.locations[step - 1]; context.moveTo(x(a), y(b)); context.lineTo(x(across), y(down)); });
      for (let scale = 0; scale < scales; scale++) {
        const side = size * factor ** scale * this.scale;
        this.outlined(context, hue, scale ? 1 : 2.5, () => context.rect(x(across) - side / 2, y(down) - side / 2, side, side));
      }
      context.font = context.font.replace("12px", "bold 14px");
      context.lineWidth = 4; context.strokeStyle = "#111"; context.textAlign = "center";
      const at = [x(across) - (size * this.scale) / 2 - 9, y(down) - (size * this.scale) / 2 - 2];
      context.strokeText(String(step + 1), ...at);
      context.fillStyle = hue; write(context, String(step + 1), ...at, "center");
      context.font = context.font.replace("bold 14px", "12px");
    });
    context.globalAlpha = 1; context.lineWidth = 1; context.fillStyle = theme.text;
    return true;
  }

  outlined(context, hue, width, path) {
    for (const [colour, wide] of [["#111", width + 2], [hue, width]]) {
      context.strokeStyle = colour; context.lineWidth = wide; context.beginPath(); path(); context.stroke();
    }
  }

  step(cell, down, along) {
    const count = this.viewer.panel.locations.length;
    return { row: Math.min(Math.max(cell.row + (down || along), 0), count - 1), column: 0 };
  }
}

class Frames extends Picture {
  size(wide) {
    const { viewer } = this, { rows, columns } = viewer.matrix();
    this.left = Math.min(widest(viewer.context(), viewer.panel.rows, rows), wide * 0.22) + 14;
    this.step_ = Math.max((wide - this.left - 10) / columns, 2);
    this.row = Math.min(22, Math.max(14, 320 / rows));
    return { width: this.left + columns * this.step_ + 10, height: 190 + rows * this.row };
  }

  draw(context, view) {
    const { viewer } = this, matrix = viewer.matrix(), values = this.values(), heard = this.heard(), how = viewer.shading(), { theme } = viewer;
    if (!values || !heard) return false;
    const wide = matrix.columns * this.step_, x0 = this.left - view.x, y0 = -view.y;
    context.imageSmoothingEnabled = false;
    context.drawImage(heard, x0, y0 + 8, wide, 130);
    values.forEach((row, index) => {
      const y = y0 + 150 + index * this.row;
      row.forEach((value, column) => {
        if (!value || Math.abs(value) < how.threshold) return;
        context.fillStyle = css(colour(share(value, how.top, how.root), matrix.signed, how.dark));
        context.fillRect(x0 + column * this.step_, y, this.step_ + 0.5, this.row - 1);
      });
    });
    context.strokeStyle = theme.line; context.strokeRect(x0, y0 + 149.5, wide, values.length * this.row);
    context.fillStyle = theme.paper; context.fillRect(0, 0, this.left - 2, view.height);
    values.forEach((_, index) => {
      context.fillStyle = viewer.cell()?.row === index ? theme.accent : viewer.isFound("row", index) ? theme.found : theme.text;
      write(context, fitted(context, viewer.rowName(index), this.left - 10), this.left - 6, y0 + 150 + (index + 0.5) * this.row, "right");
    });
    this.seconds(context, view, x0, y0 + 150 + values.length * this.row, wide);
    return true;
  }

  /** The spectrogram, low bands below. */
  heard() {
    if (!this.asked) {
      this.asked = true;
      const [frames, bands, place] = this.viewer.panel.spectrogram;
      this.viewer.blobs.bytes(place).then((bytes) => {
        this.pixels = canvasOf(frames, bands, (data) => {
          for (let frame = 0; frame < frames; frame++) for (let band = 0; band < bands; band++) {
            data.set([...colour(bytes[frame * bands + band] / 255, false, true), 255], ((bands - 1 - band) * frames + frame) * 4);
          }
        });
        this.viewer.redraw();
      });
    }
    return this.pixels;
  }

  seconds(context, view, x0, y, wide) {
    const { panel, theme } = this.viewer, total = panel.spectrogram[0] * panel.hop;
    const unit = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60].find((one) => total / one <= Math.max(2, wide / 60)) ?? 60;
    context.fillStyle = theme.soft;
    for (let tick = 0; tick <= total - unit / 3; tick += unit) write(context, `${Number(tick.toFixed(1))} s`, x0 + (tick / total) * wide, y + 12, "left");
  }

  hit(x, y, view) {
    const { rows, columns } = this.viewer.matrix();
    const column = Math.floor((x - this.left + view.x) / this.step_), row = Math.floor((y - 150 + view.y) / this.row);
    return column >= 0 && column < columns && row >= 0 && row < rows && x >= this.left ? { row, column } : null;
  }
}

class Network extends Picture {
  size(wide) {
    this.side = Math.min(wide, 620);
    return { width: this.side, height: this.side };
  }

  /** Where a node is on the stage. */
  at(node) {
    const { places } = this.viewer.panel, range = (axis) => { const all = places.map((one) => one[axis]); return [Math.min(...all), Math.max(...all)]; };
    const scaled = (value, [low, high]) => 46 + ((value - low) / (high - low || 1)) * (this.side - 92);
    return [scaled(places[node][0], range(0)), this.side - scaled(places[node][1], range(1))];
  }

  draw(context, view) {
    const { viewer } = this, values = this.values(), { theme, panel } = viewer;
    if (!values) return false;
    const cell = viewer.cell(), focus = viewer.state.pinnedRow ?? cell?.row ?? null, { top, threshold } = viewer.shading();
    const nodes = values.map((_, node) => { const [x, y] = this.at(node); return [x - view.x, y - view.y]; });
    values.forEach((row, reader) => row.forEach((value, read) => {
      if (value <= Math.max(0, threshold) || reader === read) return;
      context.globalAlpha = focus === null || focus === reader ? 0.85 : 0.12;
      context.strokeStyle = focus === reader ? theme.accent : theme.soft; context.lineWidth = 0.5 + (7 * value) / top;
      context.beginPath(); context.moveTo(...nodes[reader]); context.lineTo(...nodes[read]); context.stroke();
    }));
    context.globalAlpha = 1;
    const groups = [...new Set(panel.groups)].filter(Boolean).sort(), hues = SERIES[theme.dark ? "dark" : "light"];
    nodes.forEach(([x, y], node) => {
      const group = groups.indexOf(panel.groups[node]);
      context.beginPath(); context.arc(x, y, node ? 12 : 17, 0, 7);
      context.fillStyle = group < 0 ? theme.paper : hues[group % hues.length]; context.fill();
      context.strokeStyle = focus === node ? theme.accent : theme.text; context.lineWidth = 1 + (6 * values[node][node]) / top; context.stroke();
      const name = fitted(context, viewer.rowName(node), 76), wide = context.measureText(name).width;
      context.fillStyle = theme.paper; context.globalAlpha = 0.8; context.fillRect(x - wide / 2 - 2, y + 15, wide + 4, 15); context.globalAlpha = 1;
      context.fillStyle = theme.text; write(context, name, x, y + 22, "center");
    });
    groups.forEach((group, index) => {
      context.fillStyle = hues[index % hues.length]; context.fillRect(6, 8 + index * 16 - view.y, 10, 10);
      context.fillStyle = theme.text; write(context, group, 20, 13 + index * 16 - view.y, "left");
    });
    context.lineWidth = 1;
    return true;
  }

  hit(x, y, view) {
    const nodes = this.viewer.panel.places.map((_, node) => this.at(node));
    const row = nodes.findIndex(([a, b]) => Math.hypot(a - x - view.x, b - y - view.y) < 18);
    return row < 0 ? null : { row, column: row };
  }
}
