/*-------------------------------------------------------------------------
 *
 * io.c
 *	  Input, output, casts and equality of values.
 *
 * Values come in as text, binary or bytea, and all pass one validator.  Binary output, order and
 * hash are those of bytea.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "kernel/interrupt.h"
#include "sql/arguments.h"
#include "sql/lookup.h"
#include "value/layout.h"

/* Return the value of a hexadecimal digit, or -1. */
static inline int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* text input: two hexadecimal digits per byte, after an optional \x */
PG_FUNCTION_INFO_V1(bloomexp_in);
Datum
bloomexp_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Node	   *escontext = fcinfo->context;
	Size		size;
	struct varlena *value;
	char	   *bytes;

	if (text[0] == '\\' && text[1] == 'x')
		text += 2;
	size = strlen(text) / 2;
	value = palloc(VARHDRSZ + size);
	SET_VARSIZE(value, VARHDRSZ + size);
	bytes = VARDATA(value);
	for (Size i = 0; i < size; i++)
	{
		int			high = hex_digit(text[2 * i]);
		int			low = hex_digit(text[2 * i + 1]);

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (high < 0 || low < 0)
			ereturn(escontext, (Datum) 0,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s", "bloom"),
					 errdetail("There is no hexadecimal digit at byte %zu.", i + 1),
					 errhint("The text form of a filter is \"\\x\" and hexadecimal digits; "
							 "make one with bloom_new().")));
		bytes[i] = (char) (high << 4 | low);
	}
	if (text[2 * size] != '\0')
		ereturn(escontext, (Datum) 0,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s", "bloom"),
				 errdetail("The number of hexadecimal digits is odd.")));

	if (!bloomexp_layout_check((uint8 *) VARDATA(value), size, escontext))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(value);
}

/* text output: \x and two hexadecimal digits per byte, as for bytea */
PG_FUNCTION_INFO_V1(bloomexp_out);
Datum
bloomexp_out(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_BLOOM_PP(0);
	Size		size = VARSIZE_ANY_EXHDR(value);
	char	   *text = palloc(2 * size + 3);

	strcpy(text, "\\x");
	for (Size i = 0; i < size; i += BLOOMEXP_INTERRUPT_EVERY)
	{
		Size		piece = Min(size - i, BLOOMEXP_INTERRUPT_EVERY);

		CHECK_FOR_INTERRUPTS();
		hex_encode(VARDATA_ANY(value) + i, piece, text + 2 + 2 * i);
	}
	text[2 * size + 2] = '\0';
	PG_RETURN_CSTRING(text);
}

/* Return a value made of bytes from outside, or raise an error if they are not valid. */
static struct varlena *
value_from_bytes(const char *bytes, Size size)
{
	struct varlena *value;

	bloomexp_layout_check((const uint8 *) bytes, size, NULL);
	value = palloc(VARHDRSZ + size);
	SET_VARSIZE(value, VARHDRSZ + size);
	memcpy(VARDATA(value), bytes, size);
	return value;
}

/* binary input: the bytes as they are */
PG_FUNCTION_INFO_V1(bloomexp_recv);
Datum
bloomexp_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			size = message->len - message->cursor;

	PG_RETURN_POINTER(value_from_bytes(pq_getmsgbytes(message, size), size));
}

/* bloom(bytea) */
PG_FUNCTION_INFO_V1(bloomexp_from_bytea);
Datum
bloomexp_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_POINTER(value_from_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)));
}

/* a = b: whether the bytes are the same */
PG_FUNCTION_INFO_V1(bloomexp_eq);
Datum
bloomexp_eq(PG_FUNCTION_ARGS)
{
	struct varlena *a = PG_GETARG_BLOOM_STORED(0);
	struct varlena *b = PG_GETARG_BLOOM_STORED(1);
	bool		same = a == b;

	/* an add that changed nothing returns its argument, often with the same TOAST pointer */
	if (VARATT_IS_EXTERNAL_ONDISK(a) && VARATT_IS_EXTERNAL_ONDISK(b))
		same = memcmp(a, b, VARSIZE_EXTERNAL(a)) == 0;
	if (same)
		PG_RETURN_BOOL(true);
	if (toast_raw_datum_size(PG_GETARG_DATUM(0)) != toast_raw_datum_size(PG_GETARG_DATUM(1)))
		PG_RETURN_BOOL(false);
	a = PG_GETARG_BLOOM_PP(0);
	b = PG_GETARG_BLOOM_PP(1);
	same = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;

	/* many comparisons can share a memory context */
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	PG_RETURN_BOOL(same);
}

/* a <> b */
PG_FUNCTION_INFO_V1(bloomexp_ne);
Datum
bloomexp_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!DatumGetBool(bloomexp_eq(fcinfo)));
}
