// The table below a view: the largest weights of each row in words, for screen readers and for copying.

import { number } from "./canvas.js";
import { element } from "./words.js";

const ROWS = 200, LARGEST = 3, OF_ONE = 10;

/** Fill the table anew for the map that is shown; of a pinned row its ten largest weights. */
export async function fillTable(viewer, details) {
  const matrix = viewer.matrix(), { pinnedRow } = viewer.state, body = details.querySelector("tbody");
  if (!matrix || !["map", "heads", "network", "regions", "frames", "curves"].includes(viewer.panel.kind)) return;
  const turn = (details.turn = (details.turn ?? 0) + 1);
  const rows = pinnedRow === null ? Array.from({ length: Math.min(ROWS, matrix.rows) }, (_, row) => row) : [pinnedRow];
  const found = await Promise.all(rows.map((row) => matrix.top(row, Math.min(pinnedRow === null ? LARGEST : OF_ONE, matrix.columns))));
  if (turn !== details.turn) return;
  body.replaceChildren(...rows.map((row, index) => line(viewer, row, found[index])));
  details.querySelector(".regard-more").textContent = `: ${viewer.where()}${matrix.rows > rows.length && pinnedRow === null ? `, the first ${ROWS} of ${matrix.rows.toLocaleString("en")} rows` : ""}`;
}

function line(viewer, row, found) {
  const made = element("tr"), head = element("th"), cell = element("td");
  head.scope = "row";
  head.append(element("bdi", "", viewer.rowName(row)));
  found.forEach(({ column, value }, index) => cell.append(index ? ", " : "", element("bdi", "", viewer.columnName(column)), ` ${number(value)}`));
  made.append(head, cell);
  return made;
}
