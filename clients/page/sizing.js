// bloom_sizing() and bloom_capacity(): the sizes of doc/internals/format.md.

import { BloomError, SIZED_SHARE, UNSIZED_CAPACITY, UNSIZED_SHARE, checkRate, expectedRate, firstLayer, maxItems } from '../javascript/bloomexp.js';

const MAX_SIZE = 500 * 1024 * 1024;
const HEADERS = 4 + 16 + 16; // PostgreSQL's length word, the value's and the layer's
const wordsIn = (bytes) => Math.max(0, Math.floor((Math.min(bytes, MAX_SIZE) - HEADERS) / 8));

function refused(message) {
    return new BloomError('22023', message);
}

/** bloom_sizing(capacity, fpr) */
export function sizing(capacity, fpr) {
    if (!(capacity >= 1)) {
        throw refused('capacity must be at least 1');
    }
    checkRate(fpr);
    const shape = firstLayer(capacity, fpr);
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
