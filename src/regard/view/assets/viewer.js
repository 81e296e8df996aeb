// A view on the page: its controls, its state, and the stage that the styles draw on.

import { BirdsEye } from "./birdseye.js";
import { Blobs, Matrix } from "./data.js";
import { colour, css, SERIES } from "./colours.js";
import { Curves } from "./curves.js";
import { HeatMap } from "./heatmap.js";
import { Lines } from "./lines.js";
import { Neurons } from "./neurons.js";
import { Tree } from "./tree.js";
import { FONT, number, sized, theme } from "./canvas.js";
import { pictureOf } from "./pictures.js";
import { fillTable } from "./table.js";
import { element, Words } from "./words.js";

const NAMES = { heatmap: "Heat map", lines: "Lines", birdseye: "All heads", neurons: "Neurons", text: "Text", curves: "Curves", picture: "Picture", tree: "Areas" };
const KEYS = [
  ["← ↑ → ↓", "move from weight to weight; with Ctrl by ten"],
  ["Enter", "pin the row; Shift + Enter pins the column"],
  ["Esc", "release pins, search and threshold"],
  ["+ − 0", "zoom in, out, and to the whole (or Ctrl + wheel, two fingers, double click)"],
  ["[ ]", "layer before, layer after"],
  [", .", "head before, head after"],
  ["v", "next style of drawing"],
  ["/", "search a token; n and N go through what was found"],
  ["t", "threshold"],
  ["s", "linear or square-root colours"],
  ["d", "dark or light"],
  ["?", "this list"],
];
const PLAIN = { style: null, layer: 0, head: -1, heads: [], pinnedRow: null, pinnedColumn: null, threshold: 0, search: "", root: null, zoom: 1 };

class Viewer {
  constructor(section) {
    this.section = section;
    this.key = section.id;
    this.panel = JSON.parse(section.querySelector(".regard-panel").textContent);
    this.blobs = new Blobs(section.querySelector(".regard-blobs").textContent);
    const made = (one) => new Matrix(one, this.blobs, () => { this.redraw(); if (this.asked) this.tell(this.asked); });
    this.maps = this.panel.maps.map(made);
    this.means = (this.panel.means ?? []).map(made);
    this.queries = (this.panel.queries ?? []).map(made);
    this.keys = (this.panel.keys ?? []).map(made);
    this.state = this.usual();
    this.read();
    this.build();
    this.found = { row: new Set(), column: new Set() };
    this.find();
    this.change({});
  }

  /** The state at first: neurons are of one head. */
  usual() { return { ...PLAIN, style: this.panel.first, head: this.panel.first === "neurons" ? 0 : -1 }; }

  // What is shown ----------------------------------------------------------------------------------------------------

  matrix() {
    const { layer, head } = this.state;
    if (this.panel.kind !== "heads") return this.maps[0];
    return head < 0 && this.means.length ? this.means[layer] : this.matrixOf(layer, Math.max(0, head));
  }

  matrixOf(layer, head) { return this.maps[layer * this.panel.heads.length + head]; }

  /** Queries or keys of the layer and head; none of a mean. */
  vectors(name) {
    const { layer, head } = this.state;
    return head < 0 ? undefined : this[name][layer * this.panel.heads.length + head];
  }

  rowName(row) { return this.panel.rows[row] ?? String(row + 1); }

  columnName(column) { return this.panel.columns[column] ?? String(column + 1); }

  isFound(side, index) { return this.found[side].has(index); }

  cell() { return this.current ?? null; }

  focusRow() { return this.state.pinnedRow ?? this.current?.row ?? 0; }

  where() {
    const { panel, state } = this;
    if (panel.kind !== "heads") return "the largest values of each row";
    return `layer ${panel.layers[state.layer]}, ${state.head < 0 ? "mean of all heads" : `head ${panel.heads[state.head]}`}`;
  }

  shading() {
    const matrix = this.matrix(), top = matrix?.full ?? 1;
    const root = this.state.root ?? (matrix ? matrix.columns > (this.state.style === "birdseye" ? 64 : 256) && !matrix.signed : false);
    return { top, root, threshold: (this.state.threshold / 100) ** 2 * top, dark: this.theme.dark };
  }

  // Controls ---------------------------------------------------------------------------------------------------------

  build() {
    const place = this.section.querySelector(".regard-view"), bar = element("div", "regard-bar");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "controls");
    this.bar = bar;
    this.stage = element("div", "regard-stage"); this.sheet = element("div", "regard-sheet");
    this.canvas = element("canvas"); this.words = element("div", "regard-words");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "picture of weights");
    this.canvas.setAttribute("aria-describedby", `${this.key}-readout`);
    this.sheet.append(this.canvas); this.stage.append(this.sheet);
    this.readout = element("output", "regard-readout"); this.readout.id = `${this.key}-readout`;
    this.readout.setAttribute("aria-live", "polite");
    this.legend = element("div", "regard-legend");
    this.controls();
    place.replaceChildren(bar, this.stage, this.words, this.readout, this.legend);
    this.theme = theme(this.section);
    this.styles = {};
    this.listen();
    this.details = this.section.querySelector(".regard-table");
    this.details?.addEventListener("toggle", () => this.details.open && fillTable(this, this.details));
  }

  controls() {
    const { panel, bar } = this;
    if (panel.styles.length > 1) bar.append(this.segments());
    if (panel.kind === "heads") {
      this.layers = this.chooser("Layer", panel.layers.map((name, layer) => [layer, name]), (layer) => this.change({ layer }));
      this.headChoice = this.chooser("Head", [[-1, "mean"], ...panel.heads.map((name, head) => [head, name])], (head) => this.change({ head, heads: [] }));
      this.toggles = this.headToggles();
      bar.append(this.layers.label, this.headChoice.label, this.toggles);
    }
    this.searchBox = this.field("Search", "search", () => this.change({ search: this.searchBox.value }));
    bar.append(this.searchBox.parentElement);
    if (panel.maps.length) {
      this.slider = this.field("At least", "range", () => this.change({ threshold: Number(this.slider.value) }));
      Object.assign(this.slider, { min: 0, max: 100, step: 1 });
      this.least = element("span", "regard-least");
      this.slider.parentElement.append(this.least);
      bar.append(this.slider.parentElement);
    }
    const zoom = element("span", "regard-group regard-zoom");
    zoom.append(this.button("−", "zoom out", () => this.zoomBy(1 / 1.5)), this.button("⤢", "show the whole", () => this.zoomTo(1)), this.button("+", "zoom in", () => this.zoomBy(1.5)));
    this.zooms = zoom;
    const rest = element("span", "regard-group");
    if (panel.maps.length) rest.append((this.rootButton = this.button("√", "square-root colours", () => this.change({ root: !this.shading().root }))));
    rest.append(this.button("◐", "dark or light", () => toggleTheme()), this.button("?", "keys", () => help()));
    bar.append(zoom, rest);
  }

  segments() {
    const group = element("span", "regard-group");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", "style");
    this.tabs = this.panel.styles.map((style) => {
      const tab = this.button(NAMES[style], NAMES[style], () => this.change({ style }));
      tab.setAttribute("role", "radio");
      tab.dataset.style = style;
      group.append(tab);
      return tab;
    });
    group.addEventListener("keydown", (event) => {
      const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!turn) return;
      event.preventDefault();
      this.nextStyle(turn);
      this.tabs.find((tab) => tab.dataset.style === this.state.style).focus();
    });
    return group;
  }

  headToggles() {
    const group = element("span", "regard-heads");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "heads that are drawn");
    this.panel.heads.forEach((name, head) => {
      const toggle = this.button(name, `head ${name}`, () => {
        const heads = this.state.heads.includes(head) ? this.state.heads.filter((one) => one !== head) : [...this.state.heads, head].sort((a, b) => a - b);
        this.change({ heads });
      });
      group.append(toggle);
    });
    return group;
  }

  button(text, label, act) {
    const button = element("button", "", text);
    button.type = "button";
    if (label !== text) { button.setAttribute("aria-label", label); button.title = label; }
    button.addEventListener("click", act);
    return button;
  }

  chooser(name, options, act) {
    const label = element("label", "", `${name} `), select = element("select");
    for (const [value, text] of options) { const option = element("option", "", text); option.value = value; select.append(option); }
    select.addEventListener("change", () => act(Number(select.value)));
    label.append(select);
    return { label, select };
  }

  field(name, type, act) {
    const label = element("label", "", `${name} `), input = element("input");
    input.type = type;
    if (type === "search") { input.placeholder = "token"; input.size = 8; input.dir = "auto"; }
    input.addEventListener("input", act);
    label.append(input);
    return input;
  }

  /** Bring the controls to what the state says. */
  refresh() {
    const { state, panel } = this;
    this.tabs?.forEach((tab) => {
      const here = tab.dataset.style === state.style;
      tab.setAttribute("aria-checked", String(here)); tab.tabIndex = here ? 0 : -1;
    });
    if (this.layers) { this.layers.select.value = state.layer; this.headChoice.select.value = state.head; }
    if (this.toggles) {
      this.toggles.hidden = state.style !== "lines";
      const series = SERIES[this.theme.dark ? "dark" : "light"];
      Array.from(this.toggles.children).forEach((toggle, head) => {
        const on = state.heads.includes(head);
        toggle.setAttribute("aria-pressed", String(on));
        toggle.style.borderBottomColor = series[head % series.length];
      });
    }
    if (this.searchBox.value !== state.search) this.searchBox.value = state.search;
    if (this.slider) {
      this.slider.value = state.threshold;
      this.least.textContent = number(Number(this.shading().threshold.toPrecision(2)));
      this.slider.setAttribute("aria-valuetext", this.least.textContent);
    }
    this.rootButton?.setAttribute("aria-pressed", String(this.shading().root));
    this.zooms.hidden = state.style !== "heatmap";
    this.canvas.setAttribute("aria-label", `${NAMES[state.style]}: ${panel.title}`);
    this.legendOf();
  }

  legendOf() {
    const matrix = this.matrix(), { style } = this.state, said = { tree: "Areas are numbers of parameters: coloured ones are trained, hatched grey ones are frozen.", glimpses: "Numbers and colours are the order of the glimpses." }[this.panel.kind];
    this.legend.hidden = !said && !matrix;
    if (this.legend.hidden) return;
    if (said) { this.legend.textContent = said; return; }
    const how = this.shading(), lines = style === "lines" ? "lines as wide as the value" : "";
    const { outlined, centres } = this.panel;
    const marks = [outlined.length ? "framed: gold links" : "", centres.length ? "○ centre of a window" : ""];
    const notes = [lines, ...marks, how.root ? "square-root colours" : "", this.axes(), matrix.precision()].filter(Boolean).join("; ");
    this.legend.replaceChildren(...(["lines", "curves"].includes(style) ? [] : this.ramp(matrix, how)), element("span", "", notes));
  }

  /** Colours from the least to the largest value. */
  ramp(matrix, how) {
    const bar = element("span", "regard-ramp"), stops = [];
    for (let i = 0; i <= 16; i++) {
      const value = matrix.signed ? (i / 8 - 1) : i / 16;
      stops.push(css(colour(how.root ? Math.sign(value) * Math.sqrt(Math.abs(value)) : value, matrix.signed, how.dark)));
    }
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    return [element("span", "", matrix.signed ? number(-how.top) : "0"), bar, element("span", "", number(how.top))];
  }

  /** What rows and columns are. */
  axes() {
    const { down, along } = this.panel;
    return [down && `rows: ${down}`, along && `columns: ${along}`].filter(Boolean).join(", ");
  }

  // State ------------------------------------------------------------------------------------------------------------

  /** Take a new state, and draw it. */
  change(part) {
    Object.assign(this.state, part);
    if ("search" in part) this.find();
    if ("style" in part) { this.current = null; }
    this.write();
    this.refresh();
    this.layout();
    if (this.details?.open) fillTable(this, this.details);
  }

  /** State from the address of the page: `#v1.style=lines&v1.layer=3`. */
  read() {
    const found = new URLSearchParams(location.hash.slice(1)), get = (name) => found.get(`${this.key}.${name}`);
    const whole = (name, low, high) => { const value = get(name) === null ? NaN : Number(get(name)); return Number.isInteger(value) && value >= low && value < high ? value : null; };
    const { panel, state } = this, layers = panel.layers?.length ?? 1, heads = panel.heads?.length ?? 0;
    if (panel.styles.includes(get("style"))) state.style = get("style");
    state.layer = whole("layer", 1, layers + 1) === null ? state.layer : whole("layer", 1, layers + 1) - 1;
    state.head = whole("head", 0, heads + 1) === null ? state.head : whole("head", 0, heads + 1) - 1;
    state.heads = (get("heads") ?? "").split(",").map(Number).filter((one) => Number.isInteger(one) && one >= 1 && one <= heads).map((one) => one - 1);
    const { rows = 0, columns = 0 } = this.maps[0] ?? {}; // of all heads the same
    state.pinnedRow = whole("row", 1, rows + 1) === null ? null : whole("row", 1, rows + 1) - 1;
    state.pinnedColumn = whole("column", 1, columns + 1) === null ? null : whole("column", 1, columns + 1) - 1;
    state.threshold = whole("least", 0, 101) ?? 0;
    state.search = get("search") ?? "";
    state.root = get("root") === null ? null : get("root") === "1";
    const zoom = Number(get("zoom"));
    state.zoom = zoom >= 1 && zoom < 1e6 ? zoom : 1;
  }

  /** Write what differs from the usual state into the address of the page. */
  write() {
    const { state } = this, found = new URLSearchParams(location.hash.slice(1));
    const set = (name, value) => (value === null || value === "" ? found.delete(`${this.key}.${name}`) : found.set(`${this.key}.${name}`, value));
    set("style", state.style === this.panel.first ? null : state.style);
    set("layer", state.layer ? state.layer + 1 : null);
    set("head", state.head === this.usual().head ? null : state.head + 1);
    set("heads", state.heads.map((one) => one + 1).join(","));
    set("row", state.pinnedRow === null ? null : state.pinnedRow + 1);
    set("column", state.pinnedColumn === null ? null : state.pinnedColumn + 1);
    set("least", state.threshold || null);
    set("search", state.search);
    set("root", state.root === null ? null : Number(state.root));
    set("zoom", state.zoom > 1 ? Number(state.zoom.toFixed(2)) : null);
    const fragment = found.toString();
    if (fragment === location.hash.slice(1)) return;
    try { history.replaceState(null, "", fragment ? `#${fragment}` : "#"); } catch { /* a frame without an address of its own */ }
  }

  find() {
    const wanted = this.state.search.trim().toLocaleLowerCase();
    const among = (names) => new Set(wanted ? names.flatMap((name, index) => (name.toLocaleLowerCase().includes(wanted) ? [index] : [])) : []);
    this.found = { row: among(this.panel.rows), column: among(this.panel.columns) };
    if (wanted) this.say(`${this.found.row.size} rows and ${this.found.column.size} columns have “${this.state.search.trim()}” in them`);
  }

  /** Go to the next thing that was found. */
  nextFound(turn) {
    const every = [...Array.from(this.found.row, (row) => ({ row, column: null })), ...Array.from(this.found.column, (column) => ({ row: null, column }))];
    if (!every.length) return;
    this.turn = (((this.turn ?? (turn > 0 ? -1 : 0)) + turn) % every.length + every.length) % every.length;
    const { row, column } = every[this.turn];
    if (this.drawing() instanceof Lines) this.drawing().side = row === null ? "column" : "row";
    this.go({ row: row ?? this.current?.row ?? 0, column: column ?? this.current?.column ?? 0 });
  }

  nextStyle(turn) {
    const { styles } = this.panel;
    this.change({ style: styles[(styles.indexOf(this.state.style) + turn + styles.length) % styles.length] });
  }

  // Stage ------------------------------------------------------------------------------------------------------------

  /** What draws the style. */
  drawing() {
    const { style } = this.state, made = { heatmap: HeatMap, lines: Lines, birdseye: BirdsEye, neurons: Neurons, curves: Curves, tree: Tree };
    return (this.styles[style] ??= style === "picture" ? pictureOf(this) : style === "text" ? new Words(this, this.words) : new made[style](this));
  }

  context() { const context = this.canvas.getContext("2d"); context.font = `12px ${FONT}`; return context; }

  /** Measure everything anew: after a change of style, of zoom, or of the window. */
  layout() {
    const drawing = this.drawing(), text = this.state.style === "text", matrix = this.matrix();
    const nothing = !text && this.panel.kind !== "tree" && this.panel.kind !== "glimpses" && !(matrix?.rows && matrix?.columns);
    this.stage.hidden = text || nothing; this.words.hidden = !text && !nothing;
    if (nothing) { this.words.textContent = "There is nothing to draw."; this.drawn(); return; }
    if (text) { drawing.draw().then(() => this.drawn()); return; }
    const high = Math.min(Math.max(window.innerHeight * 0.74, 280), 780), wide = this.stage.clientWidth;
    drawing.zoom = this.state.zoom;
    this.content = drawing.size(wide, high);
    this.sheet.style.width = `${Math.ceil(this.content.width)}px`;
    this.sheet.style.height = `${Math.ceil(this.content.height)}px`;
    const over = this.content.width > wide + 1 ? 16 : 0;
    this.stage.style.height = `${Math.ceil(Math.min(this.content.height, this.limit(high))) + over}px`;
    this.redraw();
  }

  /** The most that a stage is high: small maps are shown whole. */
  limit(high) { return this.state.style === "heatmap" && this.state.zoom === 1 ? Math.max(high, Math.min(this.content.height, 1150)) : high; }

  view() {
    const { stage } = this;
    return { x: stage.scrollLeft, y: stage.scrollTop, width: stage.clientWidth, height: stage.clientHeight };
  }

  /** Draw soon; the first time as early as there is something to draw. */
  redraw() {
    if (!this.section.dataset.drawn) { this.draw(); return; }
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  draw() {
    if (this.state.style === "text" || this.stage.hidden) return;
    const view = this.view(), context = sized(this.canvas, view.width, view.height);
    context.fillStyle = this.theme.paper;
    if (this.drawing().draw(context, view)) this.drawn();
  }

  /** Mark the time at which everything was drawn first. */
  drawn() { this.section.dataset.drawn ??= performance.now().toFixed(1); }

  /** Go to a cell, and say what it is. */
  go(cell) {
    this.current = cell;
    const drawing = this.drawing();
    if (this.state.style !== "text") {
      const { x, y } = drawing.place(cell, this.view());
      this.stage.scrollTo(x, y);
    } else this.layout();
    this.tell(cell);
    this.redraw();
  }

  point(cell, value) {
    this.current = cell;
    this.tell(cell, value);
  }

  pin({ row, column }) {
    if (row !== null) this.change({ pinnedRow: this.state.pinnedRow === row ? null : row });
    if (row === null && column !== null) this.change({ pinnedColumn: this.state.pinnedColumn === column ? null : column });
  }

  say(text) { this.readout.textContent = text; }

  /** Say what a cell is: names and weight; of a row or a column alone its name, and the largest weights of a row. */
  async tell(cell, known) {
    const { panel } = this, turn = (this.told = (this.told ?? 0) + 1), matrix = this.matrix();
    if (!cell) { this.say(""); return; }
    if ("layer" in cell) { this.say(`layer ${panel.layers[cell.layer]}, head ${panel.heads[cell.head]}`); return; }
    if (panel.kind === "tree") { this.sayPart(cell.row); return; }
    if (panel.kind === "glimpses") { this.say(`glimpse ${cell.row + 1} at ${panel.locations[cell.row].map((one) => one.toFixed(2)).join(", ")}`); return; }
    if (cell.column === null && cell.row === null) return;
    if (cell.column === null) { await this.tellRow(cell.row, turn); return; }
    if (cell.row === null) { this.readout.replaceChildren(element("bdi", "", this.columnName(cell.column)), ` (${panel.along || "column"} ${cell.column + 1})`); return; }
    if (panel.kind === "text") { this.readout.replaceChildren(element("bdi", "", panel.lines[cell.row].words[cell.column]), ` ${number(known)}`); return; }
    await matrix.prepare();
    const found = matrix.at(cell.row, cell.column);
    if (turn !== this.told) return;
    this.asked = found ? null : cell; // asked again when its tile has come
    if (!found) return;
    this.readout.replaceChildren(
      element("bdi", "", this.rowName(cell.row)), " → ", element("bdi", "", this.columnName(cell.column)), " ",
      element("strong", "", `${found.exact ? "" : found.about}${this.digits(found.value)}`),
      element("span", "regard-soft", ` row ${cell.row + 1}, column ${cell.column + 1}${panel.kind === "heads" ? `, ${this.where()}` : ""}`),
    );
    this.readout.dataset.value = found.value;
  }

  digits(value) { return Number(value.toPrecision(6)).toString(); }

  async tellRow(row, turn) {
    const matrix = this.matrix(), top = await matrix.top(row, Math.min(5, matrix.columns));
    if (turn !== this.told) return;
    const parts = top.flatMap(({ column, value }, index) => [index ? ", " : " → ", element("bdi", "", this.columnName(column)), ` ${number(value)}`]);
    this.readout.replaceChildren(element("bdi", "", this.rowName(row)), ...parts);
  }

  sayPart(index) {
    const { panel } = this, share = panel.trainable[index], trained = share === 1 ? "trained" : share === 0 ? "frozen" : `${Math.round(100 * share)}% trained`;
    this.say(`${panel.rows[index]}: ${panel.sizes[index].toLocaleString("en")} parameters, ${panel.shapes[index]}, ${trained}`);
  }

  // Zoom -------------------------------------------------------------------------------------------------------------

  zoomBy(factor, at) { this.zoomTo(this.state.zoom * factor, at); }

  /** Zoom so that the place under the pointer, or the middle, stays where it is. */
  zoomTo(zoom, at) {
    const drawing = this.drawing();
    if (!(drawing instanceof HeatMap)) return;
    const view = this.view(), { x, y } = at ?? { x: view.width / 2, y: view.height / 2 };
    const column = (x - drawing.left + view.x) / drawing.sx, row = (y - drawing.top + view.y) / drawing.sy;
    const base = drawing.sx / this.state.zoom;
    this.change({ zoom: Math.min(Math.max(zoom, 1), Math.max(1, 120 / base)) });
    this.stage.scrollTo(column * drawing.sx + drawing.left - x, row * drawing.sy + drawing.top - y);
    this.redraw();
  }

  // Events -----------------------------------------------------------------------------------------------------------

  listen() {
    const { canvas, stage } = this;
    stage.addEventListener("scroll", () => this.redraw(), { passive: true });
    new ResizeObserver(() => { if (this.stage.clientWidth !== this.lastWide) { this.lastWide = this.stage.clientWidth; this.layout(); } }).observe(this.section);
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerdown", (event) => { this.pressed = event.pointerType === "touch" ? this.at(event) : null; });
    canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) { this.current = null; this.redraw(); } });
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", (event) => this.zoomBy(2, this.at(event)));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 200), this.at(event));
    }, { passive: false });
    this.pinch();
    canvas.addEventListener("keydown", (event) => this.key_(event));
    this.section.addEventListener("keydown", (event) => this.shortcut(event));
  }

  at(event) { const box = this.canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; }

  hover(event) {
    const { x, y } = this.at(event), cell = this.drawing().hit(x, y, this.view()), before = JSON.stringify(this.current);
    this.current = cell;
    if (JSON.stringify(cell) !== before) { this.tell(cell); this.redraw(); }
  }

  click(event) {
    const { x, y } = this.at(event), cell = this.drawing().hit(x, y, this.view());
    this.current = cell;
    if (!cell) return;
    this.tell(cell);
    if ("layer" in cell) this.change({ layer: cell.layer, head: cell.head, style: "heatmap" });
    else if (this.panel.kind !== "tree" && this.panel.kind !== "glimpses") this.pin(event.shiftKey && cell.column !== null ? { row: null, column: cell.column } : cell);
  }

  /** Two fingers zoom. */
  pinch() {
    const far = (touches) => Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
    let begun = 0, zoom = 1;
    this.canvas.addEventListener("touchstart", (event) => { if (event.touches.length === 2) { begun = far(event.touches); zoom = this.state.zoom; } }, { passive: true });
    this.canvas.addEventListener("touchmove", (event) => {
      if (event.touches.length !== 2 || !begun) return;
      event.preventDefault();
      this.zoomTo((zoom * far(event.touches)) / begun, this.at({ clientX: (event.touches[0].clientX + event.touches[1].clientX) / 2, clientY: (event.touches[0].clientY + event.touches[1].clientY) / 2 }));
    }, { passive: false });
  }

  /** Keys of the stage. */
  key_(event) {
    const by = event.ctrlKey ? 10 : 1, moves = { ArrowUp: [-by, 0], ArrowDown: [by, 0], ArrowLeft: [0, -by], ArrowRight: [0, by] }[event.key];
    const drawing = this.drawing();
    if (moves && drawing instanceof BirdsEye) { event.preventDefault(); this.moveHead(...moves.map(Math.sign)); return; }
    if (moves && drawing.step) {
      event.preventDefault();
      const from = this.current;
      this.go(from ? drawing.step({ row: from.row ?? this.state.pinnedRow ?? 0, column: from.column ?? this.state.pinnedColumn ?? 0 }, ...moves) : { row: this.state.pinnedRow ?? 0, column: this.state.pinnedColumn ?? 0 });
      return;
    }
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (drawing instanceof BirdsEye) { this.change({ style: "heatmap" }); return; }
    const cell = this.current, column = event.shiftKey || (drawing instanceof Lines && drawing.side === "column");
    if (cell && this.panel.kind !== "tree") this.pin(column ? { row: null, column: cell.column } : { row: cell.row, column: null });
  }

  moveHead(down, along) {
    const { layers, heads } = this.panel, turn = (value, size) => Math.min(Math.max(value, 0), size - 1);
    const cell = { layer: turn(this.state.layer + down, layers.length), head: turn(Math.max(0, this.state.head) + (this.state.head < 0 ? 0 : along), heads.length) };
    this.change(cell);
    this.tell(cell);
  }

  /** Keys of the whole view, unless something is typed. */
  shortcut(event) {
    const typing = ["INPUT", "SELECT"].includes(event.target.tagName) && event.target.type !== "range";
    if (event.key === "Escape") { this.change({ pinnedRow: null, pinnedColumn: null, search: "", threshold: 0 }); this.say(""); return; }
    if (event.target === this.searchBox && event.key === "Enter") { event.preventDefault(); this.nextFound(event.shiftKey ? -1 : 1); this.canvas.focus(); return; }
    if (typing || event.altKey || event.metaKey || event.ctrlKey) return;
    const { panel, state } = this, turn = (value, low, high) => Math.min(Math.max(value, low), high);
    const acts = {
      "+": () => this.zoomBy(1.5), "=": () => this.zoomBy(1.5), "-": () => this.zoomBy(1 / 1.5), 0: () => this.zoomTo(1),
      v: () => this.nextStyle(1), "/": () => this.searchBox.focus(), t: () => this.slider?.focus(), n: () => this.nextFound(1), N: () => this.nextFound(-1),
      s: () => this.rootButton && this.change({ root: !this.shading().root }), d: () => toggleTheme(), "?": () => help(),
    };
    if (panel.kind === "heads") {
      acts["["] = () => this.change({ layer: turn(state.layer - 1, 0, panel.layers.length - 1) });
      acts["]"] = () => this.change({ layer: turn(state.layer + 1, 0, panel.layers.length - 1) });
      acts[","] = () => this.change({ head: turn(state.head - 1, -1, panel.heads.length - 1), heads: [] });
      acts["."] = () => this.change({ head: turn(state.head + 1, -1, panel.heads.length - 1), heads: [] });
    }
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    if (["[", "]", ",", "."].includes(event.key)) this.say(this.where());
  }

  /** Colours anew: light has become dark, or dark light. */
  retheme() { this.theme = theme(this.section); this.refresh(); this.layout(); }
}

// The page -------------------------------------------------------------------------------------------------------------

const viewers = Array.from(document.querySelectorAll("section.regard"), (section) => new Viewer(section));

function toggleTheme() {
  const dark = theme(document.querySelector("section.regard")).dark;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  viewers.forEach((viewer) => viewer.retheme());
}

function help() {
  let dialog = document.getElementById("regard-help");
  if (!dialog) {
    dialog = element("dialog", "regard-help"); dialog.id = "regard-help"; dialog.setAttribute("aria-labelledby", "regard-help-title");
    const title = element("h2", "", "Keys"), list = element("dl"), close = element("button", "", "Close");
    title.id = "regard-help-title"; close.type = "button"; close.addEventListener("click", () => dialog.close());
    for (const [keys, does] of KEYS) list.append(element("dt", "", keys), element("dd", "", does));
    dialog.append(title, list, close);
    document.body.append(dialog);
  }
  dialog.showModal();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewers.forEach((viewer) => viewer.retheme()));
addEventListener("hashchange", () => viewers.forEach((viewer) => { viewer.state = viewer.usual(); viewer.read(); viewer.find(); viewer.change({}); }));
