require 'pg'

PAGE = <<~SQL
  INSERT INTO exposures (user_id, item_id, shown_at)
  SELECT $1::bigint, item_id, now() FROM unnest(bloom_take('seen', $1::bigint, $2::bigint[], 2)) AS item_id
  RETURNING item_id
SQL

# Without the encoder an array would be sent as the text "[50001, 703]", which is an error.
ARRAY = PG::TextEncoder::Array.new

connection = PG.connect
p connection.exec_params(PAGE, [50, ARRAY.encode([50001, 703, 704, 705])]).column_values(0)
