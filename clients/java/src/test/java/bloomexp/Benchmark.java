package bloomexp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.function.IntSupplier;

/** Measures 1,000 candidates, of which some 300 are exposed, against 3,650 exposures at 1%. */
final class Benchmark {
    private static final int ITEMS = 3650;
    private static final int WORDS = 549;
    private static final int HASHES = 7;
    private static final int CALLS = 20000;

    private Benchmark() {
    }

    public static void main(String[] arguments) {
        Random random = new Random(1);
        long[] items = random.longs(ITEMS).toArray();
        long[] candidates = random.longs(1000).toArray();

        for (int i = 0; i < candidates.length; i++) {
            if (random.nextInt(10) < 3) {
                candidates[i] = items[random.nextInt(ITEMS)];
            }
        }
        byte[] value = filterOf(items);
        BloomFilter filter = BloomFilter.parse(value);

        System.out.printf("parse %.2f us%n", median(() -> BloomFilter.parse(value).layers.length));
        System.out.printf("exclude %.2f us, %d survivors%n", median(() -> filter.exclude(candidates).length),
                filter.exclude(candidates).length);
    }

    /** Microseconds of a call: the median, which other work on the machine does not move. */
    private static double median(IntSupplier call) {
        double[] times = new double[CALLS];
        int sum = 0;

        for (int i = -CALLS; i < CALLS; i++) { // the first half warms up
            long start = System.nanoTime();
            sum += call.getAsInt();
            if (i >= 0) {
                times[i] = (System.nanoTime() - start) / 1e3;
            }
        }
        if (sum == 0) {
            throw new AssertionError("nothing was done");
        }
        Arrays.sort(times);
        return times[CALLS / 2];
    }

    /** A value like that of the server for so many integers at 1%. */
    private static byte[] filterOf(long[] items) {
        ByteBuffer value = ByteBuffer.allocate(32 + 8 * WORDS).order(ByteOrder.LITTLE_ENDIAN);
        byte[] bytes = value.array();
        int set = 0;

        for (long item : items) {
            long g = (Hash.of(item, 0) + Layer.START) * Layer.START * (2 * WORDS + 1);
            for (int i = 0; i < HASHES; i++, g *= Layer.STEP) {
                int position = (int) ((g >>> 32) * (64 * WORDS) >>> 32);
                bytes[32 + position / 8] |= (byte) (1 << position % 8);
            }
        }
        for (int i = 32; i < bytes.length; i++) {
            set += Integer.bitCount(bytes[i] & 0xff);
        }
        value.put((byte) 1).put((byte) 1).putShort((short) 1).putInt(0).putDouble(0.01)
                .putInt(WORDS | HASHES << 26).putInt(items.length).putInt(items.length).putInt(set);
        return bytes;
    }
}
