require 'pg'

PAGE = 'INSERT INTO exposures (user_id, item_id)
  SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id'

# Without the encoder an array would be sent as the text "[50001, 703]", which is an error.
# PG::BasicTypeMapForQueries sends an empty array as an array of texts, which is an error, too.
ARRAY = PG::TextEncoder::Array.new

page = PG.connect.exec_params(PAGE, [50, ARRAY.encode([50001, 703, 704, 705])])
p page.column_values(0) # ["703", "704"]
