-- Never compress "recent", nor move it out of the row.
CALL bloomexp.keep_in_row({filters_literal}, 'recent');
