-- "recent" is never compressed, nor moved out of the row.
CALL bloomexp.keep_in_row({filters_literal}, 'recent');
