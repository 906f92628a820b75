# examples/feed/: the feed in two windows of a real browser, and the feed generator for Bluesky by
# HTTP.

use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP;
use MIME::Base64 qw(encode_base64url);
use POSIX ();
use Server;

my $example = "$root/examples/feed";
my $folder = PostgreSQL::Test::Utils::tempdir();

my ($browser) = grep {
	!system("command -v $_ >/dev/null") } qw(chromium chromium-browser google-chrome);
my $has_node = !system(
	q{node -e 'if (parseInt(process.versions.node) < 16) process.exit(1)' 2>/dev/null});
plan(skip_all => 'Node.js, node-postgres or a browser is missing')
  unless $has_node && $browser && -d "$root/test/integrations/drivers/node_modules/pg";
-e "$example/node_modules" or symlink "$root/test/integrations/drivers/node_modules",
  "$example/node_modules"
  or die "node_modules: $!";

my $node = start_server('example');
@ENV{qw(PGHOST PGPORT PGDATABASE PGUSER)} = ($node->host, $node->port, 'postgres',
	$node->safe_psql('postgres', 'SELECT current_user'));
is(system('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$example/schema.sql"), 0, 'the tables');

# Start a server on a port that is free, and tell its address.
sub serve
{
	my ($program, @arguments) = @_;
	my %server = (out => '', err => "$folder/$program.err");

	$server{run} = IPC::Run::start([ 'node', "$example/$program", '0', @arguments ],
		'<', \undef, '>', \$server{out}, '2>', $server{err}, IPC::Run::timeout($patience));
	$server{run}->pump until $server{out} =~ m{(http://\S+)};
	$server{url} = $1;
	return \%server;
}

sub http { return HTTP::Tiny->new(timeout => $patience) }
my $feed = serve('server.js');
my $bluesky = serve('bluesky.js', 'feed.example.com', 'did:plc:publisher');

# A port that is in use, and arguments that are not ports
for my $port ($feed->{url} =~ /:(\d+)/, 'http', 70000)
{
	for my $program ('server.js', 'bluesky.js')
	{
		my $ended = IPC::Run::run([ 'node', "$example/$program", $port ], '<', \undef,
			'>&', \my $told, IPC::Run::timeout($patience));

		is_deeply([ $ended ? 0 : $? >> 8, $told =~ /(node \S+ 9000)\n\z/ ],
			[ 1, "node $program 9000" ], "$program at port $port fails, and tells what to do");
	}
}

# In a browser

my $said;
IPC::Run::run([ 'node', "$root/test/integrations/example.mjs", $browser, $feed->{url} ],
	'<', \undef, '>', \$said, IPC::Run::timeout(5 * $patience));
for ($said =~ /^((?:not )?ok \d+ - .*)$/mg)
{
	ok(!/^not/, s/^(?:not )?ok \d+ - //r);
}
like($said, qr/^1\.\.\d+$/m, 'the browser has come to its end') or diag $said;
is(http()->get("$feed->{url}nothing")->{status}, 404, 'another path is not found');
for my $content ('', '{', 'null', '[]', '"a"', '{"user": null}', '{"user": 1}', '{"user": ""}',
	'{"user": "a\u0000"}', '{"user": "a", "uri": 1}',
	'{"user": "a", "uri": null}', '{"user": "a", "uri": ""}')
{
	is(http()->post("$feed->{url}$_->[0]", { content => $_->[1] })->{status}, 400,
	  "refused: /$_->[0] $_->[1]")
	  for map { [ $_, $content ] } qw(page unread filter night);
}

# Eight requests of one user at a time: each gets a full page, and nobody what another has got.
my @readers;
for my $reader (1 .. 8)
{
	my $pid = fork // die "fork: $!";

	push(@readers, $pid), next if $pid;
	for (1 .. 10)
	{
		my $answer = http()->post("$feed->{url}page", { content => '{"user": "eight"}' });
		append_to_file("$folder/pages",
			join(' ', map { $_->{uri} =~ /(\d+)$/ } @{ decode_json($answer->{content})->{posts} })
				. "\n");
	}
	POSIX::_exit(0);
}
waitpid $_, 0 for @readers;
my @pages = map { [split] } split /\n/, slurp_file("$folder/pages"), -1;
pop @pages;
is_deeply([ map { scalar @$_ } @pages ], [ (10) x 80 ], 'full pages');
my %taken = map { ($_ => 1) } map { @$_ } @pages;
is(scalar keys %taken, 800, 'none twice');

# For Bluesky

my $name = 'at://did:plc:publisher/app.bsky.feed.generator/unseen';
my %claims = map { ($_ => { iss => "did:plc:$_" }) } qw(ann bob);
my @bad = ('null', '[]', '"a"', '{', '{}', '{"iss": null}', '{"iss": 1}', '{"iss": "ann"}',
	'{"iss": "did:plc:a\\u0000"}',
	{ exp => time - 1 }, { exp => undef }, { exp => 'never' }, { aud => 'did:web:other.example' },
	{ aud => undef }, { lxm => 'app.bsky.feed.describeFeedGenerator' }, { lxm => undef });
@claims{@bad} = @bad;

# The token that Bluesky would sign for a user and a method.
sub token
{
	my ($user, $path) = @_;
	my $claims = $claims{$user} // return 'Bearer';
	my %valid = (iss => 'did:plc:ann', aud => 'did:web:feed.example.com', exp => time + 3600,
		lxm => $path =~ s{^xrpc/|\?.*}{}gr);

	return 'Bearer e30.' . encode_base64url(ref $claims ? encode_json({ %valid, %$claims })
		: $claims) . '.signature';
}

# The status and the body of an answer.
sub ask
{
	my ($user, $method, $path, $body) = @_;
	my $answer = http()->request($method, "$bluesky->{url}$path",
		{ headers => { $user ? (Authorization => token($user, $path)) : () }, defined $body
			? (content => ref $body ? encode_json($body) : $body) : () });

	return ($answer->{status}, decode_json($answer->{content}));
}

# The posts of a page by their numbers, and the cursor.
sub page_of
{
	my ($user, $cursor) = @_;
	my ($status, $page) = ask($user, 'GET', "xrpc/app.bsky.feed.getFeedSkeleton?feed=$name&limit=3"
		. ($cursor ? "&cursor=$cursor" : ''));

	is($status, 200, 'a page');
	return ([ map { $_->{post} =~ /(\d+)$/ } @{ $page->{feed} } ], $page->{cursor});
}

my (undef, $did) = ask(undef, 'GET', '.well-known/did.json');
is($did->{service}[0]{type}, 'BskyFeedGenerator', 'the DID document names the service');
my (undef, $described) = ask(undef, 'GET', 'xrpc/app.bsky.feed.describeFeedGenerator');
is_deeply($described, { did => 'did:web:feed.example.com', feeds => [ { uri => $name } ] },
	'the feed is described, of its publisher');

my ($page, $cursor) = page_of('ann');
is_deeply($page, [ 20000, 19999, 19998 ], 'the newest posts');
is_deeply([ page_of('ann') ], [ $page, $cursor ], 'what is not reported is not forgotten');
($page) = page_of('ann', $cursor);
is_deeply($page, [ 19997, 19996, 19995 ], 'the page behind a cursor');
$node->safe_psql('postgres', "DELETE FROM posts WHERE uri LIKE '%/19998'");
is_deeply([ page_of('ann', $cursor) ]->[0], $page, 'also if the post of the cursor was deleted');

my @interactions = map { { item => "at://did:example:author/app.bsky.feed.post/$_->[0]",
	event => "app.bsky.feed.defs#$_->[1]" } }
  [ 20000, 'interactionSeen' ], [ 19998, 'interactionSeen' ], [ 19999, 'clickthroughItem' ];
is_deeply([ ask('ann', 'POST', 'xrpc/app.bsky.feed.sendInteractions',
	{ interactions => \@interactions }) ],
	[ 200, {} ], 'interactions are taken');
($page) = page_of('ann');
is_deeply($page, [ 19999, 19997, 19996 ], 'and what was seen is gone');
($page) = page_of('bob');
is_deeply($page, [ 20000, 19999, 19997 ], 'for nobody else');
is($node->safe_psql('postgres', "SELECT string_agg(user_id, ' '),
	count(*) FILTER (WHERE user_id IN (SELECT user_id FROM exposures)) FROM reported.filters"),
	'did:plc:ann|0', 'and a filter is all that is kept');

for ([ 401, 'AuthenticationRequired', undef, 'GET',
	"xrpc/app.bsky.feed.getFeedSkeleton?feed=$name" ],
	[ 400, 'UnknownFeed', 'ann', 'GET', 'xrpc/app.bsky.feed.getFeedSkeleton?feed=at://other' ],
	[ 400, 'InvalidRequest', 'ann', 'GET', 'xrpc/app.bsky.feed.getFeedSkeleton' ],
	[ 400, 'InvalidRequest', 'ann', 'GET', 'xrpc/app.bsky.feed.getFeedSkeleton?feed=other' ],
	(map { [ 400, 'InvalidRequest', 'ann', 'GET',
		"xrpc/app.bsky.feed.getFeedSkeleton?feed=$name&cursor=$_" ] }
		"'", '', '1', '1::', '::at://did:plc:a/app.bsky.feed.post/1',
			'12345678901234567::at://did:plc:a/app.bsky.feed.post/1'),
	(map { [ 400, 'InvalidRequest', 'ann', 'GET',
		"xrpc/app.bsky.feed.getFeedSkeleton?feed=$name&limit=$_" ] } -1, 0,
		101, 1.5, '1e1', 'a', ''),
	(map { [ 401, 'AuthenticationRequired', $_, 'GET',
		"xrpc/app.bsky.feed.getFeedSkeleton?feed=$name" ] } @bad,
		'no token'),
	(map { [ 401, 'AuthenticationRequired', $_, 'POST', 'xrpc/app.bsky.feed.sendInteractions',
		{ interactions => [] } ] } @bad, 'no token'),
	(map { [ 400, 'InvalidRequest', 'ann', 'POST', 'xrpc/app.bsky.feed.sendInteractions',
		$_ ] } 'null', '[]', '1', '{"interactions": null}',
		map { qq({"interactions": [$_]}) } 'null', '1', '{"item": 1}', '{"event": null}'),
	[ 400, 'InvalidRequest', 'ann', 'POST', 'xrpc/app.bsky.feed.sendInteractions', '{' ],
	[ 400, 'InvalidRequest', 'ann', 'POST', 'xrpc/app.bsky.feed.sendInteractions', {} ],
	[ 413, 'PayloadTooLarge', 'ann', 'POST', 'xrpc/app.bsky.feed.sendInteractions', 'x' x 100_001 ],
	[ 404, 'MethodNotImplemented', 'ann', 'GET', 'xrpc/app.bsky.feed.getAuthorFeed' ])
{
	my ($status, $error, @request) = @$_;
	my ($got, $body) = ask(@request);

	is("$got $body->{error}", "$status $error", "refused: $error");
}

# What a server answers to these lines and this body.
sub raw
{
	my ($server, $body, @lines) = @_;
	my ($port) = $server->{url} =~ /:(\d+)/;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port)
	  or die "port $port: $!";

	@lines = ("$lines[0] HTTP/1.1", 'Host: 127.0.0.1:' . $port, 'Connection: close',
		'Content-Length: 40', @lines[ 1 .. $#lines ]);
	splice @lines, 1, 1 if grep { /^Host:/ } @lines[ 4 .. $#lines ];
	print $socket join("\r\n", @lines, '', $body);
	return if length $body < 40;	# and go away
	local $/;
	return <$socket> // '';
}

for my $server ($feed, $bluesky)
{
	my $path = $server == $feed ? 'page' : 'xrpc/app.bsky.feed.sendInteractions';
	my $body = sprintf '%-40s', '{"user": "evil", "interactions": []}';
	my @post = ("POST /$path", 'Authorization: ' . token('ann', $path));
	my ($host) = $server->{url} =~ m{//(.*)/};

	# Pages of other sites cannot use it in a browser: not by its name, and not by one of theirs
	# that leads here.
	like(raw($server, $body, @post), qr{^HTTP/1.1 200 }, 'a request');
	like(raw($server, $body, @post, "Origin: http://$host"), qr{^HTTP/1.1 200 },
		'a request of its own page');
	like(raw($server, $body, @post, $_), qr{^HTTP/1.1 403 }, "refused: $_")
	  for 'Origin: http://evil.example',
		'Origin: null', "Origin: http://$host.evil.example";
	like(raw($server, $body, @post, $_), qr{^HTTP/1.1 421 }, "refused: $_")
	  for 'Host: evil.example',
		'Host: 127.0.0.1.evil.example', 'Host:';
	like(raw($bluesky, $body, 'GET /.well-known/did.json', 'Host: feed.example.com'),
		qr{^HTTP/1.1 200 }, 'a request from a proxy');

	# A client that goes away in the middle is not an error of the server.
	raw($server, '{', @post) for 1 .. 5;

	for my $line ('GET //', 'GET ///?//',
		'GET http://[', 'GET /%', "GET /\xff", 'GET /nothing?%', 'POST //',
		'OPTIONS *', 'GET constructor', 'CONNECT a:1', '')
	{
		my $answer = raw($server, $body, $line);

		unlike($answer, qr{^HTTP/1.1 [25]}, "$line is refused") or diag $answer;
	}
	is(http()->get("$server->{url}nothing")->{status}, 404, 'the server goes on');
}
is(http()->head($feed->{url})->{status}, 200, 'HEAD');

for my $server ($feed, $bluesky)
{
	$server->{run}->kill_kill;
	is(slurp_file($server->{err}), '', 'no server has complained');
}
done_testing();
