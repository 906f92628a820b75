// bloom_sizing() and bloom_capacity(): the sizes of doc/format.md.

import { BLOCKED_FROM, BLOCK_WORDS, BloomError, MIN_FPR, blockRate, blockedRate, blocksOf } from '../javascript/bloomexp.js';

const MAX_SIZE = 500 * 1024 * 1024;
const HEADERS = 4 + 16 + 16; // PostgreSQL's length word, the value's and the layer's
const MAX_WORDS = 2 ** 26 - 1;
const MAX_HASHES = 63;

const UNSIZED_CAPACITY = 100;
const UNSIZED_SHARE = 1 / 2;
const SIZED_SHARE = 127 / 128;

/** Up to so many items for each probe the rate is computed exactly. */
const EXACT_ITEMS = 4;
const NEGLIGIBLE = 1e-290;

/** A rate as %g prints it. */
export function short(rate) {
    const rounded = Number(rate.toPrecision(6));
    return rounded !== 0 && rounded < 1e-4
        ? rounded.toExponential().replace(/e-(\d)$/, 'e-0$1')
        : String(rounded);
}

//
// Rates
//

function shapeOf(words, hashes) {
    const blocks = blocksOf(words);
    return { words, hashes, blocks, blockBits: (words / blocks) * 64 };
}

function exactRate(m, k, throws) {
    const chance = new Float64Array(k + 2);
    let last = k;

    chance[0] = 1;
    for (let probe = 0; probe < k; probe++) {
        for (let j = probe + 1; j > 0; j--) {
            chance[j] = chance[j] * (j / m) + chance[j - 1] * ((m - j + 1) / m);
        }
        chance[0] = 0;
    }
    for (let i = 0; i < throws; i++) {
        for (let r = 0; r <= last; r++) {
            chance[r] = chance[r] * (1 - r / m) + chance[r + 1] * ((r + 1) / m);
        }
        while (last > 0 && chance[last] < NEGLIGIBLE) {
            chance[last--] = 0;
        }
    }
    return chance[0];
}

/** The rate to expect of a layer that holds so many items. */
function expectedRate(shape, items) {
    const { hashes, blocks, blockBits } = shape;
    if (blocks > 1) {
        return blockedRate(blockBits, hashes, items / blocks);
    }
    return items <= EXACT_ITEMS * hashes
        ? exactRate(blockBits, hashes, Math.trunc(items * hashes))
        : blockRate(blockBits, hashes, items * hashes);
}

function textbookRate(shape, items) {
    return (-Math.expm1((-shape.hashes * items) / (shape.words * 64))) ** shape.hashes;
}

/** Words by the textbook; the true number is not below. */
function textbookWords(items, fpr, hashes) {
    const load = -Math.log1p(-(fpr ** (1 / hashes)));
    return Math.ceil((hashes * items) / load / 64);
}

//
// The smallest shape
//

function roundToBlocks(words, hashes) {
    const { blocks } = shapeOf(words, hashes);
    return shapeOf(Math.ceil(words / blocks) * blocks, hashes);
}

function nextSmaller({ words, hashes, blocks }) {
    let smaller = words - blocks;
    if (blocks > 1 && (smaller <= BLOCKED_FROM || shapeOf(smaller, 1).blocks < blocks)) {
        smaller = Math.max((blocks - 1) * BLOCK_WORDS, BLOCKED_FROM);
    }
    return shapeOf(smaller, hashes);
}

/** The smallest shape with so many hashes that keeps the rate, or null. */
function smallestForHashes(items, fpr, hashes) {
    const keeps = (shape) => expectedRate(shape, items) <= fpr;
    let aim = fpr;
    let shape;

    for (let round = 0; round < 3; round++) {
        const words = textbookWords(items, aim, hashes);
        if (words > MAX_WORDS) {
            return null;
        }
        shape = roundToBlocks(Math.max(1, words), hashes);
        if (shape.words === 1) {
            break;
        }
        aim = (fpr * textbookRate(shape, items)) / expectedRate(shape, items);
    }

    while (!keeps(shape)) {
        shape = roundToBlocks(shape.words + 1, hashes);
        if (shape.words > MAX_WORDS) {
            return null;
        }
    }
    while (shape.words > 1 && keeps(nextSmaller(shape))) {
        shape = nextSmaller(shape);
    }

    // one block does with less than several
    const single = shapeOf(BLOCKED_FROM, hashes);
    return shape.blocks > 1 && keeps(single) ? single : shape;
}

/** The smallest shape of all, with the fewest hashes, or null. */
function fit(items, fpr, maxWords) {
    const best = -Math.log2(fpr);
    const first = Math.max(1, Math.min(MAX_HASHES, Math.floor(best) - 1));
    const last = Math.min(MAX_HASHES, Math.ceil(best) + 1);
    let shape = null;

    for (let hashes = last; hashes >= first; hashes--) {
        if (shape && textbookWords(items, fpr, hashes) > shape.words) {
            continue;
        }
        const candidate = smallestForHashes(items, fpr, hashes);
        if (candidate && (!shape || candidate.words <= shape.words)) {
            shape = candidate;
        }
    }
    while (shape && shape.hashes > 1) {
        const fewer = shapeOf(shape.words, shape.hashes - 1);
        if (expectedRate(fewer, items) > fpr) {
            break;
        }
        shape = fewer;
    }
    return shape && shape.words <= maxWords ? shape : null;
}

/** The most items that so many words hold. */
function maxItems(fpr, maxWords) {
    let fits = 0;
    let tooMany = 2 ** 32;
    while (tooMany - fits > 1) {
        const middle = fits + Math.floor((tooMany - fits) / 2);
        if (fit(middle, fpr, maxWords)) {
            fits = middle;
        } else {
            tooMany = middle;
        }
    }
    return fits;
}

//
// What the server answers
//

const shareOf = (capacity) => (capacity <= UNSIZED_CAPACITY ? UNSIZED_SHARE : SIZED_SHARE);
const wordsIn = (bytes) => Math.max(0, Math.floor((Math.min(bytes, MAX_SIZE) - HEADERS) / 8));

function refused(message, detail, hint) {
    return new BloomError('22023', message, detail, hint);
}

function checkRate(fpr) {
    if (!(fpr > 0 && fpr < 1)) { // NaN too
        throw refused('false positive rate must be greater than 0 and less than 1', undefined, 'Write 0.01 for 1%.');
    }
    if (fpr < MIN_FPR) {
        throw refused('false positive rate must be at least 1e-09',
            'Items are told apart by a hash of 64 bits, which cannot promise less.');
    }
}

/** bloom_sizing(capacity, fpr) */
export function sizing(capacity, fpr) {
    if (!(capacity >= 1)) {
        throw refused('capacity must be at least 1');
    }
    checkRate(fpr);
    const share = fpr * shareOf(capacity);
    const shape = capacity < 2 ** 32 ? fit(capacity, share, wordsIn(MAX_SIZE)) : null;
    if (!shape) {
        throw new BloomError('54000', `capacity of ${capacity} items is too large`,
            `At a false positive rate of ${short(fpr)} a filter of 500 MiB, the limit, has room for ` +
            `${maxItems(share, wordsIn(MAX_SIZE))}.`,
            'Accept a greater false positive rate, or keep several filters.');
    }
    return {
        capacity,
        bits: shape.words * 64,
        hashes: shape.hashes,
        bytes: HEADERS + shape.words * 8,
        expectedFpr: expectedRate(shape, capacity),
    };
}

/** bloom_capacity(bytes, fpr) */
export function capacityOf(bytes, fpr) {
    checkRate(fpr);
    let capacity = maxItems(fpr * SIZED_SHARE, wordsIn(bytes));
    if (capacity <= UNSIZED_CAPACITY) {
        capacity = Math.min(maxItems(fpr * UNSIZED_SHARE, wordsIn(bytes)), UNSIZED_CAPACITY);
    }
    if (capacity === 0) {
        throw refused(`bytes must be at least ${sizing(1, fpr).bytes} at this false positive rate`);
    }
    return sizing(capacity, fpr);
}
