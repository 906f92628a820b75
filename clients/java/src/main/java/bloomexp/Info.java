package bloomexp;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** What bloom_info tells of a filter. */
public final class Info {
    /** Kind of the items: integer, text, uuid or bytea; null before the first add. */
    public final String kind;
    /** Distinct items added, as counted while adding. */
    public final long items;
    /** Items for which all layers were sized. */
    public final long capacity;
    /** The promised rate. */
    public final double fpr;
    /** The rate now, from the fill. */
    public final double fprNow;
    /** Bits, or counters. */
    public final long bits;
    /** Those that are set. */
    public final long bitsSet;
    /** Their share. */
    public final double fill;
    /** Number of layers. */
    public final int layers;
    /** Bytes as stored, with the length word of 4 bytes. */
    public final long bytes;
    /** Whether the server can remove items. */
    public final boolean counting;
    /** Width of the window; null if there is none. */
    public final Duration windowWidth;
    /** Slices in it; 0 if there is no window. */
    public final int slices;
    /** What was shown before has expired; null if nothing has. */
    public final Instant expiredBefore;

    Info(BloomFilter filter) {
        long allItems = 0;
        long allCapacity = 0;
        long positions = 0;
        long set = 0;
        double missed = 0; // logarithm of the chance

        for (Layer layer : filter.layers) {
            allItems += layer.items;
            allCapacity += layer.capacity;
            positions += layer.positions();
            set += layer.bitsSet;
            missed += Math.log1p(-layer.fprNow());
        }
        kind = filter.kind == 0 ? null : BloomFilter.KINDS[filter.kind];
        items = allItems;
        capacity = allCapacity;
        fpr = filter.fpr;
        fprNow = 0 - Math.expm1(missed);
        bits = positions;
        bitsSet = set;
        fill = positions > 0 ? (double) set / positions : 0;
        layers = filter.layers.length;
        bytes = filter.value.length + 4L;
        counting = filter.counting;
        windowWidth = filter.windowed ? Duration.of(filter.width, ChronoUnit.MICROS) : null;
        slices = filter.slices;
        expiredBefore = filter.windowed && filter.floor != Long.MIN_VALUE
            ? time(filter.floor) : null;
    }

    private static Instant time(long microseconds) {
        long year2000 = 946684800;
        long second = 1000000;
        return Instant.ofEpochSecond(year2000 + Math.floorDiv(microseconds, second),
                Math.floorMod(microseconds, second) * 1000);
    }
}
