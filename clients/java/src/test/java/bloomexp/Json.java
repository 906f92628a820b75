package bloomexp;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads a line of the conformance set, which is well-formed JSON; numbers become doubles. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        return (Map<String, Object>) new Json(text).value();
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return text.charAt(at);
    }

    private Object value() {
        switch (next()) {
            case '{':
                return members();
            case '[':
                return elements();
            case '"':
                return string();
            default:
                int start = at;
                while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                return scalar(text.substring(start, at));
        }
    }

    private static Object scalar(String word) {
        switch (word) {
            case "null":
                return null;
            case "true":
                return true;
            case "false":
                return false;
            default:
                return Double.valueOf(word);
        }
    }

    private Map<String, Object> members() {
        Map<String, Object> members = new LinkedHashMap<>();

        for (at++; next() != '}'; skip(',')) {
            String name = string();
            skip(':');
            members.put(name, value());
        }
        at++;
        return members;
    }

    private List<Object> elements() {
        List<Object> elements = new ArrayList<>();

        for (at++; next() != ']'; skip(',')) {
            elements.add(value());
        }
        at++;
        return elements;
    }

    private void skip(char separator) {
        if (next() == separator) {
            at++;
            next();
        }
    }

    private String string() {
        StringBuilder string = new StringBuilder();

        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            string.append(c == '\\' ? escaped() : c);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char c = text.charAt(++at);
        if (c == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
        }
        int control = "bfnrt".indexOf(c);
        return control < 0 ? c : "\b\f\n\r\t".charAt(control);
    }
}
