-- Keep "recent" in the row, uncompressed.
CALL bloomexp.keep_in_row({filters_literal}, 'recent');
