package bloomexp;

/** A layer: its header, and its bits within the value. */
final class Layer {
    private static final int BLOCKED_FROM = 4096;
    private static final int BLOCK_WORDS = 250;
    private static final long START = 0x9e3779b97f4a7c15L;
    private static final long STEP = 0xd1342543de82ef95L;

    final long words;
    final long blocks;
    final long blockBits; // positions a block
    final int hashes;
    final long capacity;
    final long items;
    final long bitsSet;
    final boolean counting;
    private final byte[] value;
    private int offset; // of the bits in the value

    Layer(byte[] value, int header, boolean counting) {
        long shape = BloomFilter.unsigned(value, header);

        words = shape & (1 << 26) - 1;
        hashes = (int) (shape >> 26);
        blocks = words <= BLOCKED_FROM ? 1 : (words + BLOCK_WORDS - 1) / BLOCK_WORDS;
        blockBits = words / blocks * 64;
        capacity = BloomFilter.unsigned(value, header + 4);
        items = BloomFilter.unsigned(value, header + 8);
        bitsSet = BloomFilter.unsigned(value, header + 12);
        this.counting = counting;
        this.value = value;
    }

    void locate(int at) {
        offset = at;
    }

    long positions() {
        return 64 * words;
    }

    long size() {
        return (counting ? 32 : 8) * words;
    }

    boolean contains(long hash) {
        // of the product's 128 bits the upper half, which is the item's block; blocks has few bits
        long first = ((hash >>> 32) * blocks
            + ((hash & 0xffffffffL) * blocks >>> 32) >>> 32) * blockBits;
        long g = (hash + START) * START * (2 * words + 1);

        for (int i = 0; i < hashes; i++) {
            if (!isSet(first + ((g >>> 32) * blockBits >>> 32))) {
                return false;
            }
            g *= STEP;
        }
        return true;
    }

    private boolean isSet(long position) {
        if (counting) {
            return (value[offset + (int) (position >> 1)] >> (position & 1) * 4 & 15) != 0;
        }
        return (value[offset + (int) (position >> 3)] >> (position & 7) & 1) != 0;
    }

    /** The bits that are 1, or the counters that are not 0. */
    long countSet() {
        long set = 0;

        for (int end = offset + (int) size(), i = offset; i < end; i += 8) {
            long word = (long) Hash.WORDS.get(value, i);
            if (counting) { // the lowest bit of each counter becomes the OR of its four
                word |= word >>> 1;
                word |= word >>> 2;
                word &= 0x1111111111111111L;
            }
            set += Long.bitCount(word);
        }
        return set;
    }

    /** Whether the bits that are set can come from the items. */
    boolean credible(double fpr) {
        double m = positions();
        double u = unset();
        double fromBits = m / hashes * (Math.log(m / u) + 1 + 44 / u);
        // The server's rounding of a root and this one are off by 2^-53 each.
        double share = Math.pow(fpr, 1.0 / hashes) + (hashes > 1 ? 0x1p-52 : 0);
        double atRate = -Math.log1p(-Math.min(share, 1)) * m / hashes;

        // a saturated counter outlives the removal of its items
        return counting || bitsSet <= items * hashes && (bitsSet > 0 || items == 0)
                && items <= Math.max(fromBits, atRate);
    }

    /** Positions that are not set, or 0.5 if there are none. */
    private double unset() {
        return Math.max(positions() - bitsSet, 0.5);
    }

    /** The rate by the fill; in one block that is exact. */
    double fprNow() {
        double b = blockBits;

        if (blocks == 1) {
            return Math.pow(bitsSet / b, hashes);
        }
        return blockedFpr(b, hashes,
                Math.log(unset() / positions()) / Math.expm1(hashes * Math.log1p(-1 / b)));
    }

    /**
     * The rate of blocks of m bits, in which the number of items is a Poisson
     * variable of this mean. Sums only every step-th term, which is enough.
     */
    private static double blockedFpr(double m, double k, double mean) {
        double step = Math.max(1, Math.floor(Math.sqrt(mean) / 1.5));
        double last = Math.ceil(mean + k + 7 * Math.sqrt(mean + k));
        double sum = 0;

        if (mean <= 0) {
            return 0;
        }
        for (double n = Math.max(0, Math.floor(mean - 7 * Math.sqrt(mean))); n <= last; n += step) {
            sum += Math.exp(n * Math.log(mean) - mean - logFactorial(n)) * classicFpr(m, k, n * k);
        }
        return Math.min(1, sum * step);
    }

    /** The rate of one block after so many probes. */
    private static double classicFpr(double m, double k, double probes) {
        double empty = Math.exp(probes * Math.log1p(-1 / m));
        double fill = 1 - empty;
        double covariance = empty * empty * Math.expm1(
            probes * Math.log1p(-1 / ((m - 1) * (m - 1))));
        double variance = covariance * (1 - 1 / m) + empty * (1 - empty) / m;

        if (fill <= 0) {
            return 0;
        }
        return Math.min(1, Math.pow(fill, k) * Math.exp(
            k * (k - 1) / 2 * variance / (fill * fill)));
    }

    /** ln(n!), by Stirling's series from where it is exact enough. */
    private static double logFactorial(double n) {
        double before = 0;
        double x = n;

        while (x < 16) {
            before += Math.log(++x);
        }
        return (x + 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2
                + (1 / 12.0 - (1 / 360.0 - 1 / (1260 * x * x)) / (x * x)) / x - before;
    }
}
