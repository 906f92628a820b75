# Runs the statements of drivers.pl by Ruby's pg, with the argument "map" by its type map; psycopg3.py
# describes input and output.

require 'pg'

def items_of(how, list)
  items = list.split(',')
  case how
  when 'integer' then list.to_i
  when 'integers' then items.map(&:to_i)
  when 'strings', 'uuids' then items
  when 'literal' then "{#{list}}"
  else list
  end
end

$stdout.sync = true
connection = PG.connect
connection.set_notice_processor {}
connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection) if ARGV == ['map']
$stdin.each_line(chomp: true) do |line|
  text, how, user, list = line.split("\t", -1)
  values = [user.to_i, items_of(how, list)].first(text.include?('$2') ? 2 : 1)
  begin
    rows = connection.exec_params(text, values).values
    # (no item has a character that PostgreSQL quotes in an array)
    puts "ok\t#{rows.dig(0, 0).to_s.delete('{}')}"
  rescue PG::Error => error
    puts "error\t#{error.result&.error_field(PG::PG_DIAG_SQLSTATE)}\t#{error.message.lines.first.to_s.chomp.sub(/\AERROR: +/, '')}"
  end
end
