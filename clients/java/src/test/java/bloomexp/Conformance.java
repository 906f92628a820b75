package bloomexp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.LongStream;

/** Runs the conformance set, which its README.md describes. */
final class Conformance {
    private static final Instant YEAR_2000 = Instant.parse("2000-01-01T00:00:00Z");

    private Conformance() {
    }

    public static void main(String[] arguments) throws Exception {
        int passed = 0;
        int failed = 0;

        List<String> lines = new ArrayList<>();
        for (String set : arguments) {
            lines.addAll(Files.readAllLines(Path.of(set), StandardCharsets.UTF_8));
        }
        for (String text : lines) {
            Map<String, Object> line = Json.object(text);
            try {
                check(line);
                passed++;
            } catch (AssertionError | RuntimeException problem) {
                failed++;
                System.out.println(line.get("name") + ": " + problem);
            }
        }
        try {
            checkLists();
            checkHostile();
        } catch (AssertionError | RuntimeException problem) {
            failed++;
            System.out.println("lists: " + problem);
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    private static void check(Map<String, Object> line) {
        String text = (String) line.get("value");

        if (line.containsKey("error")) {
            refused(() -> BloomFilter.parse(text), line.get("error"));
            if (text.matches("(\\\\x)?([0-9a-fA-F]{2})*")) {
                refused(() -> BloomFilter.parse(bytes(text)), line.get("error"));
            }
            return;
        }

        BloomFilter filter = BloomFilter.parse(text);
        equal("text form", filter.toString(), line.getOrDefault("text", text));
        equal("text form of the bytes", BloomFilter.parse(bytes(text)).toString(),
            filter.toString());
        checkInfo(filter.info(), object(line.get("info")));
        checkItems(filter, line);
        if (line.containsKey("packed")) {
            equal("packed", hex(filter.excludePacked(bytes((String) line.get("packed")))),
                line.get("packed_survivors"));
        }
        for (Object element : list(line.getOrDefault("refuses", List.of()))) {
            Map<String, Object> question = object(element);
            refused(() -> ask(filter, question), question.get("error"));
        }
    }

    private static void checkInfo(Info info, Map<String, Object> expected) {
        Map<String, Object> got = new LinkedHashMap<>();
        double now = (Double) expected.get("fpr_now");

        got.put("kind", info.kind);
        got.put("items", (double) info.items);
        got.put("capacity", (double) info.capacity);
        got.put("fpr", info.fpr);
        got.put("fpr_now", Math.abs(info.fprNow - now) <= 1e-8 * now ? now : info.fprNow);
        got.put("bits", (double) info.bits);
        got.put("bits_set", (double) info.bitsSet);
        got.put("fill", info.fill);
        got.put("layers", (double) info.layers);
        got.put("bytes", (double) info.bytes);
        got.put("counting", info.counting);
        got.put("window_width", info.windowWidth == null ? null
                : String.valueOf(info.windowWidth.getSeconds() * 1000000
                    + info.windowWidth.getNano() / 1000));
        got.put("slices", info.windowWidth == null ? null : (double) info.slices);
        got.put("expired_before", info.expiredBefore == null ? null
                : String.valueOf(YEAR_2000.until(info.expiredBefore, ChronoUnit.MICROS)));
        got.forEach((column, value) -> equal("info: " + column, value, expected.get(column)));
    }

    private static void checkItems(BloomFilter filter, Map<String, Object> line) {
        String contains = (String) line.get("contains");
        List<Object> items = new ArrayList<>();
        List<Object> survivors = new ArrayList<>();
        StringBuilder contained = new StringBuilder();

        for (Object candidate : list(line.get("candidates"))) {
            Object item = item((String) line.get("kind"), (String) candidate);
            if (contains.charAt(items.size()) == '0') {
                survivors.add(item);
            }
            items.add(item);
            contained.append(contains(filter, item) ? '1' : '0');
        }
        equal("contains", contained.toString(), contains);
        equal("survivors", filter.exclude(items), survivors);
        if (line.get("kind").equals("integer")) {
            long[] numbers = items.stream().mapToLong(item -> (Long) item).toArray();
            List<Object> left = new ArrayList<>();
            for (long number : filter.exclude(numbers)) {
                left.add(number);
            }
            equal("survivors of a long[]", left, survivors);
        }
    }

    /** Lists take integers of all widths, drop nulls and refuse what is no item. */
    private static void checkLists() {
        BloomFilter filter = BloomFilter.parse("\\x01010100000000007b14ae47e17a843f020000140a000000"
                + "010000000500000000000000120202000000000000008000"); // holds 42
        List<Object> items = new ArrayList<>(List.of(41, 42, (short) 42, 42L, (short) -43));

        items.add(null);
        equal("integers", filter.exclude(items), List.of(41, (short) -43));
        refused(() -> BloomFilter.parse(filter.toString().getBytes(StandardCharsets.UTF_8)),
                Map.of("code", "22P03", "message", "invalid bytes for type bloom",
                        "detail", "These bytes are the text form of a filter, not its binary form.",
                        "hint", "Decode them: parse(new String(value, UTF_8)), "
                        + "or select the column as bytea."));
        equal("no filter", BloomFilter.parse((byte[]) null).exclude(List.of(1, "a", 1)),
            List.of(1, "a", 1));
        equal("no text", BloomFilter.parse((String) null).contains(0), false);
        refused(() -> filter.exclude(List.of(42.0)),
                Map.of("code", "42804", "message",
                        "items of type java.lang.Double cannot be in a filter",
                        "detail", "Items are Long, Integer, Short, String, UUID or byte[]."));
    }

    /** A valid value of 2 MB with 4,095 layers: an item is tested against each of them once. */
    private static void checkHostile() {
        int layers = 4095;
        ByteBuffer value = ByteBuffer.allocate(16 + layers * (16 + 512))
            .order(ByteOrder.LITTLE_ENDIAN);
        long[] items = LongStream.range(0, 1000).toArray();

        value.put((byte) 1).put((byte) 1).putShort((short) layers).putInt(0).putDouble(0.9);
        for (int i = 0; i < layers; i++) {
            value.putInt(64 | 63 << 26).putInt(200).putInt(199).putInt(1);
            value.put(16 + 16 * layers + 512 * i, (byte) 1);
        }
        BloomFilter filter = BloomFilter.parse(value.array());
        equal("survivors of a hostile value", filter.exclude(items).length, items.length);
        equal("layers", filter.info().layers, layers);
    }

    private static Object ask(BloomFilter filter, Map<String, Object> question) {
        if (question.containsKey("packed")) {
            return filter.excludePacked(bytes((String) question.get("packed")));
        }
        return contains(filter,
            item((String) question.get("kind"), (String) question.get("candidate")));
    }

    private static boolean contains(BloomFilter filter, Object item) {
        if (item instanceof Long) {
            return filter.contains((Long) item);
        }
        if (item instanceof String) {
            return filter.contains((String) item);
        }
        return item instanceof UUID ? filter.contains((UUID) item) : filter.contains((byte[]) item);
    }

    private static Object item(String kind, String text) {
        switch (kind) {
            case "integer":
                return Long.valueOf(text);
            case "text":
                return text;
            case "uuid":
                return UUID.fromString(text);
            default:
                return bytes(text);
        }
    }

    private static void refused(Runnable question, Object expected) {
        Map<String, Object> error = object(expected);

        try {
            question.run();
        } catch (BloomException refusal) {
            equal("code", refusal.sqlState(), error.get("code"));
            equal("message", refusal.primary(), error.get("message"));
            equal("detail", refusal.detail(), error.get("detail"));
            equal("hint", refusal.hint(), error.get("hint"));
            return;
        }
        throw new AssertionError("not refused: " + error.get("message"));
    }

    private static void equal(String what, Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(what + ": " + got + " instead of " + expected);
        }
    }

    private static byte[] bytes(String hex) {
        String digits = hex.startsWith("\\x") ? hex.substring(2) : hex;
        byte[] bytes = new byte[digits.length() / 2];

        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder("\\x");
        for (byte b : bytes) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(Object value) {
        return (List<Object>) value;
    }
}
