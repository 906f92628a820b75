/*
 * client seconds statement
 *
 * What a service would do: send the candidates of one user after another, read
 * the remaining ones, in the binary protocol and with the statement prepared.
 * $1 of the statement are the candidates: as bigint[]; as consecutive 8-byte
 * little-endian integers, if it is a bytea; or as integer[], for methods that
 * know no more and may answer in any order.  $2 is the user.  The remaining candidates
 * come back in the same form.
 *
 * One pass over all users checks the answers; then a second warms up, and the
 * seconds after that count.  Prints what print_times() does.  libpq's environment
 * variables say where to connect.
 */
#include <libpq-fe.h>
#include <stdbool.h>
#include <string.h>

#include "times.h"

#define BYTEA_OID 17
#define INT4_ARRAY_OID 1007

/* bigint[] of one dimension: dimensions, nulls?, type, length, lower bound; then a length before each element */
#define ARRAY_HEADER 20
#define LENGTH_WORD 4

typedef struct
{
	char	   *user;			/* big-endian int8, as it goes over the wire */
	char	   *array;			/* so does this */
	int			array_size;
	char	   *packed;			/* for "check", and as a bytea */
	int			packed_size;
} Call;

/* The forms of $1 and of the remaining candidates. */
static bool is_packed;
static bool in_order;
static int	width;				/* of an integer */

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

	for (int at = ARRAY_HEADER; at < size; at += LENGTH_WORD + width, n++)
		for (int byte = 0; byte < width; byte++)
			packed[width * n + byte] = array[at + LENGTH_WORD + width - 1 - byte];
	return width * n;
}

static int
compare_packed(const void *a, const void *b)
{
	return memcmp(a, b, width);
}

/* Survivors must be candidates, in their order.  Returns how many they are. */
static int
check(const Call *call, const char *answer, int size)
{
	char	   *candidates = copy(call->packed, call->packed_size);
	char	   *survivors = copy(answer, size);
	int			from = 0;

	if (!is_packed)
		size = pack(survivors, answer, size);
	if (!in_order)
	{
		qsort(candidates, call->packed_size / width, width, compare_packed);
		qsort(survivors, size / width, width, compare_packed);
	}
	for (int at = 0; at < size; at += width, from += width)
	{
		while (from < call->packed_size && memcmp(candidates + from, survivors + at, width) != 0)
			from += width;
		if (from >= call->packed_size)
			die("client", "WRONG RESULT: the survivors are not candidates in their order");
	}
	free(candidates);
	free(survivors);
	return size / width;
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
	double		start,
				end;

	if (argc != 3)
		die("usage", "client seconds statement");
	if (times == NULL)
		die("client", "out of memory");
	if (PQstatus(conn) != CONNECTION_OK)
		die("client", PQerrorMessage(conn));

	PQclear(checked(conn, PQprepare(conn, "ask", argv[2], 0, NULL), PGRES_COMMAND_OK));
	result = checked(conn, PQdescribePrepared(conn, "ask"), PGRES_COMMAND_OK);
	is_packed = PQparamtype(result, 0) == BYTEA_OID;
	in_order = PQparamtype(result, 0) != INT4_ARRAY_OID;
	width = in_order ? 8 : 4;
	PQclear(result);

	result = checked(conn, PQexecParams(conn, in_order ?
										"SELECT user_id, items FROM candidates ORDER BY random()" :
										"SELECT user_id, items4 FROM candidates ORDER BY random()",
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
		result = checked(conn, PQexecPrepared(conn, "ask", 2, values, lengths, binary, 1), PGRES_TUPLES_OK);
		after = now();
		if (i < users)
			survivors += check(call, PQgetvalue(result, 0, 0), PQgetlength(result, 0, 0));
		else if (before >= start && n < MAX_CALLS)
			times[n++] = after - before;
		PQclear(result);
	}

	print_times(times, n, 1, survivors);
	return 0;
}
