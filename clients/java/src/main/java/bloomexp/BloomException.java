package bloomexp;

/** A refusal, in the words of the server. */
public final class BloomException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String sqlState;
    private final String primary;
    private final String detail;
    private final String hint;

    BloomException(String sqlState, String primary, String detail, String hint) {
        super(detail == null ? primary : primary + ": " + detail);
        this.sqlState = sqlState;
        this.primary = primary;
        this.detail = detail;
        this.hint = hint;
    }

    /** The error code of five characters. */
    public String sqlState() {
        return sqlState;
    }

    /** The primary message; getMessage() has the detail, too. */
    public String primary() {
        return primary;
    }

    /** What is wrong in detail, or null. */
    public String detail() {
        return detail;
    }

    /** What to do about it, or null. */
    public String hint() {
        return hint;
    }
}
