// Maps of weights as the page holds them: tiles of 8 bits in a pyramid, and exact values where there are some.

import { number } from "./canvas.js";
import { inflate } from "./inflate.js";

const TILE = 512;

/** Binary pieces of a section: deflated, in base64, cut out of one text when they are needed. */
export class Blobs {
  constructor(text) { this.text = text; }

  async bytes([begin, end]) {
    const coded = this.text.slice(begin, end);
    const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(coded) : Uint8Array.from(atob(coded), (one) => one.charCodeAt(0));
    if (typeof DecompressionStream === "undefined") return inflate(packed);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async floats(place) { return new Float32Array((await this.bytes(place)).buffer); }

  /** Numbers of columns, of 16 bits where all of them fit. */
  async columns(place, count) {
    const { buffer } = await this.bytes(place);
    return count > 65536 ? new Int32Array(buffer) : new Uint16Array(buffer);
  }
}

/** All cells of a sparse tile: distances between cells that are not zero, then these. */
function spread(packed, size) {
  const cells = new Uint8Array(size), count = packed.length / 2;
  for (let i = 0, place = -1; i < count; i++) { place += packed[i]; cells[place] = packed[count + i]; }
  return cells;
}

/** One map: rows x columns of weights. */
export class Matrix {
  constructor(description, blobs, arrived) {
    Object.assign(this, description);
    this.blobs = blobs;
    this.arrived = arrived; // called when a tile has come
    this.tiles = new Map();
    this.loading = new Map();
  }

  /** Value of 8 bits. */
  value(q) { return Math.sign(q) * (q / this.steps) ** 2 * this.full; }

  across(level) { return Math.ceil(this.levels[level].columns / TILE); }

  /** A tile that is there, null if it is empty, undefined while it is loaded. */
  tile(level, y, x) {
    const key = `${level}/${y}/${x}`;
    if (this.tiles.has(key)) return this.tiles.get(key);
    const place = this.levels[level].tiles[y * this.across(level) + x];
    if (!place) return null;
    if (!this.loading.has(key)) this.loading.set(key, this.load(key, place, level, y, x));
    return undefined;
  }

  async load(key, place, level, y, x) {
    const { rows, columns } = this.levels[level], width = Math.min(TILE, columns - x * TILE), height = Math.min(TILE, rows - y * TILE);
    const packed = await this.blobs.bytes(place), bytes = place[2] ? spread(packed, width * height) : packed;
    const tile = { width, height, values: this.signed ? new Int8Array(bytes.buffer) : bytes };
    if (this.tiles.size > 400) this.tiles.delete(this.tiles.keys().next().value);
    this.tiles.set(key, tile);
    this.loading.delete(key);
    this.arrived();
    return tile;
  }

  /** Exact values, of small maps all and of others the largest of each row. */
  prepare() {
    this.prepared ??= (async () => {
      if (this.exact) this.cells = await this.blobs.floats(this.exact);
      if (this.largest) {
        const [count, columns, values] = this.largest;
        this.most = { count, columns: await this.blobs.columns(columns, this.columns), values: await this.blobs.floats(values) };
      }
    })();
    return this.prepared;
  }

  /** Value of a cell and whether it is exact; null while it is loaded. */
  at(row, column) {
    if (this.cells) return { value: this.cells[row * this.columns + column], exact: true };
    if (this.most) {
      const { count, columns, values } = this.most;
      for (let i = row * count; i < (row + 1) * count; i++) if (columns[i] === column) return { value: values[i], exact: true };
    }
    const y = row >> this.power, x = column >> this.power;
    const tile = this.tile(0, Math.floor(y / TILE), Math.floor(x / TILE));
    if (tile === undefined) return null;
    const q = tile ? tile.values[(y % TILE) * tile.width + (x % TILE)] : 0;
    if (q === 0 && this.floor) return { value: this.floor, exact: false, about: "below " };
    return { value: this.value(q), exact: false, about: this.power ? "at most ≈ " : "≈ " };
  }

  /** How exact the values are, in words. */
  precision() {
    if (this.exact) return "all values exact (float32)";
    const shades = `${this.steps} shades${this.signed ? " of either sign" : ""}`, side = 2 ** this.power, count = this.largest?.[0];
    return [
      shades,
      this.floor ? `none below ${number(this.floor)}` : "",
      this.power ? `a cell is the largest of ${side} × ${side} values` : "",
      count ? `exact (float32): the largest ${count > 1 ? `${count} ` : ""}of each row` : "",
    ].filter(Boolean).join("; ");
  }

  /** All values of a row; zero where only the largest of several is known. */
  async row(row) {
    await this.prepare();
    if (this.cells) return this.cells.subarray(row * this.columns, (row + 1) * this.columns);
    const values = new Float32Array(this.columns), y = Math.floor(row / TILE);
    for (let x = 0; x < this.across(0) && !this.power; x++) {
      const tile = this.tile(0, y, x) ?? await this.loading.get(`0/${y}/${x}`);
      if (!tile) continue;
      for (let i = 0; i < tile.width; i++) values[x * TILE + i] = this.value(tile.values[(row % TILE) * tile.width + i]);
    }
    if (this.most) {
      const { count, columns, values: exact } = this.most;
      for (let i = row * count; i < (row + 1) * count; i++) values[columns[i]] = exact[i];
    }
    return values;
  }

  /** Columns and values of the largest magnitudes of a row, largest first. */
  async top(row, count) {
    await this.prepare();
    if (this.most && count <= this.most.count) {
      return Array.from({ length: count }, (_, i) => {
        const place = row * this.most.count + i;
        return { column: this.most.columns[place], value: this.most.values[place], exact: true };
      });
    }
    const values = await this.row(row);
    const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
    return order.slice(0, this.power ? this.most?.count ?? 0 : count).map((column) => ({ column, value: values[column], exact: Boolean(this.cells) }));
  }

  /** A small picture of the map: rows, columns and 8 bits per cell. */
  async small() {
    if (this.thumbnail) {
      const [rows, columns, place] = this.thumbnail, bytes = await this.blobs.bytes(place);
      return { height: rows, width: columns, values: this.signed ? new Int8Array(bytes.buffer) : bytes };
    }
    const tile = this.tile(this.levels.length - 1, 0, 0);
    return tile ?? await this.loading.get(`${this.levels.length - 1}/0/0`) ?? { width: 1, height: 1, values: new Uint8Array(1) };
  }
}
