// Parameters: parts of a model as areas, trained ones coloured, frozen ones grey and hatched.

import { ended, fitted, write } from "./canvas.js";

const HIGH = 460;

export class Tree {
  constructor(viewer) { this.viewer = viewer; }

  size(wide) { this.areas = null; this.wide = wide; return { width: wide, height: HIGH }; }

  draw(context, view) {
    const { viewer } = this, { panel, theme } = viewer, cell = viewer.cell();
    this.areas ??= areas(panel.rows, panel.sizes, this.wide, HIGH);
    for (const { index, x, y, width, height } of this.areas) {
      const trained = panel.trainable[index], top = y - view.y;
      context.fillStyle = trained > 0 ? (theme.dark ? "#1d5f8f" : "#a9d3ee") : (theme.dark ? "#33363c" : "#e2e2e2");
      context.fillRect(x, top, width, height);
      if (trained < 1) this.hatch(context, x, top, width, height, theme);
      context.strokeStyle = theme.paper; context.strokeRect(x + 0.5, top + 0.5, width - 1, height - 1);
      if (cell?.row === index) { context.strokeStyle = theme.accent; context.lineWidth = 3; context.strokeRect(x + 1.5, top + 1.5, width - 3, height - 3); context.lineWidth = 1; }
      if (width < 34 || height < 15) continue;
      context.fillStyle = viewer.isFound("row", index) ? theme.found : theme.text;
      write(context, ended(context, panel.rows[index], width - 8), x + 4, top + 10, "left");
      if (height > 30) { context.fillStyle = theme.text; write(context, fitted(context, panel.sizes[index].toLocaleString("en"), width - 8), x + 4, top + 24, "left"); }
    }
    return true;
  }

  hatch(context, x, y, width, height, theme) {
    context.save();
    context.beginPath(); context.rect(x, y, width, height); context.clip();
    context.strokeStyle = theme.dark ? "#5a5e66" : "#bdbdbd";
    context.beginPath();
    for (let at = -height; at < width; at += 9) { context.moveTo(x + at, y + height); context.lineTo(x + at + height, y); }
    context.stroke();
    context.restore();
  }

  hit(x, y, view) {
    const found = this.areas?.find((one) => x >= one.x && x < one.x + one.width && y + view.y >= one.y && y + view.y < one.y + one.height);
    return found ? { row: found.index, column: 0 } : null;
  }

  place(_, view) { return { x: view.x, y: view.y }; }

  step(cell, down, along) { return { row: Math.min(Math.max(cell.row + (down || along), 0), this.viewer.panel.rows.length - 1), column: 0 }; }
}

/** A rectangle for each part, as large as its share; parts of one part lie together. */
function areas(names, sizes, width, height) {
  const root = { size: 0, parts: new Map() };
  names.forEach((name, index) => {
    let node = root;
    for (const part of name.split(".")) {
      if (!node.parts.has(part)) node.parts.set(part, { size: 0, parts: new Map() });
      node = node.parts.get(part); node.size += sizes[index];
    }
    node.index = index;
  });
  root.size = sizes.reduce((sum, one) => sum + one, 0);
  const found = [];
  split(root, { x: 0, y: 0, width, height }, found);
  return found;
}

/** Divide an area among the parts of a node, the larger half first, across its longer side. */
function split(node, area, found) {
  if (!node.parts.size) { if (node.size) found.push({ index: node.index, ...area }); return; }
  halve([...node.parts.values()].filter((one) => one.size).sort((a, b) => b.size - a.size), area, found);
}

function halve(nodes, area, found) {
  if (nodes.length <= 1) { if (nodes.length) split(nodes[0], area, found); return; }
  const total = nodes.reduce((sum, one) => sum + one.size, 0);
  let first = nodes[0].size, count = 1;
  while (count < nodes.length - 1 && first + nodes[count].size <= total / 2) first += nodes[count++].size;
  const part = first / total, { x, y, width, height } = area;
  const [a, b] = width >= height
    ? [{ x, y, width: width * part, height }, { x: x + width * part, y, width: width * (1 - part), height }]
    : [{ x, y, width, height: height * part }, { x, y: y + height * part, width, height: height * (1 - part) }];
  halve(nodes.slice(0, count), a, found);
  halve(nodes.slice(count), b, found);
}
