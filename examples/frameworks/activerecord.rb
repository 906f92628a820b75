# Rails, ActiveRecord: what a user has not seen.  Tables: tables.sql; PGDATABASE says where.

require 'active_record'

ActiveRecord::Base.establish_connection(adapter: 'postgresql')

class Post < ActiveRecord::Base
  # the user has not seen the post
  scope :unseen_by, ->(user) { where('NOT (SELECT shown.current(?)) @> posts.id', user) }

  def self.newest(user)
    unseen_by(user).order(published: :desc).limit(3).pluck(:id)
  end
end

# config.active_record.schema_format = :sql, because schema.rb knows neither functions nor triggers
class Exposure < ActiveRecord::Base
  KEY = %w[user_id item_id]

  def self.remaining(user, candidates)
    ids('SELECT unnest(shown.unseen(:user, :candidates))', candidates, user: user)
  end

  # The next page, recorded as exposures; what the query cache has is older.
  def self.page(user, candidates, wanted)
    times = column_names & %w[shown_at created_at updated_at]
    ids(<<~SQL, candidates, user: user, wanted: wanted).tap { connection.clear_query_cache }
      INSERT INTO #{table_name} (#{[*KEY, *times].join(', ')})
      SELECT :user, unnest(shown.take(:user, :candidates, :wanted)) #{', now()' * times.size}
      #{on_conflict(times - ['created_at'])} RETURNING #{KEY.last}
    SQL
  end

  # A unique index of user and item: a row that is there gets the new times.
  def self.on_conflict(times)
    indexes = connection.schema_cache.indexes(table_name)
    return unless indexes.any? { |i| i.unique && i.where.nil? && i.columns.sort == KEY.sort }

    new_times = times.map { |time| "#{time} = excluded.#{time}" }
    "ON CONFLICT (#{KEY.join(', ')}) DO UPDATE SET #{new_times.join(', ')}"
  end

  # The candidates as a literal: an array would be written as a list.
  def self.ids(sql, candidates, **values)
    values[:candidates] = PG::TextEncoder::Array.new.encode(candidates)
    connection.uncached { connection.select_values(sanitize_sql([sql, values])) }
  end
end

p Exposure.remaining(42, [42299, 42301, 42999]) # [42301, 42999]
p Post.newest(42) # [42310, 42309, 42308]
p Exposure.page(42, [42300, 42309, 42310, 42308], 2) # [42309, 42310]
p Post.newest(42) # [42308, 42307, 42306]
# once a day, outside of transaction do
ActiveRecord::Base.connection.execute("CALL shown.rebuild()")
p Post.newest(42) # [42308, 42307, 42306]
