package bloomexp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The first half of MurmurHash3 x64 128, Austin Appleby's. */
final class Hash {
    static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(
        long[].class, ByteOrder.LITTLE_ENDIAN);

    private static final long C1 = 0x87c37b91114253d5L;
    private static final long C2 = 0x4cf5ad432745937fL;

    private Hash() {
    }

    static long of(byte[] item) {
        long h1 = 0;
        long h2 = 0;
        int i = 0;

        for (; item.length - i >= 16; i += 16) {
            h1 = (Long.rotateLeft(h1 ^ mix1(word(item, i)), 27) + h2) * 5 + 0x52dce729;
            h2 = (Long.rotateLeft(h2 ^ mix2(word(item, i + 8)), 31) + h1) * 5 + 0x38495ab5;
        }
        return finish(h1 ^ mix1(word(item, i)), h2 ^ mix2(word(item, i + 8)), item.length);
    }

    /** The same for 8 bytes, which are all tail: shorter than a block. */
    static long of(long item) {
        return finish(mix1(item), 0, 8);
    }

    /** The little-endian number of 8 bytes, of which those behind the end are 0. */
    private static long word(byte[] item, int i) {
        if (item.length - i >= 8) {
            return (long) WORDS.get(item, i);
        }
        long number = 0;
        for (int end = item.length - 1; end >= i; end--) {
            number = number << 8 | item[end] & 0xff;
        }
        return number;
    }

    private static long mix1(long k) {
        return Long.rotateLeft(k * C1, 31) * C2;
    }

    private static long mix2(long k) {
        return Long.rotateLeft(k * C2, 33) * C1;
    }

    private static long finish(long lane1, long lane2, int length) {
        long h2 = lane2 ^ length;
        long h1 = (lane1 ^ length) + h2;
        return last(h1) + last(h2 + h1);
    }

    private static long last(long h) {
        long mixed = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }
}
