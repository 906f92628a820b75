# Rails, ActiveRecord: what a user has not seen.  Tables: tables.sql; PGDATABASE says where.

require 'active_record'

ActiveRecord::Base.establish_connection(adapter: 'postgresql')

class Post < ActiveRecord::Base
  # the user has not seen the post
  scope :unseen_by, ->(user) { where('NOT (SELECT items FROM seen WHERE user_id = ?) @> posts.id', user) }

  def self.newest(user)
    unseen_by(user).order(published: :desc).limit(3).pluck(:id)
  end
end

# seen has no model, and config.active_record.schema_format = :sql, because schema.rb knows neither type nor trigger
class Exposure < ActiveRecord::Base
  PAGE = <<~SQL
    INSERT INTO exposures (user_id, item_id)
    SELECT CAST(:user AS bigint), item_id
    FROM unnest(bloom_take('seen', CAST(:user AS bigint), CAST(ARRAY[:candidates] AS bigint[]), :wanted)) AS item_id
    RETURNING item_id
  SQL

  def self.remaining(user, candidates)
    ids('SELECT unnest(CAST(ARRAY[:candidates] AS bigint[]) - (SELECT items FROM seen WHERE user_id = :user))',
        user: user, candidates: candidates)
  end

  # The next page, recorded as exposures; what the query cache has is older.
  def self.page(user, candidates, wanted)
    ids(PAGE, user: user, candidates: candidates, wanted: wanted).tap { connection.clear_query_cache }
  end

  def self.ids(sql, **values)
    connection.uncached { connection.select_values(sanitize_sql([sql, values])) }
  end
end

p Exposure.remaining(42, [42299, 42301, 42999]) # [42301, 42999]
p Post.newest(42) # [42310, 42309, 42308]
p Exposure.page(42, [42300, 42309, 42310, 42308], 2) # [42309, 42310]
p Post.newest(42) # [42308, 42307, 42306]
# once per day, outside of transaction do
ActiveRecord::Base.connection.execute("CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at')")
p Post.newest(42) # [42308, 42307, 42306]
