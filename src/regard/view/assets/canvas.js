// Drawing on a canvas: its size on the screen, texts that fit, colours of the page.

export const FONT = '"Segoe UI", system-ui, -apple-system, "Noto Sans", sans-serif';

/** Colours of the page, light or dark. */
export function theme(element) {
  const style = getComputedStyle(element), one = (name) => style.getPropertyValue(name).trim();
  return {
    dark: one("--regard-dark") === "1", text: one("--regard-text"), soft: one("--regard-soft"), line: one("--regard-line"),
    paper: one("--regard-paper"), accent: one("--regard-accent"), found: one("--regard-found"), gold: one("--regard-gold"),
  };
}

/** A canvas as large as its place, sharp on any screen. */
export function sized(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const [wide, high] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide; canvas.height = high;
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `12px ${FONT}`;
  context.textBaseline = "middle";
  return context;
}

const RIGHT_TO_LEFT = /^[^A-Za-z\u00c0-\u024f\u0370-\u058f\u0900-\u1fff\u2c00-\ud7ff]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Direction of a text by its first letter. */
export const direction = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");

const segmenter = typeof Intl !== "undefined" && Intl.Segmenter ? new Intl.Segmenter() : null;
const letters = (text) => (segmenter ? Array.from(segmenter.segment(text), (one) => one.segment) : Array.from(text));

/** A name as it is drawn: spaces are seen, and a long one ends in "…" between letters, never between a letter and its marks. */
export function fitted(context, name, width) {
  const text = name.trim() === "" ? "␣".repeat(Math.max(1, Math.min(3, name.length))) : name;
  if (context.measureText(text).width <= width) return text;
  const parts = letters(text);
  let low = 0, high = parts.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${parts.slice(0, middle).join("")}…`).width <= width) low = middle; else high = middle - 1;
  }
  return `${parts.slice(0, low).join("")}…`;
}

/** The end of a name that is too long: of parts of a model the last one tells most. */
export function ended(context, name, width) {
  if (context.measureText(name).width <= width) return name;
  let first = 1;
  while (first < name.length && context.measureText(`…${name.slice(first)}`).width > width) first++;
  return first < name.length ? `…${name.slice(first)}` : "";
}

/** Write a text whose own direction is kept; `align` is left, right or center. */
export function write(context, text, x, y, align = "left") {
  context.direction = direction(text);
  context.textAlign = align;
  context.fillText(text, x, y);
}

/** The largest width of names, as far as some of them tell. */
export function widest(context, names, count) {
  if (!names.length) return context.measureText(String(count)).width;
  const step = Math.max(1, Math.floor(names.length / 400));
  let most = 0;
  for (let i = 0; i < names.length; i += step) most = Math.max(most, context.measureText(names[i]).width);
  return most;
}

/** A number for people: four digits, small ones with a power of ten. */
export function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return value.toLocaleString("en");
  return size >= 0.001 && size < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}
