package bloomexp;

import java.math.BigDecimal;
import java.math.MathContext;

/** How large a new filter is: the chapter "Sizes" of doc/internals/format.md. */
final class Sizing {
    private static final int MAX_WORDS = (1 << 26) - 1; // of a layer
    private static final int MAX_HASHES = 63;
    private static final int UNSIZED_CAPACITY = 100;
    private static final double UNSIZED_SHARE = 1.0 / 2;
    private static final double SIZED_SHARE = 127.0 / 128;
    private static final int EXACT_ITEMS = 4; // for each hash the rate is computed exactly
    private static final double NEGLIGIBLE = 1e-290;
    private static final double MIN_FPR = 1e-9;
    private static final int MAX_HEADROOM = 1000;

    final long words;
    final int hashes;
    private final long blocks;
    private final long blockBits;

    private Sizing(long words, int hashes) {
        this.words = words;
        this.hashes = hashes;
        blocks = Layer.blocksOf(words);
        blockBits = words / blocks * 64;
    }

    /** Refuses what cannot be promised or meant. */
    static void check(double fpr, double headroom) {
        if (!(fpr > 0 && fpr < 1)) { // NaN too
            throw new BloomException("22023", "false positive rate must be greater than 0 and less than 1", null,
                    "Write 0.01 for 1%.");
        }
        if (fpr < MIN_FPR) {
            throw new BloomException("22023", "false positive rate must be at least 1e-09",
                    "Items are compared by a 64-bit hash, which does not allow a lower rate.", null);
        }
        if (!(headroom >= 0 && headroom <= MAX_HEADROOM)) {
            throw new BloomException("22023", "headroom must be between 0 and " + MAX_HEADROOM, null,
                    "Write 0.2 for room for 20% more items.");
        }
    }

    /** The first layer of a filter for so many items. */
    static Sizing firstLayer(long capacity, double fpr) {
        double share = fpr * (capacity <= UNSIZED_CAPACITY ? UNSIZED_SHARE : SIZED_SHARE);
        Sizing fitting = capacity < 1L << 32 ? fit(capacity, share) : null;

        if (fitting == null) {
            throw new BloomException("54000", "capacity of " + capacity + " items is too large",
                    "At a false positive rate of " + shortly(fpr) + " a filter of 500 MiB, the limit, has room for "
                    + maxItems(share) + ".", "Accept a larger false positive rate, or keep several filters.");
        }
        return fitting;
    }

    private static long maxItems(double fpr) {
        long fits = 0;
        long tooMany = 1L << 32;

        while (tooMany - fits > 1) {
            long middle = (fits + tooMany) / 2;
            if (fit(middle, fpr) != null) {
                fits = middle;
            } else {
                tooMany = middle;
            }
        }
        return fits;
    }

    /** A rate as %g of C prints it. */
    private static String shortly(double rate) {
        BigDecimal rounded = new BigDecimal(rate).round(new MathContext(6)).stripTrailingZeros();
        int exponent = rounded.precision() - rounded.scale() - 1;

        if (exponent >= -4) {
            return rounded.toPlainString();
        }
        return String.format("%se-%02d", rounded.movePointLeft(exponent).toPlainString(), -exponent);
    }

    /** The smallest layer of all, and of equal ones that with the fewest hashes; or null. */
    private static Sizing fit(double items, double fpr) {
        double best = -log2(fpr);
        int first = (int) Math.max(1, Math.min(MAX_HASHES, Math.floor(best) - 1));
        Sizing smallest = null;

        for (int k = (int) Math.min(MAX_HASHES, Math.ceil(best) + 1); k >= first; k--) {
            if (smallest != null && textbookWords(items, fpr, k) > smallest.words) {
                continue;
            }
            Sizing candidate = smallestForHashes(items, fpr, k);
            if (candidate != null && (smallest == null || candidate.words <= smallest.words)) {
                smallest = candidate;
            }
        }
        while (smallest != null && smallest.hashes > 1) {
            Sizing fewer = new Sizing(smallest.words, smallest.hashes - 1);
            if (fewer.expectedFpr(items) > fpr) {
                break;
            }
            smallest = fewer;
        }
        return smallest != null && BloomFilter.PLAIN_HEADERS + 8 * smallest.words <= BloomFilter.MAX_BYTES ? smallest : null;
    }

    /** The logarithm, which of a power of two is exact. */
    private static double log2(double x) {
        int exponent = Math.getExponent(x);
        return exponent + Math.log(Math.scalb(x, -exponent)) / Math.log(2);
    }

    /** The smallest layer with k hashes that keeps the rate, or null. */
    private static Sizing smallestForHashes(double items, double fpr, int k) {
        Sizing shape = null;
        double aim = fpr;

        // the textbook's number, corrected by how far its rate is off, is near
        for (int round = 0; round < 3; round++) {
            double words = textbookWords(items, aim, k);
            if (words > MAX_WORDS) {
                return null;
            }
            shape = roundToBlocks((long) Math.max(1, words), k);
            if (shape.words == 1) {
                break;
            }
            aim = fpr * shape.textbookFpr(items) / shape.expectedFpr(items);
        }

        while (shape.expectedFpr(items) > fpr) {
            shape = roundToBlocks(shape.words + 1, k);
            if (shape.words > MAX_WORDS) {
                return null;
            }
        }
        while (shape.words > 1 && shape.nextSmaller().expectedFpr(items) <= fpr) {
            shape = shape.nextSmaller();
        }
        // one block does with less than several
        Sizing single = new Sizing(Layer.BLOCKED_FROM, k);
        return shape.blocks > 1 && single.expectedFpr(items) <= fpr ? single : shape;
    }

    private static Sizing roundToBlocks(long words, int k) {
        long blocks = Layer.blocksOf(words);
        return new Sizing((words + blocks - 1) / blocks * blocks, k);
    }

    private Sizing nextSmaller() {
        long smaller = words - blocks;

        if (blocks > 1 && (smaller <= Layer.BLOCKED_FROM || Layer.blocksOf(smaller) < blocks)) {
            smaller = Math.max((blocks - 1) * Layer.BLOCK_WORDS, Layer.BLOCKED_FROM);
        }
        return new Sizing(smaller, hashes);
    }

    /** Words by the textbook; the true number is not below. */
    private static double textbookWords(double items, double fpr, int k) {
        return Math.ceil(k * items / -Math.log1p(-Math.pow(fpr, 1.0 / k)) / 64);
    }

    private double textbookFpr(double items) {
        return Math.pow(-Math.expm1(-hashes * items / (64 * words)), hashes);
    }

    /** The rate of a layer that holds so many items. */
    private double expectedFpr(double items) {
        if (blocks > 1) {
            return Layer.blockedFpr(blockBits, hashes, items / blocks);
        }
        if (items <= EXACT_ITEMS * hashes) {
            return exactFpr(blockBits, hashes, (int) (items * hashes));
        }
        return Layer.classicFpr(blockBits, hashes, items * hashes);
    }

    /** The rate of m positions after so few probes. */
    private static double exactFpr(double m, int k, int probes) {
        double[] chance = new double[k + 2];
        int last = k;

        chance[0] = 1;
        for (int probe = 0; probe < k; probe++) {
            for (int j = probe + 1; j > 0; j--) {
                chance[j] = chance[j] * (j / m) + chance[j - 1] * ((m - j + 1) / m);
            }
            chance[0] = 0;
        }
        for (int i = 0; i < probes; i++) {
            for (int r = 0; r <= last; r++) {
                chance[r] = chance[r] * (1 - r / m) + chance[r + 1] * ((r + 1) / m);
            }
            for (; last > 0 && chance[last] < NEGLIGIBLE; last--) {
                chance[last] = 0;
            }
        }
        return chance[0];
    }
}
