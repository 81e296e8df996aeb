// Inflate (RFC 1951), for browsers without DecompressionStream.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Counts of codes per length, and symbols in the order of their codes. */
function huffman(lengths) {
  const counts = new Uint16Array(16), offsets = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let length = 1; length < 16; length++) offsets[length] = offsets[length - 1] + counts[length - 1];
  lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
  return { counts, symbols };
}

class BitReader {
  constructor(bytes) { this.bytes = bytes; this.place = 0; this.held = 0; this.count = 0; }

  bits(count) {
    while (this.count < count) { this.held |= this.bytes[this.place++] << this.count; this.count += 8; }
    const value = this.held & ((1 << count) - 1);
    this.held >>>= count; this.count -= count;
    return value;
  }

  symbol({ counts, symbols }) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length++) {
      code |= this.bits(1);
      const count = counts[length];
      if (code - count < first) return symbols[index + code - first];
      index += count; first = (first + count) << 1; code <<= 1;
    }
    throw new Error("the data of this page is damaged");
  }
}

function fixedCodes() {
  const lengths = Array.from({ length: 288 }, (_, symbol) => symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8);
  return [huffman(lengths), huffman(new Array(30).fill(5))];
}

function dynamicCodes(reader) {
  const literals = reader.bits(5) + 257, distances = reader.bits(5) + 1, codes = reader.bits(4) + 4;
  const order = new Array(19).fill(0);
  for (let i = 0; i < codes; i++) order[CODE_ORDER[i]] = reader.bits(3);
  const code = huffman(order), lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = reader.symbol(code);
    if (symbol < 16) { lengths.push(symbol); continue; }
    const [value, times] = symbol === 16 ? [lengths.at(-1), 3 + reader.bits(2)]
      : [0, symbol === 17 ? 3 + reader.bits(3) : 11 + reader.bits(7)];
    for (let i = 0; i < times; i++) lengths.push(value);
  }
  return [huffman(lengths.slice(0, literals)), huffman(lengths.slice(literals))];
}

/** Bytes of a deflated stream without a header. */
export function inflate(bytes) {
  const reader = new BitReader(bytes);
  let out = new Uint8Array(Math.max(1024, bytes.length * 4)), size = 0, last = false;
  const room = (count) => {
    if (size + count <= out.length) return;
    const larger = new Uint8Array(Math.max(out.length * 2, size + count));
    larger.set(out); out = larger;
  };
  while (!last) {
    last = reader.bits(1) === 1;
    const kind = reader.bits(2);
    if (kind === 0) {
      reader.held = reader.count = 0;
      const count = reader.bytes[reader.place] | (reader.bytes[reader.place + 1] << 8);
      reader.place += 4; room(count);
      out.set(reader.bytes.subarray(reader.place, reader.place + count), size);
      reader.place += count; size += count;
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedCodes() : dynamicCodes(reader);
    for (let symbol = reader.symbol(literals); symbol !== 256; symbol = reader.symbol(literals)) {
      if (symbol < 256) { room(1); out[size++] = symbol; continue; }
      const length = LENGTH_BASE[symbol - 257] + reader.bits(LENGTH_BITS[symbol - 257]);
      const far = reader.symbol(distances), distance = DISTANCE_BASE[far] + reader.bits(far < 4 ? 0 : (far >> 1) - 1);
      room(length);
      for (let i = 0; i < length; i++, size++) out[size] = out[size - distance];
    }
  }
  return out.slice(0, size);
}
