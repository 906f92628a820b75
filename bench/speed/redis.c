/*
 * redis socket info
 * redis socket fill|delete|answer|batch <users
 * redis socket ask clients seconds <users
 *
 * RedisBloom as a peer: a filter for each user in a Redis behind a Unix socket.
 * A line of the input is a user and items.  "fill" makes filters of them, each
 * for as many as there are, at 1%; "delete" drops them; "answer" prints those of
 * the items that are not in the filter, as COPY reads them.
 *
 * "batch" sends the candidates of all users, with some requests on their way at any time, again
 * and again for a while, and prints the fastest pass in milliseconds and
 * how many candidates remain.  "ask" does what client.c does: one user a request, and so many
 * clients that wait for the answer; it prints what print_times() does.
 *
 * Items go as 8 bytes, which is less than their decimals, and a request is put
 * together before the clock runs, as client.c has its arrays.  What hiredis makes
 * of the flags that come back, and picking the remaining candidates by them, belongs to it.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "times.h"

#define DEPTH 16				/* requests on their way */
#define PER_ADD 1000			/* items */
#define BATCH_US 300e3

typedef struct
{
	char		user[24];
	int64_t    *items;
	int			n;
	char	   *request;		/* for all items */
	int			size;
} Call;

typedef struct
{
	pthread_t	thread;
	const char *socket;
	int			first;			/* call */
	double		start,			/* what counts */
				end;
	float	   *times;
	int			n;
} Client;

static Call *calls;
static int	users;

static redisContext *
connect_to(const char *socket)
{
	redisContext *redis = redisConnectUnix(socket);

	if (redis == NULL || redis->err)
		die(socket, redis == NULL ? "out of memory" : redis->errstr);
	return redis;
}

static redisReply *
receive(redisContext *redis, int type)
{
	redisReply *reply;

	if (redisGetReply(redis, (void **) &reply) != REDIS_OK)
		die("redis", redis->errstr);
	if (reply->type != type)
		die("redis", reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply");
	return reply;
}

static void
send_request(redisContext *redis, const char *request, int size)
{
	if (redisAppendFormattedCommand(redis, request, size) != REDIS_OK)
		die("redis", redis->errstr);
}

/* The command with the filter's key and so many items. */
static int
format(char **request, const char *command, const Call *call, int from, int n)
{
	char		key[64];
	const char **words = malloc((n + 2) * sizeof(char *));
	size_t	   *lengths = malloc((n + 2) * sizeof(size_t));
	int			size;

	words[0] = command;
	words[1] = key;
	lengths[0] = strlen(command);
	lengths[1] = snprintf(key, sizeof(key), "bloomexp-bench:%s", call->user);
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
read_calls(void)
{
	char	   *line = NULL;
	size_t		room = 0;

	while (getline(&line, &room, stdin) > 0)
	{
		Call	   *call;

		calls = realloc(calls, (users + 1) * sizeof(Call));
		call = &calls[users++];
		memset(call, 0, sizeof(Call));
		call->items = malloc(strlen(line) / 2 * sizeof(int64_t));
		snprintf(call->user, sizeof(call->user), "%s", strtok(line, " \n"));
		for (char *item; (item = strtok(NULL, " \n")) != NULL;)
			call->items[call->n++] = strtoll(item, NULL, 10);
		call->size = format(&call->request, "BF.MEXISTS", call, 0, call->n);
	}
	if (users == 0)
		die("redis", "no users");
}

static void
delete(redisContext *redis, const Call *call)
{
	redisAppendCommand(redis, "DEL bloomexp-bench:%s", call->user);
	freeReplyObject(receive(redis, REDIS_REPLY_INTEGER));
}

static void
fill(redisContext *redis, const Call *call)
{
	delete(redis, call);
	redisAppendCommand(redis, "BF.RESERVE bloomexp-bench:%s 0.01 %d NONSCALING", call->user, call->n);
	freeReplyObject(receive(redis, REDIS_REPLY_STATUS));
	for (int from = 0; from < call->n; from += PER_ADD)
	{
		int			n = call->n - from < PER_ADD ? call->n - from : PER_ADD;
		char	   *request;
		int			size = format(&request, "BF.MADD", call, from, n);
		redisReply *reply;

		send_request(redis, request, size);
		reply = receive(redis, REDIS_REPLY_ARRAY);
		for (size_t i = 0; i < reply->elements; i++)
			if (reply->element[i]->type != REDIS_REPLY_INTEGER)
				die("BF.MADD", reply->element[i]->str);
		freeReplyObject(reply);
		redisFreeCommand(request);
	}
}

/* The answer to a request: how many items are not in the filter, and which, in their order. */
static int
receive_survivors(redisContext *redis, const Call *call, int64_t *survivors)
{
	redisReply *reply = receive(redis, REDIS_REPLY_ARRAY);
	int			n = 0;

	if (reply->elements != (size_t) call->n)
		die("redis", "unexpected reply");
	for (int i = 0; i < call->n; i++)
	{
		survivors[n] = call->items[i];
		n += reply->element[i]->integer == 0;
	}
	freeReplyObject(reply);
	return n;
}

static void
answer(redisContext *redis, const Call *call)
{
	int64_t		survivors[call->n];
	int			n;

	send_request(redis, call->request, call->size);
	n = receive_survivors(redis, call, survivors);
	printf("%s\t{", call->user);
	for (int i = 0; i < n; i++)
		printf("%s%" PRId64, i == 0 ? "" : ",", survivors[i]);
	printf("}\n");
}

static void
for_each(redisContext *redis, void (*function) (redisContext *, const Call *))
{
	for (int i = 0; i < users; i++)
		function(redis, &calls[i]);
}

/* Returns how many candidates remain. */
static long
ask_all(redisContext *redis)
{
	long		sum = 0;

	for (int sent = 0, received = 0; received < users; received++)
	{
		const Call *call = &calls[received];
		int64_t		survivors[call->n];

		for (; sent < users && sent < received + DEPTH; sent++)
			send_request(redis, calls[sent].request, calls[sent].size);
		sum += receive_survivors(redis, call, survivors);
	}
	return sum;
}

static void
batch(redisContext *redis)
{
	double		start = now(),
				fastest = 0;
	long		survivors;

	do
	{
		double		before = now(),
					us;

		survivors = ask_all(redis);
		us = now() - before;
		if (fastest == 0 || us < fastest)
			fastest = us;
	} while (now() < start + BATCH_US);
	printf("%.3f %ld\n", fastest / 1e3, survivors);
}

static void *
run_client(void *arg)
{
	Client	   *client = arg;
	redisContext *redis = connect_to(client->socket);

	for (int i = client->first;; i++)
	{
		const Call *call = &calls[i % users];
		int64_t		survivors[call->n];
		double		before = now();

		if (before >= client->end)
			break;
		send_request(redis, call->request, call->size);
		receive_survivors(redis, call, survivors);
		if (before >= client->start && client->n < MAX_CALLS)
			client->times[client->n++] = now() - before;
	}
	redisFree(redis);
	return NULL;
}

static void
ask(redisContext *redis, const char *socket, int n, double seconds)
{
	long		survivors = ask_all(redis);
	Client	   *clients = calloc(n, sizeof(Client));
	float	   *times = malloc(n * MAX_CALLS * sizeof(float));
	int			timed = 0;
	double		start = now() + 1e6;

	for (int i = 0; i < n; i++)
	{
		Client	   *client = &clients[i];

		*client = (Client) {.socket = socket, .first = i * users / n, .start = start,
		.end = start + seconds * 1e6, .times = times + i * MAX_CALLS};
		if (pthread_create(&client->thread, NULL, run_client, client) != 0)
			die("redis", "no thread");
	}
	for (int i = 0; i < n; i++)
	{
		pthread_join(clients[i].thread, NULL);
		memmove(times + timed, clients[i].times, clients[i].n * sizeof(float));
		timed += clients[i].n;
	}
	print_times(times, timed, n, survivors);
}

int
main(int argc, char **argv)
{
	redisContext *redis;
	const char *what = argc < 3 ? "" : argv[2];

	if (argc != (strcmp(what, "ask") == 0 ? 5 : 3))
		die("usage", "redis socket info|fill|delete|answer|batch|ask [clients seconds]");
	redis = connect_to(argv[1]);
	if (strcmp(what, "info") == 0)
	{
		redisAppendCommand(redis, "INFO everything");
		fputs(receive(redis, REDIS_REPLY_STRING)->str, stdout);
		return 0;
	}

	read_calls();
	if (strcmp(what, "batch") == 0)
		batch(redis);
	else if (strcmp(what, "ask") == 0)
		ask(redis, argv[1], atoi(argv[3]), atof(argv[4]));
	else if (strcmp(what, "fill") == 0)
		for_each(redis, fill);
	else if (strcmp(what, "delete") == 0)
		for_each(redis, delete);
	else
		for_each(redis, answer);
	return 0;
}
