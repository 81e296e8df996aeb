// Colours of weights: sequential and diverging scales whose lightness is monotone, in light and dark, and of heads.

const SCALES = {
  light: ["#ffffff", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58"],
  dark: ["#10141c", "#1b2a4e", "#2c4272", "#4a5a78", "#6d7279", "#918c74", "#b8a866", "#dfc84f", "#fff05a"],
  signedLight: ["#7f3b08", "#b35806", "#e08214", "#fdb863", "#ffffff", "#b2abd2", "#8073ac", "#542788", "#2d004b"],
  signedDark: ["#ffc46b", "#e08214", "#a45a0c", "#4f300f", "#10141c", "#332a57", "#5e4a9c", "#9080d0", "#cfc6ff"],
};

/** Colours of heads and curves that people with any colour vision tell apart (Okabe and Ito), darker and lighter. */
export const SERIES = {
  light: ["#0072b2", "#d55e00", "#007a5a", "#a8487f", "#8a6a00", "#3a3a3a", "#2b8fc4", "#7a3600", "#5b4b9e", "#5c7a00", "#8c1c3c", "#006d77"],
  dark: ["#56b4e9", "#ff9340", "#2fcf9f", "#e79ac4", "#f0e442", "#d8d8d8", "#8fd0ff", "#ffb98a", "#b7a6ff", "#c3e06a", "#ff8fa8", "#6fdfe6"],
};

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function mixed(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
  const a = rgb(stops[low]), b = rgb(stops[low + 1]);
  return a.map((one, i) => Math.round(one + (b[i] - one) * (place - low)));
}

/** Share of a scale at which a value stands: 0 to 1 of magnitudes, with its sign. */
export function share(value, top, root) {
  const part = Math.min(1, Math.abs(value) / (top || 1));
  return Math.sign(value) * (root ? Math.sqrt(part) : part);
}

/** Red, green and blue of a share. */
export function colour(part, signed, dark) {
  if (signed) return mixed(dark ? SCALES.signedDark : SCALES.signedLight, (part + 1) / 2);
  return mixed(dark ? SCALES.dark : SCALES.light, part);
}

export const css = (parts) => `rgb(${parts.join(" ")})`;

/** Black or white, whichever is read better on a colour. */
export function ink(parts) {
  const [red, green, blue] = parts.map((one) => (one <= 10 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff"; // where both have the same contrast
}

/** Red, green, blue and opacity of every q of 8 bits; what lies below a threshold is transparent. */
export function palette(matrix, { top, root, threshold, dark }) {
  const table = new Uint8ClampedArray(1024);
  for (let byte = 0; byte < 256; byte++) {
    const value = matrix.value(matrix.signed ? (byte << 24) >> 24 : byte);
    const parts = colour(share(value, top, root), matrix.signed, dark);
    table.set([...parts, value === 0 || Math.abs(value) < threshold ? 0 : 255], byte * 4);
  }
  return table;
}

/** A tile in colour. */
export function painted({ width, height, values }, table) {
  const canvas = document.createElement("canvas");
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const words = new Uint32Array(image.data.buffer), colours = new Uint32Array(table.buffer);
  for (let i = 0; i < words.length; i++) words[i] = colours[values[i] & 255];
  context.putImageData(image, 0, 0);
  return canvas;
}
