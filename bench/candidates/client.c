/*
 * client clients seconds form statement [socket]
 *
 * Does what a service would do, with the given number of concurrent clients: one request per user
 * after another, with or without the candidates.  The form says what is sent and what comes back:
 *
 *	count	$1 of the statement is the user; the number of remaining candidates comes back
 *	array	$1 are the candidates as bigint[], $2 is the user; the remaining ones come back
 *	packed	the same as consecutive 8-byte little-endian integers, a bytea
 *
 * With the socket of a Redis server, "count" runs the script whose SHA is the statement, and other
 * forms send BF.MEXISTS with the candidates, 8 bytes each.  The time includes what hiredis does
 * with the reply, and picking the remaining candidates by its flags.  The form "fill" makes the
 * filters and stores the candidates there.  libpq's environment variables lead to the tables of
 * run.
 *
 * A first pass over all users prints the answers, as COPY reads them: user, number and remaining
 * candidates.  The measurement begins after a second of warm-up.  A last line on standard error has
 * the requests per second, and the median and 99th percentile of their times in microseconds.  The
 * time does not include the preparation of requests.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * bigint[] of one dimension: dimensions, nulls?, type, length, lower bound; then a length before
 * each element
 */
#define ARRAY_HEADER 20
#define ELEMENT 12
#define MAX_TIMES 2000000
#define PER_ADD 1000

typedef struct
{
	int64_t		user;
	char		user_sent[8];		/* big-endian */
	int64_t    *items;
	int			n;
	char	   *array;
	int			array_size;
	char	   *request;			/* for Redis */
	int			request_size;
} Call;

typedef struct
{
	pthread_t	thread;
	int			number;
	float	   *times;
	int			n;
} Client;

static int	clients;
static double seconds;
static const char *form,
		   *statement,
		   *redis_socket;
static Call *calls;
static int	users;
static double start;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* In microseconds. */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static bool
is_form(const char *name)
{
	return strcmp(form, name) == 0;
}

static int64_t
int_received(const char *bytes)
{
	uint64_t	value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (unsigned char) bytes[i];
	return value;
}

static PGresult *
checked(PGconn *conn, PGresult *result, ExecStatusType expected)
{
	if (PQresultStatus(result) != expected)
		die("PostgreSQL", PQerrorMessage(conn));
	return result;
}

static int
items_received(const char *array, int size, int64_t *items)
{
	int			n = 0;

	for (int at = ARRAY_HEADER; at < size; at += ELEMENT)
		items[n++] = int_received(array + at + 4);
	return n;
}

static int
format(char **request, const char *command, const char *key, const Call *call, int from, int n)
{
	const char **words = malloc((n + 2) * sizeof(char *));
	size_t	   *lengths = malloc((n + 2) * sizeof(size_t));
	int			size;

	words[0] = command;
	lengths[0] = strlen(command);
	words[1] = key;
	lengths[1] = strlen(key);
	for (int i = 0; i < n; i++)
	{
		words[i + 2] = (const char *) &call->items[from + i];
		lengths[i + 2] = sizeof(int64_t);
	}
	size = redisFormatCommandArgv(request, n + 2, words, lengths);
	free(words);
	free(lengths);
	return size;
}

static void
read_calls(PGconn *conn, const char *query)
{
	PGresult   *result = checked(conn, PQexecParams(conn, query, 0, NULL, NULL, NULL, NULL, 1),
		PGRES_TUPLES_OK);

	users = PQntuples(result);
	calls = calloc(users, sizeof(Call));
	for (int i = 0; i < users; i++)
	{
		Call	   *call = &calls[i];
		char		key[64];

		memcpy(call->user_sent, PQgetvalue(result, i, 0), 8);
		call->user = int_received(call->user_sent);
		call->array = PQgetvalue(result, i, 1);
		call->array_size = PQgetlength(result, i, 1);
		call->items = malloc(call->array_size);
		call->n = items_received(call->array, call->array_size, call->items);
		snprintf(key, sizeof(key), "filter:%" PRId64, call->user);
		if (is_form("count"))
			call->request_size = redisFormatCommand(&call->request, "EVALSHA %s 0 %lld", statement,
				(long long) call->user);
		else
			call->request_size = format(&call->request, "BF.MEXISTS", key, call, 0, call->n);
	}
}

static redisReply *
redis_reply(redisContext *redis, const char *request, int size)
{
	redisReply *reply;

	if (redisAppendFormattedCommand(redis, request, size) != REDIS_OK
		|| redisGetReply(redis, (void **) &reply) != REDIS_OK)
		die("redis", redis->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		die("redis", reply->str);
	return reply;
}

/* Store the filters of what users were shown, or the candidates if there is no statement. */
static void
fill(redisContext *redis)
{
	for (int i = 0; i < users; i++)
	{
		const Call *call = &calls[i];
		char		key[64];
		char	   *request;

		if (*statement == '\0')
		{
			freeReplyObject(redisCommand(redis, "SET candidates:%lld %b", (long long) call->user,
				call->items, (size_t) call->n * 8));
			continue;
		}
		freeReplyObject(redisCommand(redis, "BF.RESERVE filter:%lld 0.01 %d NONSCALING",
			(long long) call->user, call->n));
		snprintf(key, sizeof(key), "filter:%" PRId64, call->user);
		for (int from = 0; from < call->n; from += PER_ADD)
		{
			int			count = call->n - from < PER_ADD ? call->n - from : PER_ADD;
			int			size = format(&request, "BF.MADD", key, call, from, count);

			freeReplyObject(redis_reply(redis, request, size));
			redisFreeCommand(request);
		}
	}
}

/* One request.  Returns how many candidates remain, and with items which. */
static int
ask_redis(redisContext *redis, const Call *call, int64_t *items)
{
	redisReply *reply = redis_reply(redis, call->request, call->request_size);
	int			n = 0;

	if (reply->type == REDIS_REPLY_INTEGER)
		n = reply->integer;
	else
		for (int i = 0; i < call->n; i++)
		{
			items[n] = call->items[i];
			n += reply->element[i]->integer == 0;
		}
	freeReplyObject(reply);
	return n;
}

static int
ask_server(PGconn *conn, const Call *call, int64_t *items)
{
	bool		is_count = is_form("count"),
				is_packed = is_form("packed");
	const char *candidates = is_packed ? (const char *) call->items : call->array;
	const char *values[] = {is_count ? call->user_sent : candidates, call->user_sent};
	int			lengths[] = {is_count ? 8 : is_packed ? call->n * 8 : call->array_size, 8},
				binary[] = {1, 1},
				n;
	PGresult   *result = checked(conn,
		PQexecPrepared(conn, "ask", is_count ? 1 : 2, values, lengths, binary, 1), PGRES_TUPLES_OK);

	if (is_count)
		n = int_received(PQgetvalue(result, 0, 0));
	else if (is_packed)
		memcpy(items, PQgetvalue(result, 0, 0), (n = PQgetlength(result, 0, 0) / 8) * 8);
	else
		n = items_received(PQgetvalue(result, 0, 0), PQgetlength(result, 0, 0), items);
	PQclear(result);
	return n;
}

static void *
run(void *arg)
{
	Client	   *client = arg;
	PGconn	   *conn = PQconnectdb("");
	redisContext *redis = redis_socket ? redisConnectUnix(redis_socket) : NULL;
	int64_t    *items = malloc(1000000 * sizeof(int64_t));

	client->times = malloc(MAX_TIMES * sizeof(float));
	if (PQstatus(conn) != CONNECTION_OK)
		die("PostgreSQL", PQerrorMessage(conn));
	if (redis == NULL)
		PQclear(checked(conn, PQprepare(conn, "ask", statement, 0, NULL), PGRES_COMMAND_OK));
	for (int i = client->number * users / clients, asked = 0;; i++, asked++)
	{
		const Call *call = &calls[i % users];
		double		before = now(),
					after;
		int			n = redis ? ask_redis(redis, call, items) : ask_server(conn, call, items);

		after = now();
		if (client->number == 0 && asked < users)
		{
			printf("%" PRId64 "\t%d\t{", call->user, n);
			for (int k = 0; k < n && !is_form("count"); k++)
				printf("%s%" PRId64, k == 0 ? "" : ",", items[k]);
			printf("}\n");
			start = now() + 1e6;
		}
		if (asked >= users && before >= start && client->n < MAX_TIMES)
			client->times[client->n++] = after - before;
		if (asked >= users && after >= start + seconds * 1e6)
			return NULL;
	}
}

static int
compare(const void *a, const void *b)
{
	float		x = *(const float *) a,
				y = *(const float *) b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	PGconn	   *conn = PQconnectdb("");
	Client		client[16] = {0};
	float	   *times = malloc(16 * MAX_TIMES * sizeof(float));
	int			n = 0;
	double		sum = 0;

	if (argc < 5)
		die("usage", "client clients seconds form statement [socket]");
	clients = atoi(argv[1]);
	seconds = atof(argv[2]);
	form = argv[3];
	statement = argv[4];
	redis_socket = argc > 5 ? argv[5] : NULL;
	if (PQstatus(conn) != CONNECTION_OK)
		die("PostgreSQL", PQerrorMessage(conn));
	read_calls(conn, is_form("fill") && *statement ? "SELECT user_id, items FROM seen_array"
		: "SELECT user_id, items FROM candidates ORDER BY random()");
	if (is_form("fill"))
	{
		fill(redisConnectUnix(redis_socket));
		return 0;
	}

	start = now() + 1e9;
	for (int i = 0; i < clients; i++)
	{
		client[i].number = i;
		pthread_create(&client[i].thread, NULL, run, &client[i]);
	}
	for (int i = 0; i < clients; i++)
	{
		pthread_join(client[i].thread, NULL);
		for (int k = 0; k < client[i].n; k++)
			sum += times[n++] = client[i].times[k];
	}
	qsort(times, n, sizeof(float), compare);
	fprintf(stderr, "%.1f|%.2f|%.2f\n", n * clients / sum * 1e6, times[n / 2],
		times[(int) (n * 0.99)]);
	return 0;
}
