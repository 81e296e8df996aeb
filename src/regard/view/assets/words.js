// Marked text: words with their weight as the colour behind them.

import { colour, css, ink, share } from "./colours.js";
import { number } from "./canvas.js";

const EVERY = 12; // rows that are shown one below the other; of more, one is chosen
const MOST = 3000; // words of a text that are shown

export class Words {
  constructor(viewer, place) { this.viewer = viewer; this.place = place; }

  async draw() {
    const { viewer } = this, turn = (this.turn = (this.turn ?? 0) + 1);
    const parts = viewer.panel.kind === "text" ? this.lines() : await this.rows();
    if (turn === this.turn) this.place.replaceChildren(...parts);
  }

  /** Lines of a text with a weight each. */
  lines() {
    const { lines } = this.viewer.panel, size = (values) => Math.max(1e-9, ...values.map(Math.abs));
    const top = size(lines.flatMap((line) => line.values)), most = size(lines.map((line) => line.weight));
    return lines.map((line, row) => {
      const paragraph = element("p", "regard-line"), head = element("span", "regard-weight", number(Number(line.weight.toFixed(2))));
      this.shade(head, line.weight, most, true);
      paragraph.append(head, " ", ...this.words(line.words, line.values, top, row));
      return paragraph;
    });
  }

  /** Rows of a map, each the text of the columns. */
  async rows() {
    const { viewer } = this, matrix = viewer.matrix(), top = viewer.shading().top, row = viewer.focusRow();
    const chosen = matrix.rows <= EVERY ? Array.from({ length: matrix.rows }, (_, one) => one) : [row];
    const names = Array.from({ length: Math.min(matrix.columns, MOST) }, (_, column) => viewer.columnName(column));
    const parts = [];
    if (matrix.rows > EVERY) parts.push(this.chooser(matrix, row));
    for (const one of chosen) {
      const paragraph = element("p", "regard-line"), head = element("bdi", "regard-row", viewer.rowName(one));
      paragraph.append(head, " ", ...this.words(names, await matrix.row(one), top, one));
      parts.push(paragraph);
    }
    return parts;
  }

  /** Buttons with the names of rows around the one that is shown. */
  chooser(matrix, row) {
    const box = element("div", "regard-chooser"), first = Math.max(0, Math.min(row - 30, matrix.rows - 60));
    for (let one = first; one < Math.min(matrix.rows, first + 60); one++) {
      const button = element("button", "", this.viewer.rowName(one));
      button.type = "button"; button.dir = "auto";
      button.setAttribute("aria-pressed", String(one === row));
      button.addEventListener("click", () => this.viewer.pin({ row: one, column: null }));
      box.append(button);
    }
    return box;
  }

  words(names, values, top, row) {
    const { viewer } = this, { threshold } = viewer.shading();
    return names.flatMap((name, column) => {
      const word = element("bdi", viewer.isFound("column", column) ? "regard-word regard-found" : "regard-word", name.trim() === "" ? "␣" : name);
      if (Math.abs(values[column]) >= threshold) this.shade(word, values[column], top, false);
      word.addEventListener("pointerenter", () => viewer.point({ row, column }, values[column]));
      word.addEventListener("click", () => viewer.point({ row, column }, values[column]));
      return [word, " "];
    });
  }

  shade(word, value, top, line) {
    const how = this.viewer.shading(), signed = this.viewer.panel.maps[0]?.signed ?? value < 0;
    const shade = colour(share(value, top, how.root) * (line ? 0.8 : 1), signed, how.dark);
    word.style.backgroundColor = css(shade);
    word.style.color = ink(shade);
    word.title = number(value);
  }
}

export function element(name, style = "", text = "") {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text) made.textContent = text;
  return made;
}
