/*
 * client seconds statement
 *
 * What a service would do: send the candidates of one user after another, read
 * the survivors, in the binary protocol and with the statement prepared.
 * $1 of the statement are the candidates, as bigint[] or, if it is a bytea, as
 * consecutive 8-byte little-endian integers; $2 is the user.  The survivors come
 * back in the same form.
 *
 * One pass over all users checks the answers; then a second warms up, and the
 * seconds after that count.  Prints: transactions a second, their mean, median,
 * 99% and 99.9% in microseconds, and the survivors of the pass.  libpq's
 * environment variables say where to connect.
 */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTEA_OID 17
#define MAX_CALLS 20000000

/* bigint[] of one dimension: dimensions, nulls?, type, length, lower bound; then a length before each element */
#define ARRAY_HEADER 20
#define ARRAY_ELEMENT 12

typedef struct
{
	char	   *user;			/* big-endian int8, as it goes over the wire */
	char	   *array;			/* so does this */
	int			array_size;
	char	   *packed;
	int			packed_size;
} Call;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void *
copy(const void *bytes, int size)
{
	void	   *c = malloc(size + 1);

	if (c == NULL)
		die("client", "out of memory");
	return memcpy(c, bytes, size);
}

static PGresult *
checked(PGconn *conn, PGresult *result, ExecStatusType expected)
{
	if (PQresultStatus(result) != expected)
		die("client", PQerrorMessage(conn));
	return result;
}

/* The same integers without headers, lowest byte first. */
static int
pack(char *packed, const char *array, int size)
{
	int			n = 0;

	for (int at = ARRAY_HEADER; at < size; at += ARRAY_ELEMENT, n++)
		for (int byte = 0; byte < 8; byte++)
			packed[8 * n + byte] = array[at + ARRAY_ELEMENT - 1 - byte];
	return 8 * n;
}

/* Survivors must be candidates, in their order.  Returns how many they are. */
static int
check(const Call *call, const char *answer, int size, bool is_packed)
{
	char	   *packed = copy(answer, size);
	int			from = 0;

	if (!is_packed)
		size = pack(packed, answer, size);
	for (int at = 0; at < size; at += 8, from += 8)
	{
		while (from < call->packed_size && memcmp(call->packed + from, packed + at, 8) != 0)
			from += 8;
		if (from >= call->packed_size)
			die("client", "WRONG RESULT: the survivors are not candidates in their order");
	}
	free(packed);
	return size / 8;
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
	PGresult   *result;
	Call	   *calls;
	float	   *times = malloc(MAX_CALLS * sizeof(float));
	int			users,
				n = 0;
	long		survivors = 0;
	bool		is_packed;
	double		start,
				end;

	if (argc != 3)
		die("usage", "client seconds statement");
	if (times == NULL)
		die("client", "out of memory");
	if (PQstatus(conn) != CONNECTION_OK)
		die("client", PQerrorMessage(conn));

	result = checked(conn, PQexecParams(conn, "SELECT user_id, items FROM candidates ORDER BY random()",
										0, NULL, NULL, NULL, NULL, 1), PGRES_TUPLES_OK);
	users = PQntuples(result);
	calls = calloc(users, sizeof(Call));
	for (int i = 0; i < users; i++)
	{
		Call	   *call = &calls[i];

		call->user = PQgetvalue(result, i, 0);
		call->array = PQgetvalue(result, i, 1);
		call->array_size = PQgetlength(result, i, 1);
		call->packed = copy(call->array, call->array_size);
		call->packed_size = pack(call->packed, call->array, call->array_size);
	}

	PQclear(checked(conn, PQprepare(conn, "", argv[2], 0, NULL), PGRES_COMMAND_OK));
	result = checked(conn, PQdescribePrepared(conn, ""), PGRES_COMMAND_OK);
	is_packed = PQparamtype(result, 0) == BYTEA_OID;

	start = now() + 1e6;
	end = start + atof(argv[1]) * 1e6;
	for (int i = 0;; i++)
	{
		Call	   *call = &calls[i % users];
		const char *values[] = {is_packed ? call->packed : call->array, call->user};
		int			lengths[] = {is_packed ? call->packed_size : call->array_size, 8};
		int			binary[] = {1, 1};
		double		before = now(),
					after;

		if (i >= users && before >= end)
			break;
		result = checked(conn, PQexecPrepared(conn, "", 2, values, lengths, binary, 1), PGRES_TUPLES_OK);
		after = now();
		if (i < users)
			survivors += check(call, PQgetvalue(result, 0, 0), PQgetlength(result, 0, 0), is_packed);
		else if (before >= start && n < MAX_CALLS)
			times[n++] = after - before;
		PQclear(result);
	}

	if (n == 0)
		die("client", "no time left to measure: more seconds, please");
	{
		double		sum = 0;

		for (int i = 0; i < n; i++)
			sum += times[i];
		qsort(times, n, sizeof(float), compare);
		printf("%.1f %.2f %.2f %.2f %.2f %ld\n", n / sum * 1e6, sum / n,
			   times[n / 2], times[(int) (n * 0.99)], times[(int) (n * 0.999)], survivors);
	}
	return 0;
}
