package bloomexp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;

/**
 * A value of type bloom of the PostgreSQL extension bloomexp, asked outside of the server.
 *
 * <p>A value is read as doc/internals/format.md describes it. It cannot be changed here: how a
 * filter grows, and so its promised rate, is the server's business. Any number of threads can ask
 * one filter.
 *
 * <p>Integers of all widths are one kind. A String is text of a server whose encoding is UTF-8.
 */
public final class BloomFilter {
    static final String[] KINDS = {"none", "integer", "text", "uuid", "bytea"};

    private static final int INTEGER = 1;
    private static final int TEXT = 2;
    private static final int UUIDS = 3;
    private static final int BYTEA = 4;

    /** What bloom_new(1) makes. */
    private static final String EMPTY =
            "\\x01000100000000007b14ae47e17a843f010000080100000000000000000000000000000000000000";

    private static final int VERSION = 1;
    private static final int MAX_BYTES = (500 << 20) - 4;
    private static final int MAX_LAYERS = 4096;
    private static final int MAX_SLICES = 1000;
    private static final int HEADER_SIZE = 16;
    private static final int WINDOW_SIZE = 24; // further bytes in the header of a windowed filter
    private static final int MOST_PER_PLACE = 64; // items per position

    final byte[] value;
    final int kind;
    final boolean counting;
    final boolean windowed;
    final double fpr;
    final long width; // of the window, in microseconds
    final long floor; // what was shown before has expired
    final int slices;
    final Layer[] layers; // oldest first

    /**
     * Checks a value as the server does, and opens it.
     *
     * @param value the bytes of the binary protocol, or of a cast to bytea; the filter keeps
     *     them, and they must not change. null, as NULL, is an empty filter
     * @throws BloomException if the value is not valid
     */
    public static BloomFilter parse(byte[] value) {
        if (value == null) {
            return parse(EMPTY);
        }
        if (value.length > MAX_BYTES) {
            throw new BloomException("54000", "value of type bloom is too large",
                    "It has " + value.length + " bytes; the limit is " + MAX_BYTES + ".", null);
        }
        if (value.length > 1 && value[0] == '\\' && value[1] == 'x') {
            throw new BloomException("22P03", "invalid bytes for type bloom",
                    "These bytes are the text form of a filter, not its binary form.",
                    "Decode them: parse(new String(value, UTF_8)), or select the column as bytea.");
        }
        if (value.length > 0 && (value[0] & 0xff) > VERSION) {
            throw new BloomException("0A000", "format version " + (value[0] & 0xff)
                    + " of type bloom is not supported",
                    "This release of bloomexp knows format version " + VERSION + ".",
                    "Install the release of bloomexp that wrote the value, or a later one.");
        }
        return new BloomFilter(value);
    }

    /**
     * Checks a value in its text form, \x and hexadecimal digits, and opens it; null is an
     * empty filter.
     *
     * @throws BloomException if the value is not valid
     */
    public static BloomFilter parse(String text) {
        if (text == null) {
            return parse(EMPTY);
        }
        byte[] digits = text.getBytes(StandardCharsets.UTF_8);
        int start = text.startsWith("\\x") ? 2 : 0;
        byte[] value = new byte[(digits.length - start) / 2];

        for (int i = 0; i < value.length; i++) {
            int high = Character.digit(digits[start + 2 * i], 16);
            int low = Character.digit(digits[start + 2 * i + 1], 16);

            if (high < 0 || low < 0) {
                throw badText("There is no hexadecimal digit at byte " + (i + 1) + ".",
                        "The text form of a filter is \"\\x\" and hexadecimal digits; "
                        + "make one with bloom_new().");
            }
            value[i] = (byte) (high << 4 | low);
        }
        if ((digits.length - start) % 2 != 0) {
            throw badText("The number of hexadecimal digits is odd.", null);
        }
        return parse(value);
    }

    private BloomFilter(byte[] value) {
        this.value = value;

        // what is before the layers
        check(value.length > 0, "The value is empty.");
        check(value[0] == VERSION, "There is no format version %d.", value[0]);
        check(value.length >= HEADER_SIZE, "The value ends within its header.");
        ByteBuffer header = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        int flags = value[1];
        kind = flags & 15;
        counting = (flags & 0x10) != 0;
        windowed = (flags & 0x20) != 0;
        int nlayers = Short.toUnsignedInt(header.getShort(2));
        fpr = header.getDouble(8);
        check(kind <= BYTEA, "There is no kind of items number %d.", kind);
        check((flags & 0xc0) == 0, "A reserved flag is set.");
        check(header.getInt(4) == 0, "A reserved field is not 0.");
        check(!counting || !windowed, "A filter cannot be both counting and windowed.");
        // nor NaN
        check(fpr >= 1e-9 && fpr < 1, "The false positive rate is not between 1e-09 and 1.");
        check(nlayers > 0 || windowed, "There is no layer.");
        check(nlayers <= MAX_LAYERS, "There are %d layers; the limit is %d.", nlayers, MAX_LAYERS);
        check(nlayers <= 1 || !counting, "A counting filter has more than one layer.");
        check(!windowed || value.length >= HEADER_SIZE
            + WINDOW_SIZE, "The value ends within its header.");
        width = windowed ? header.getLong(16) : 0;
        floor = windowed ? header.getLong(24) : 0;
        slices = windowed ? header.getInt(32) : 0;
        if (windowed) {
            check(width > 0, "The width of the window is not positive.");
            check(slices > 0 && slices <= MAX_SLICES,
                "The window does not have between 1 and %d slices.", MAX_SLICES);
            check(header.getInt(36) == 0, "A reserved field is not 0.");
        }

        layers = new Layer[nlayers];
        readLayers(header);
        for (int i = 0; i < nlayers; i++) {
            check(layers[i].bitsSet == layers[i].countSet(),
                    "Layer %d does not have as many bits set as its header says.", i + 1);
            check(layers[i].credible(fpr),
                    "Layer %d has a number of bits set that its items cannot explain.", i + 1);
        }
    }

    /** Reads the headers of the layers, and finds their bits. */
    private void readLayers(ByteBuffer value) {
        int first = HEADER_SIZE + (windowed ? WINDOW_SIZE : 0);
        int size = windowed ? 24 : 16;
        int headers = first + layers.length * size;
        long next = headers; // where the bits of a layer begin

        check(value.capacity() >= headers, "The value ends within the headers of its layers.");
        for (int i = 0; i < layers.length; i++) {
            int header = first + i * size;

            layers[i] = readLayer(i + 1, header);
            check(!windowed || i == 0
                    || value.getLong(header + 16) >= value.getLong(header - size + 16),
                    "Layer %d is of an earlier slice than the one before.", i + 1);
            next += layers[i].size();
        }
        check(value.capacity() == next, "The headers announce %d bytes, but there are %d.", next,
            value.capacity());

        int offset = headers;
        for (Layer layer : layers) {
            layer.locate(offset);
            offset += (int) layer.size();
        }
    }

    private Layer readLayer(int number, int header) {
        Layer layer = new Layer(value, header, counting);

        check(layer.words > 0 && layer.hashes > 0, "Layer %d has no bits or no hashes.", number);
        check(layer.words % layer.blocks == 0, "Layer %d cannot be cut into equal blocks.", number);
        check(layer.capacity > 0, "Layer %d has no capacity.", number);
        check(layer.capacity <= MOST_PER_PLACE * layer.positions(),
                "Layer %d has a capacity that its bits cannot hold.", number);
        check(layer.items <= layer.capacity, "Layer %d holds more items than its capacity.",
            number);
        check(kind != 0 || layer.items == 0, "Layer %d holds items of no kind.", number);
        return layer;
    }

    private static void check(boolean fine, String detail, Object... arguments) {
        if (!fine) {
            throw new BloomException("22P03", "invalid bytes for type bloom",
                    String.format(Locale.ROOT, detail, arguments), null);
        }
    }

    private static BloomException badText(String detail, String hint) {
        return new BloomException("22P02", "invalid input syntax for type bloom", detail, hint);
    }

    static long unsigned(byte[] value, int at) {
        return ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getInt(at) & 0xffffffffL;
    }

    /** Returns the value in its text form. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("\\x");

        for (byte b : value) {
            text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return text.toString();
    }

    /** The state of the filter. */
    public Info info() {
        return new Info(this);
    }

    /**
     * Whether the filter contains an integer: surely if it was added, otherwise with the false
     * positive rate.
     */
    public boolean contains(long item) {
        return has(hash(item));
    }

    /** Whether the filter contains a text. */
    public boolean contains(String item) {
        return has(hash(item));
    }

    /** Whether the filter contains a uuid. */
    public boolean contains(UUID item) {
        return has(hash(item));
    }

    /** Whether the filter contains some bytes. */
    public boolean contains(byte[] item) {
        return has(hash(item));
    }

    /** The candidates that the filter lacks, in their order and with their duplicates. */
    public long[] exclude(long[] candidates) {
        long[] survivors = new long[candidates.length];
        int n = 0;

        requireKind(kind, INTEGER);
        for (long candidate : candidates) {
            if (!has(Hash.of(candidate))) {
                survivors[n++] = candidate;
            }
        }
        return Arrays.copyOf(survivors, n);
    }

    /**
     * The candidates that the filter lacks, in their order, with duplicates and without nulls.
     *
     * @param candidates of Long, Integer, Short, String, UUID or byte[]
     */
    public <T> List<T> exclude(List<T> candidates) {
        List<T> survivors = new ArrayList<>(candidates.size());

        for (T candidate : candidates) {
            if (candidate != null && !has(hash(candidate))) {
                survivors.add(candidate);
            }
        }
        return survivors;
    }

    /** The same for integers that are packed into 8 little-endian bytes each. */
    public byte[] excludePacked(byte[] candidates) {
        byte[] survivors = new byte[candidates.length];
        int size = 0;

        if (candidates.length % 8 != 0) {
            throw new BloomException("22P03",
                    "length of packed items must be a multiple of 8 bytes, not "
                    + candidates.length,
                    "Each item is an integer of 8 bytes, in little-endian byte order.", null);
        }
        if (kind != 0 && kind != INTEGER) {
            throw new BloomException("42804", "filter holds " + KINDS[kind]
                    + " items, not packed integers", null,
                    "Use bloom_exclude_array() with an array of " + KINDS[kind] + ".");
        }
        for (int i = 0; i < candidates.length; i += 8) {
            long item = (long) Hash.WORDS.get(candidates, i);

            if (!has(Hash.of(item))) {
                Hash.WORDS.set(survivors, size, item);
                size += 8;
            }
        }
        return Arrays.copyOf(survivors, size);
    }

    private boolean has(long hash) {
        for (int i = layers.length - 1; i >= 0; i--) {
            if (layers[i].contains(hash)) {
                return true;
            }
        }
        return false;
    }

    private long hash(long item) {
        requireKind(kind, INTEGER);
        return Hash.of(item);
    }

    private long hash(Object item) {
        requireKind(kind, kindOf(item));
        return hashOf(item);
    }

    private static int kindOf(Object item) {
        if (item instanceof Long || item instanceof Integer || item instanceof Short) {
            return INTEGER;
        }
        if (item instanceof String) {
            return TEXT;
        }
        if (item instanceof UUID) {
            return UUIDS;
        }
        if (item instanceof byte[]) {
            return BYTEA;
        }
        throw new BloomException("42804", "items of type " + item.getClass().getName()
                + " cannot be in a filter",
                "Items are Long, Integer, Short, String, UUID or byte[].", null);
    }

    private static long hashOf(Object item) {
        switch (kindOf(item)) {
            case INTEGER:
                return Hash.of(((Number) item).longValue());
            case TEXT:
                return Hash.of(((String) item).getBytes(StandardCharsets.UTF_8));
            case UUIDS:
                return Hash.of(ByteBuffer.allocate(16)
                        .putLong(((UUID) item).getMostSignificantBits())
                        .putLong(((UUID) item).getLeastSignificantBits()).array());
            default:
                return Hash.of((byte[]) item);
        }
    }

    private static void requireKind(int held, int wanted) {
        if (held != 0 && held != wanted) {
            throw new BloomException("42804", "filter holds " + KINDS[held] + " items, not "
                    + KINDS[wanted], null,
                    "Cast the items to " + (held == INTEGER ? "bigint" : KINDS[held]) + ".");
        }
    }
}
