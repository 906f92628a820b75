/**
 * Reads the Bloom filters of bloomexp outside of the server:
 *
 *     const seen = parse(row.items);          // the text form, or a Uint8Array
 *     const fresh = seen.exclude(candidates);
 *
 * The bytes are those of doc/internals/format.md.  bloomexp.d.ts has the types.
 *
 * A number of 64 bits is two of 32 here, because BigInt takes six times as long.  In
 * an array the lower half is the first; a function that makes one writes it to `pair`.
 */

export const KINDS = ['none', 'integer', 'text', 'uuid', 'bytea'];
const [INTEGER, TEXT, UUID, BYTEA] = [1, 2, 3, 4];

const MAX_BYTES = 500 * 1024 * 1024 - 4;
const MAX_LAYERS = 4096;
const MAX_SLICES = 1000;
const MIN_FPR = 1e-9;
const MAX_ITEMS_A_POSITION = 64;
const NO_FLOOR = -(2n ** 63n);

const BLOCKED_FROM = 4096;
const BLOCK_WORDS = 250;
// what bloom_new(1) makes
const EMPTY = '\\x01000100000000007b14ae47e17a843f010000080100000000000000000000000000000000000000';
const TWO_32 = 2 ** 32;
const LOW = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 0 : 1; // by the CPU's order

const pair = new Int32Array(2);

/** What the server would refuse, with its SQLSTATE and message. */
export class BloomError extends Error {
    constructor(code, message, detail, hint) {
        super(message);
        this.name = 'BloomError';
        Object.assign(this, { code, detail, hint });
    }
}

function invalid(detail) {
    return new BloomError('22P03', 'invalid bytes for type bloom', detail);
}

//
// The hash, in halves
//

/** Upper half of a product modulo 2^64; the lower one is Math.imul(al, bl). */
function productHigh(ah, al, bh, bl) {
    // the upper half of al * bl from products of 16 bits
    const a0 = al & 0xffff;
    const a1 = al >>> 16;
    const b0 = bl & 0xffff;
    const b1 = bl >>> 16;
    const middle = (Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16)) | 0;
    const other = (Math.imul(a0, b1) + (middle & 0xffff)) | 0;

    return (Math.imul(a1, b1) + (middle >>> 16) + (other >>> 16) + Math.imul(al, bh)
        + Math.imul(ah, bl)) | 0;
}

/** What the lower half of a sum carries over: it is less than either term then. */
function carry(sum, term) {
    return sum >>> 0 < term >>> 0 ? 1 : 0;
}

/** The product of k and c1, rotated by 31, times c2: into `pair`. */
function mix1(kh, kl) {
    const h = productHigh(kh, kl, 0x87c37b91, 0x114253d5);
    const l = Math.imul(kl, 0x114253d5);
    const rotated = (l << 31) | (h >>> 1);

    pair[1] = productHigh((h << 31) | (l >>> 1), rotated, 0x4cf5ad43, 0x2745937f);
    pair[0] = Math.imul(rotated, 0x2745937f);
}

/** The product of k and c2, rotated by 33, times c1: into `pair`. */
function mix2(kh, kl) {
    const h = productHigh(kh, kl, 0x4cf5ad43, 0x2745937f);
    const l = Math.imul(kl, 0x2745937f);
    const rotated = (h << 1) | (l >>> 31);

    pair[1] = productHigh((l << 1) | (h >>> 31), rotated, 0x87c37b91, 0x114253d5);
    pair[0] = Math.imul(rotated, 0x114253d5);
}

/** A state after 16 bytes: rotated, plus the other one, times 5, plus a number: into `pair`. */
function advance(h, l, count, otherHigh, otherLow, number) {
    const sumLow = (((l << count) | (h >>> (32 - count))) + otherLow) | 0;
    const sumHigh = ((h << count) | (l >>> (32 - count))) + otherHigh + carry(sumLow, otherLow);

    pair[0] = Math.imul(sumLow, 5) + number;
    pair[1] = productHigh(sumHigh, sumLow, 0, 5) + carry(pair[0], number);
}

/** The last steps for one of the two states: into `pair`. */
function avalanche(h, l) {
    const l1 = l ^ (h >>> 1);
    const h1 = productHigh(h, l1, 0xff51afd7, 0xed558ccd);
    const l2 = Math.imul(l1, 0xed558ccd) ^ (h1 >>> 1);
    const h2 = productHigh(h1, l2, 0xc4ceb9fe, 0x1a85ec53);

    pair[1] = h2;
    pair[0] = Math.imul(l2, 0x1a85ec53) ^ (h2 >>> 1);
}

/** First half of the hash, from both states after the last bytes: into hashes from `at` on. */
function finish(hashes, at, h1h, h1l, h2h, h2l, length) {
    const otherLow = h2l ^ length;
    const oneLow = ((h1l ^ length) + otherLow) | 0;
    const oneHigh = (h1h + h2h + carry(oneLow, otherLow)) | 0;
    const twoLow = (otherLow + oneLow) | 0;

    avalanche(oneHigh, oneLow);
    const low = pair[0];
    const high = pair[1];
    avalanche(h2h + oneHigh + carry(twoLow, oneLow), twoLow);
    hashes[at] = low + pair[0];
    hashes[at + 1] = high + pair[1] + carry(hashes[at], low);
}

/** First half of MurmurHash3 x64 128 of bytes: into hashes from `at` on. */
function hash(bytes, hashes, at) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const whole = bytes.length & ~15;
    let h1h = 0;
    let h1l = 0;
    let h2h = 0;
    let h2l = 0;

    for (let i = 0; i < whole; i += 16) {
        mix1(view.getInt32(i + 4, true), view.getInt32(i, true));
        advance(h1h ^ pair[1], h1l ^ pair[0], 27, h2h, h2l, 0x52dce729);
        [h1l, h1h] = [pair[0], pair[1]];
        mix2(view.getInt32(i + 12, true), view.getInt32(i + 8, true));
        advance(h2h ^ pair[1], h2l ^ pair[0], 31, h1h, h1l, 0x38495ab5);
        [h2l, h2h] = [pair[0], pair[1]];
    }

    const tail = new Int32Array(4);
    for (let i = whole; i < bytes.length; i++) {
        tail[(i - whole) >> 2] |= bytes[i] << (8 * (i & 3));
    }
    mix1(tail[1], tail[0]);
    h1l ^= pair[0];
    h1h ^= pair[1];
    mix2(tail[3], tail[2]);
    finish(hashes, at, h1h, h1l, h2h ^ pair[1], h2l ^ pair[0], bytes.length);
}

/** The same for integers, whose halves are in the CPU's order. */
function hashIntegers(parts, hashes) {
    for (let i = 0; i < parts.length; i += 2) {
        mix1(parts[i + 1 - LOW], parts[i + LOW]);
        finish(hashes, i, pair[1], pair[0], 0, 0, 8);
    }
}

//
// Layers
//

/** A bit for each counter: whether it is not 0. */
function countersSet(counters) {
    const bits = new Uint8Array(counters.length / 4);
    for (let i = 0; i < counters.length; i++) {
        const two = (counters[i] & 15 ? 1 : 0) | (counters[i] >> 4 ? 2 : 0);
        bits[i >> 2] |= two << (2 * (i & 3));
    }
    return bits;
}

const ONES = new Uint8Array(256);
for (let byte = 1; byte < 256; byte++) {
    ONES[byte] = ONES[byte >> 1] + (byte & 1);
}

export function countOnes(bits) {
    let ones = 0;
    for (let i = 0; i < bits.length; i++) {
        ones += ONES[bits[i]];
    }
    return ones;
}

/** ln(n!), by Stirling's series where that is exact. */
function logFactorial(n) {
    let sum = 0;
    if (n < 32) {
        for (let i = 2; i <= n; i++) {
            sum += Math.log(i);
        }
        return sum;
    }
    return (n + 0.5) * Math.log(n) - n + Math.log(2 * Math.PI) / 2 +
        1 / (12 * n) - 1 / (360 * n ** 3) + 1 / (1260 * n ** 5);
}

/** Expected rate after this many probes (throws) into m positions. */
function blockRate(m, k, throws) {
    const empty = Math.exp(throws * Math.log1p(-1 / m));
    const covariance = empty ** 2 * Math.expm1(throws * Math.log1p(-1 / (m - 1) ** 2));
    const mean = 1 - empty;
    const variance = covariance * (1 - 1 / m) + (empty * mean) / m;
    if (mean <= 0) {
        return 0;
    }
    return Math.min(1, mean ** k * Math.exp((((k * (k - 1)) / 2) * variance) / mean ** 2));
}

/** Expected rate of blocks of m positions with this many items on average. */
function blockedRate(m, k, items) {
    if (items <= 0) {
        return 0;
    }
    const step = Math.max(1, Math.floor(Math.sqrt(items) / 1.5));
    const first = Math.max(0, Math.floor(items - 7 * Math.sqrt(items)));
    const last = Math.ceil(items + k + 7 * Math.sqrt(items + k));
    let sum = 0;
    for (let n = first; n <= last; n += step) {
        sum += Math.exp(n * Math.log(items) - items - logFactorial(n)) * blockRate(m, k, n * k);
    }
    return Math.min(1, sum * step);
}

/** Blocks of a layer of so many words. */
export function blocksOf(words) {
    return words <= BLOCKED_FROM ? 1 : Math.ceil(words / BLOCK_WORDS);
}

class Layer {
    constructor(filter, number, view, at) {
        const shape = view.getUint32(at, true);
        this.words = shape & 0x3ffffff;
        this.hashes = shape >>> 26;
        this.capacity = view.getUint32(at + 4, true);
        this.items = view.getUint32(at + 8, true);
        this.bitsSet = view.getUint32(at + 12, true);
        this.slice = filter.windowed ? view.getBigInt64(at + 16, true) : null;
        this.blocks = blocksOf(this.words);
        this.positions = 64 * this.words;
        this.blockBits = this.positions / this.blocks;
        this.size = this.words * (filter.counting ? 32 : 8);

        if (this.words === 0 || this.hashes === 0) {
            throw invalid(`Layer ${number} has no bits or no hashes.`);
        }
        if (this.words % this.blocks !== 0) {
            throw invalid(`Layer ${number} cannot be cut into equal blocks.`);
        }
        if (this.capacity === 0) {
            throw invalid(`Layer ${number} has no capacity.`);
        }
        if (this.capacity > MAX_ITEMS_A_POSITION * this.positions) {
            throw invalid(`Layer ${number} has a capacity that its bits cannot hold.`);
        }
        if (this.items > this.capacity) {
            throw invalid(`Layer ${number} holds more items than its capacity.`);
        }
        if (filter.kindNumber === 0 && this.items > 0) {
            throw invalid(`Layer ${number} holds items of no kind.`);
        }
        this.factorHigh = productHigh(0x9e3779b9, 0x7f4a7c15, 0, 2 * this.words + 1);
        this.factorLow = Math.imul(0x7f4a7c15, 2 * this.words + 1);
    }

    /** Take the bits, counters as one bit each, and compare them with the header. */
    readBits(filter, number, bytes) {
        this.bits = filter.counting ? countersSet(bytes) : bytes;
        if (this.bitsSet !== countOnes(this.bits)) {
            throw invalid(`Layer ${number} does not have as many bits set as its header says.`);
        }
        // a saturated counter outlives the removal of its items
        if (!filter.counting &&
            (this.bitsSet > this.items * this.hashes || this.items > this.mostItems(filter.fpr))) {
            throw invalid(
                `Layer ${number} has a number of bits set that its items cannot explain.`);
        }
    }

    /** Upper bound of the items: more would set more bits, and would not fit at the rate. */
    mostItems(fpr) {
        if (this.bitsSet === 0) {
            return 0;
        }
        const unset = Math.max(this.positions - this.bitsSet, 0.5);
        const fromBits = Math.log(this.positions / unset) + 1 + 44 / unset;
        // The server's rounding of a root and this one are off by 2^-53 each.
        const share = fpr ** (1 / this.hashes) + (this.hashes > 1 ? 2 ** -52 : 0);
        const byRate = -Math.log1p(-Math.min(share, 1));
        return (this.positions / this.hashes) * Math.max(fromBits, byRate);
    }

    /** Whether it contains the item of a hash. */
    probe(xHigh, xLow) {
        const { bits, blocks, blockBits, hashes } = this;
        // halves, because a double holds products of 53 bits; blocks and blockBits have few
        const block = blocks === 1 ? 0 : Math.floor(
            ((xHigh >>> 0) * blocks + Math.floor(((xLow >>> 0) * blocks) / TWO_32)) / TWO_32);
        const first = block * blockBits;
        let low = (xLow + 0x7f4a7c15) | 0;
        let high = xHigh + 0x9e3779b9 + carry(low, xLow);

        high = productHigh(high, low, this.factorHigh, this.factorLow);
        low = Math.imul(low, this.factorLow);
        for (let i = 0; i < hashes; i++) {
            const position = first + ((((high >>> 0) * blockBits) / TWO_32) >>> 0);
            if ((bits[position >>> 3] & (1 << (position & 7))) === 0) {
                return false;
            }
            high = productHigh(high, low, 0xd1342543, 0xde82ef95);
            low = Math.imul(low, 0xde82ef95);
        }
        return true;
    }

    rateNow() {
        if (this.blocks === 1) {
            return (this.bitsSet / this.positions) ** this.hashes;
        }
        const unset = Math.max(this.positions - this.bitsSet, 0.5) / this.positions;
        const items = Math.log(unset) / Math.expm1(this.hashes * Math.log1p(-1 / this.blockBits));
        return blockedRate(this.blockBits, this.hashes, items);
    }
}

//
// Items
//

const encoder = new TextEncoder();
const scratch = new BigInt64Array(1);
const halves = new Int32Array(scratch.buffer);
const hashed = new Int32Array(2);

export function uuidBytes(text) {
    const digits = text.replaceAll('-', '');
    if (!/^[0-9a-f]{32}$/i.test(digits)) {
        throw new BloomError('22P02', `invalid input syntax for type uuid: "${text}"`);
    }
    return fromHex(digits);
}

export function fromHex(digits) {
    const bytes = new Uint8Array(digits.length / 2);
    const digit = (i) => (digits.charCodeAt(i) & 15) + 9 * (digits.charCodeAt(i) >> 6);
    for (let i = 0; i < bytes.length; i++) {
        bytes[i] = (digit(2 * i) << 4) | digit(2 * i + 1);
    }
    return bytes;
}

function fromText(text) {
    const digits = text.startsWith('\\x') ? text.slice(2) : text;
    const wrong = digits.search(/[^0-9a-f]/i);
    const size = wrong < 0 ? digits.length : encoder.encode(digits).length;
    if (wrong >= 0 && wrong < size - (size % 2)) {
        throw new BloomError('22P02', 'invalid input syntax for type bloom',
            `There is no hexadecimal digit at byte ${Math.floor(wrong / 2) + 1}.`,
            'The text form of a filter is "\\x" and hexadecimal digits; ' +
            'make one with bloom_new().');
    }
    if (size % 2 !== 0) {
        throw new BloomError('22P02', 'invalid input syntax for type bloom',
            'The number of hexadecimal digits is odd.');
    }
    return fromHex(digits);
}

function requireMany(items) {
    if (typeof items === 'string' || items instanceof Uint8Array) { // whose letters are no items
        throw new TypeError('items must be an array or another iterable of items');
    }
}

/** A filter as it was when it was read.  parse() makes one. */
export class Filter {
    constructor(bytes) {
        this.bytes = bytes;
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const count = this.readHeader(view);
        const size = this.windowed ? 24 : 16;
        let at = this.windowed ? 40 : 16;
        let expected = at + count * size;

        if (bytes.length < expected) {
            throw invalid('The value ends within the headers of its layers.');
        }
        this.layers = [];
        for (let number = 1; number <= count; number++) {
            const layer = new Layer(this, number, view, at);
            if (this.windowed && number > 1 && layer.slice < this.layers[number - 2].slice) {
                throw invalid(`Layer ${number} is of an earlier slice than the one before.`);
            }
            this.layers.push(layer);
            at += size;
            expected += layer.size;
        }
        if (bytes.length !== expected) {
            throw invalid(`The headers announce ${expected} bytes, but there are ${bytes.length}.`);
        }
        this.layers.forEach((layer, i) => {
            layer.readBits(this, i + 1, bytes.subarray(at, at + layer.size));
            at += layer.size;
        });
    }

    /** Reads what stands before the layers; returns their number. */
    readHeader(view) {
        const length = view.byteLength;
        if (length > MAX_BYTES) {
            throw new BloomError('54000', 'value of type bloom is too large',
                `It has ${length} bytes; the limit is ${MAX_BYTES}.`);
        }
        if (length === 0) {
            throw invalid('The value is empty.');
        }
        const version = view.getUint8(0);
        if (version === 0x5c && length > 1 && view.getUint8(1) === 0x78) { // \x
            throw new BloomError('22P03', 'invalid bytes for type bloom',
                'These bytes are the text form of a filter, not its binary form.',
                'Decode them: parse(new TextDecoder().decode(value)), ' +
                'or select the column as bytea.');
        }
        if (version > 1) {
            throw new BloomError(
                '0A000', `format version ${version} of type bloom is not supported`,
                'This release of bloomexp knows format version 1.',
                'Install the release of bloomexp that wrote the value, or a later one.');
        }
        if (version < 1) {
            throw invalid('There is no format version 0.');
        }
        if (length < 16) {
            throw invalid('The value ends within its header.');
        }
        const flags = view.getUint8(1);
        const count = view.getUint16(2, true);
        this.kindNumber = flags & 15;
        this.counting = (flags & 16) !== 0;
        this.windowed = (flags & 32) !== 0;
        this.fpr = view.getFloat64(8, true);
        if (this.kindNumber >= KINDS.length) {
            throw invalid(`There is no kind of items number ${this.kindNumber}.`);
        }
        if (flags >> 6 !== 0) {
            throw invalid('A reserved flag is set.');
        }
        if (view.getInt32(4, true) !== 0) {
            throw invalid('A reserved field is not 0.');
        }
        if (this.counting && this.windowed) {
            throw invalid('A filter cannot be both counting and windowed.');
        }
        if (!(this.fpr >= MIN_FPR && this.fpr < 1)) { // NaN too
            throw invalid('The false positive rate is not between 1e-09 and 1.');
        }
        if (count === 0 && !this.windowed) {
            throw invalid('There is no layer.');
        }
        if (count > MAX_LAYERS) {
            throw invalid(`There are ${count} layers; the limit is ${MAX_LAYERS}.`);
        }
        if (count > 1 && this.counting) {
            throw invalid('A counting filter has more than one layer.');
        }
        if (this.windowed) {
            this.readWindow(view);
        }
        return count;
    }

    readWindow(view) {
        if (view.byteLength < 40) {
            throw invalid('The value ends within its header.');
        }
        this.width = view.getBigInt64(16, true);
        this.floor = view.getBigInt64(24, true);
        this.slices = view.getUint32(32, true);
        if (this.width <= 0n) {
            throw invalid('The width of the window is not positive.');
        }
        if (this.slices < 1 || this.slices > MAX_SLICES) {
            throw invalid(`The window does not have between 1 and ${MAX_SLICES} slices.`);
        }
        if (view.getUint32(36, true) !== 0) {
            throw invalid('A reserved field is not 0.');
        }
    }

    /** The text form. */
    toString() {
        return '\\x' + Array.from(this.bytes, (byte) => byte.toString(16).padStart(2, '0'))
            .join('');
    }

    requireKind(kind) {
        if (this.kindNumber !== 0 && this.kindNumber !== kind) {
            const name = KINDS[this.kindNumber];
            throw new BloomError('42804', `filter holds ${name} items, not ${KINDS[kind]}`,
                undefined,
                `Cast the items to ${name === 'integer' ? 'bigint' : name}.`);
        }
    }

    /** Hash an item into `hashed`. */
    hash(item) {
        if (typeof item === 'bigint') {
            scratch[0] = item;
            if (scratch[0] !== item) {
                throw new BloomError('22003', 'bigint out of range');
            }
            this.hashInteger();
        } else if (typeof item === 'number') {
            if (!Number.isSafeInteger(item)) {
                throw Number.isInteger(item)
                    ? new BloomError('22003', 'bigint out of range',
                        'A number beyond 2^53 is not exact; use a BigInt.')
                    : new BloomError('42804',
                        'items of type number cannot be in a filter unless they are integers');
            }
            halves[LOW] = item | 0;
            halves[1 - LOW] = Math.floor(item / TWO_32);
            this.hashInteger();
        } else if (typeof item === 'string') {
            const uuid = this.kindNumber === UUID;
            this.requireKind(uuid ? UUID : TEXT);
            hash(uuid ? uuidBytes(item) : encoder.encode(item), hashed, 0);
        } else if (item instanceof Uint8Array) {
            this.requireKind(BYTEA);
            hash(item, hashed, 0);
        } else {
            throw new BloomError('42804', `items of type ${typeof item} cannot be in a filter`,
                'Items are number, bigint, string or Uint8Array.');
        }
    }

    /** The same for the integer in `halves`. */
    hashInteger() {
        this.requireKind(INTEGER);
        hashIntegers(halves, hashed);
    }

    /** Whether the filter contains an item; null if that is null. */
    contains(item) {
        if (item === null || item === undefined) {
            return null;
        }
        this.hash(item);
        return this.containsHash(hashed[1], hashed[0]);
    }

    /** The same for an item's hash. */
    containsHash(xHigh, xLow) {
        for (let i = this.layers.length - 1; i >= 0; i--) {
            if (this.layers[i].probe(xHigh, xLow)) {
                return true;
            }
        }
        return false;
    }

    /** The candidates that the filter does not contain, in their order, without null. */
    exclude(candidates) {
        requireMany(candidates);
        if (candidates instanceof BigInt64Array) {
            return this.excludeIntegers(candidates);
        }
        return candidates.filter((item) => this.contains(item) === false);
    }

    /** The same for a BigInt64Array. */
    excludeIntegers(candidates) {
        this.requireKind(INTEGER);
        const hashes = new Int32Array(2 * candidates.length);
        const survivors = new BigInt64Array(candidates.length);
        let count = 0;
        hashIntegers(new Int32Array(candidates.buffer, candidates.byteOffset, hashes.length),
            hashes);
        for (let i = 0; i < candidates.length; i++) {
            if (!this.containsHash(hashes[2 * i + 1], hashes[2 * i])) {
                survivors[count++] = candidates[i];
            }
        }
        return survivors.slice(0, count);
    }

    /** bloom_exclude_packed(): 8 bytes for each integer, in and out. */
    excludePacked(candidates) {
        if (candidates.length % 8 !== 0) {
            throw new BloomError('22P03',
                `length of packed items must be a multiple of 8 bytes, not ${candidates.length}`,
                'Each item is an integer of 8 bytes, in little-endian byte order.');
        }
        if (this.kindNumber !== 0 && this.kindNumber !== INTEGER) {
            const name = KINDS[this.kindNumber];
            throw new BloomError('42804', `filter holds ${name} items, not packed integers`,
                undefined,
                `Use bloom_exclude_array() with an array of ${name}.`);
        }
        const packed = new DataView(candidates.buffer, candidates.byteOffset,
            candidates.byteLength);
        const items = new BigInt64Array(candidates.length / 8);
        items.forEach((_, i) => { items[i] = packed.getBigInt64(8 * i, true); });
        const survivors = this.excludeIntegers(items);
        const answer = new DataView(new ArrayBuffer(8 * survivors.length));
        survivors.forEach((item, i) => answer.setBigInt64(8 * i, item, true));
        return new Uint8Array(answer.buffer);
    }

    /** What bloom_info() says; times in microseconds, as doc/internals/format.md has them. */
    info() {
        const sum = (field) => this.layers.reduce((total, layer) => total + layer[field], 0);
        const bits = sum('positions');
        const bitsSet = sum('bitsSet');
        const missed = this.layers.reduce((total, layer) => total
            + Math.log1p(-layer.rateNow()), 0);
        return {
            kind: this.kindNumber === 0 ? null : KINDS[this.kindNumber],
            items: sum('items'),
            capacity: sum('capacity'),
            fpr: this.fpr,
            fprNow: 0 - Math.expm1(missed),
            bits,
            bitsSet,
            fill: bits > 0 ? bitsSet / bits : 0,
            layers: this.layers.length,
            bytes: this.bytes.length + 4, // PostgreSQL's length word
            counting: this.counting,
            windowWidth: this.windowed ? this.width : null,
            slices: this.windowed ? this.slices : null,
            expiredBefore: this.windowed && this.floor !== NO_FLOOR ? this.floor : null,
        };
    }
}

/** Make a Filter of a value's text form or its bytes; an empty one of null, as NULL is one. */
export function parse(value) {
    if (value === null || value === undefined) {
        return parse(EMPTY);
    }
    if (typeof value === 'string') {
        return new Filter(fromText(value));
    }
    if (!(value instanceof Uint8Array)) {
        throw new TypeError('parse() takes the text form of a filter, ' +
            'or its bytes as a Uint8Array; JSON makes neither of a Buffer: store the text form');
    }
    return new Filter(value);
}
