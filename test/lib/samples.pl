# test/lib/samples.pl
#
# A table of filters of every sort, and what they answer, for the TAP tests in which
# filters go from one place to another: if a server, a file or a connection has
# changed a filter, or reads it in another way, its answers differ.
#
# Perl programs "require" this file and call its functions.

package samples;

use strict;
use warnings;

# The tables and filters, in a database where nothing is yet.  Exposed were even
# numbers.  A filter larger than a page is stored out of line, for filters are not
# compressed.
sub create
{
	my ($node, $database) = @_;

	$node->safe_psql($database, q{
		CREATE EXTENSION IF NOT EXISTS bloomexp;
		CREATE TABLE seen (user_id bigint PRIMARY KEY, items bloom, note text);
		INSERT INTO seen
		SELECT 1, bloom_agg(2 * i), 'small' FROM generate_series(1, 300) AS i UNION ALL
		SELECT 2, bloom_add(bloom_new(100, 0.001), array_agg(2 * i)), 'layers'
			FROM generate_series(1, 1000) AS i UNION ALL
		SELECT 3, bloom_agg(2 * i), 'large' FROM generate_series(1, 100000) AS i UNION ALL
		SELECT 4, bloom_window_agg(2 * i,
			'2026-01-01 00:00+00'::timestamptz + i * interval '2 minutes', '30 days', 6, 0.01),
			'window' FROM generate_series(1, 20000) AS i UNION ALL
		SELECT 5, bloom_add(bloom_new(5000, counting => true), array_agg(2 * i)), 'counting'
			FROM generate_series(1, 3000) AS i UNION ALL
		SELECT 6, bloom_agg((2 * i)::text), 'text' FROM generate_series(1, 10000) AS i UNION ALL
		SELECT 7, bloom_agg(md5((2 * i)::text)::uuid), 'uuid' FROM generate_series(1, 500) AS i
			UNION ALL
		SELECT 8, bloom_agg(int8send(2 * i)), 'bytea' FROM generate_series(1, 500) AS i UNION ALL
		SELECT 9, bloom_new(), 'empty' UNION ALL
		SELECT 10, NULL, 'none'});
	return;
}

# Exposures, a feed with triggers and one without.
sub create_feeds
{
	my ($node, $database) = @_;

	$node->safe_psql($database, q{
		CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(),
			PRIMARY KEY (user_id, item_id));
		SELECT bloomexp.create_feed('feed', 'exposures');
		SELECT bloomexp.create_feed('untracked', 'exposures', trigger => false)});
	return;
}

# The users to whom feeds say that an item was shown.
sub shown
{
	my ($node, $database, $item) = @_;

	return $node->safe_psql($database, qq{
		SELECT string_agg(concat_ws(' ', f.name, user_id), ', ' ORDER BY f.name, user_id)
			FROM generate_series(1, 100) AS user_id,
			LATERAL (VALUES ('feed', feed.unseen(user_id, '{$item}')),
				('untracked', untracked.unseen(user_id, '{$item}'))) AS f(name, unseen)
		WHERE unseen = '{}'});
}

# One line a user: the bytes; survivors of bloom_exclude() and of the operator; how many
# candidates the filter contains and how many there are; its state.  All versions of
# PostgreSQL write these figures alike.
sub answers
{
	my ($node, $database) = @_;
	my %candidate = (integer => 'i', text => 'i::text', uuid => 'md5(i::text)::uuid',
		bytea => 'int8send(i)');
	my $answer = '';

	for my $kind (sort keys %candidate)
	{
		$answer .= "WHEN '$kind' THEN (
			SELECT format('survivors %s %s, contained %s of %s',
				(SELECT md5(string_agg(survivor::text, ' '))
					FROM bloom_exclude(candidates, seen.items) AS survivor),
				md5(array_to_string(candidates - seen.items, ' ')),
				(SELECT count(*) FROM unnest(candidates) AS candidate
					WHERE bloom_contains(seen.items, candidate)),
				cardinality(candidates))
			FROM (SELECT array_agg($candidate{$kind}) AS candidates
				FROM generate_series(1::bigint, 2000) AS i) AS s)\n";
	}
	return $node->safe_psql($database, "
		SELECT user_id, note, md5(bloom_send(seen.items)),
			CASE COALESCE(info.kind, 'integer') $answer END,
			info.items, info.bits_set, info.layers, info.bytes, info.window_width
		FROM seen, bloom_info(seen.items) AS info ORDER BY user_id");
}

# The users whose filters contain an integer, or its text.
sub containing
{
	my ($node, $database, $item) = @_;

	return $node->safe_psql($database, "
		SELECT string_agg(user_id::text, ' ' ORDER BY user_id) FROM seen
		WHERE CASE (bloom_info(items)).kind WHEN 'integer' THEN items @> $item
			WHEN 'text' THEN items @> '$item'::text END");
}

# The statement that adds to the filters of users, as an application does it.
sub add
{
	my ($items, @users) = @_;

	return join '', map {
		"INSERT INTO seen AS f (user_id, items) VALUES ($_, bloom_add(NULL, $items))
		 ON CONFLICT (user_id) DO UPDATE SET items = bloom_add(f.items, $items);\n" } @users;
}

# The same for the filters that need another statement.
sub change_others
{
	return q{
		UPDATE seen SET items = bloom_add_at(bloom_expire(items, '2026-02-08 00:00+00'), 901,
			'2026-02-01 00:00+00')
			WHERE note = 'window';
		UPDATE seen SET items = bloom_remove(bloom_add(items, 901), 2) WHERE note = 'counting';
		UPDATE seen SET items = bloom_add(items, '901'::text) WHERE note = 'text';
	};
}

1;
