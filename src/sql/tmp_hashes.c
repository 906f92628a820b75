/* temporary stand-in of the hash forms */
#include "postgres.h"
#include <limits.h>
#include "miscadmin.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/timestamp.h"
#include "utils/builtins.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_hashes);
Datum bloomexp_hashes(PG_FUNCTION_ARGS)
{
	BloomKind kind; int n; uint64 *h; Datum *d;
	if (PG_ARGISNULL(0)) PG_RETURN_NULL();
	h = bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 0), PG_GET_COLLATION(), &kind, &n);
	d = palloc(sizeof(Datum) * Max(n, 1));
	for (int i = 0; i < n; i++) d[i] = Int64GetDatum((int64) h[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(d, n, INT8OID, 8, true, TYPALIGN_DOUBLE));
}
static uint64 *get_hashes(FunctionCallInfo fcinfo, int arg, int *n)
{
	ArrayType *a;
	if (PG_ARGISNULL(arg)) { *n = 0; return NULL; }
	a = PG_GETARG_ARRAYTYPE_P(arg);
	*n = ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a));
	return (uint64 *) ARR_DATA_PTR(a);
}
static Datum exclude(FunctionCallInfo fcinfo, bool distinct, int wanted, int harg)
{
	ArrayType *array = bloomexp_arguments_array(fcinfo, 0), *result;
	BloomItems c; BloomLookups l; bool omit[BLOOMEXP_BATCH]; int nh; uint64 *hs = get_hashes(fcinfo, harg, &nh);
	Datum f = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1); char *out; int remaining = 0;
	uint64 *seen; 
	bloomexp_item_begin(&c, array, PG_GET_COLLATION());
	bloomexp_lookup_open(&l, &f, 1, &c);
	seen = palloc(sizeof(uint64) * Max(c.nitems, 1));
	result = palloc(MAXALIGN(VARSIZE(array)) + ARR_OVERHEAD_NONULLS(1));
	result->ndim = 1; result->dataoffset = 0; result->elemtype = ARR_ELEMTYPE(array);
	out = ARR_DATA_PTR(result);
	while (bloomexp_item_next(&c, BLOOMEXP_BATCH))
	{
		int had = remaining;
		bloomexp_lookup_mark(&l, &c, omit);
		for (int i = 0; i < c.n; i++)
		{
			for (int j = 0; j < nh && !omit[i]; j++) omit[i] = hs[j] == c.hashes[i];
			if (distinct) for (int j = 0; j < remaining && !omit[i]; j++) omit[i] = seen[j] == c.hashes[i];
			if (remaining >= wanted) omit[i] = true;
			if (!omit[i]) seen[remaining++] = c.hashes[i];
		}
		(void) had;
		bloomexp_item_copy(&out, &c, omit);
	}
	if (remaining == 0) PG_RETURN_ARRAYTYPE_P(construct_empty_array(result->elemtype));
	SET_VARSIZE(result, out - (char *) result);
	ARR_DIMS(result)[0] = remaining; ARR_LBOUND(result)[0] = 1;
	PG_RETURN_ARRAYTYPE_P(result);
}
PG_FUNCTION_INFO_V1(bloomexp_exclude_array_hashes);
Datum bloomexp_exclude_array_hashes(PG_FUNCTION_ARGS) { if (PG_ARGISNULL(0)) PG_RETURN_NULL(); return exclude(fcinfo, false, INT_MAX, 2); }
PG_FUNCTION_INFO_V1(bloomexp_exclude_first_hashes);
Datum bloomexp_exclude_first_hashes(PG_FUNCTION_ARGS)
{
	int w = PG_ARGISNULL(2) ? INT_MAX : PG_GETARG_INT32(2);
	if (w < 0) ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("wanted must not be negative")));
	if (PG_ARGISNULL(0)) PG_RETURN_NULL(); return exclude(fcinfo, true, w, 3);
}
static BloomKind kind_of(text *t)
{
	for (int k = 1; k <= BLOOM_KIND_LAST; k++) if (strcmp(bloomexp_kind_name(k), text_to_cstring(t)) == 0) return k;
	elog(ERROR, "kind");
}
PG_FUNCTION_INFO_V1(bloomexp_add_hashes);
Datum bloomexp_add_hashes(PG_FUNCTION_ARGS)
{
	BloomFilter filter; int n; uint64 *h = get_hashes(fcinfo, 2, &n), *copy = palloc(8 * Max(n, 1));
	if (n) memcpy(copy, h, 8 * n);
	if (!PG_ARGISNULL(0)) bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_filter_add(PG_ARGISNULL(0) ? NULL : &filter, kind_of(PG_GETARG_TEXT_PP(1)), copy, n));
}
PG_FUNCTION_INFO_V1(bloomexp_add_hashes_at);
Datum bloomexp_add_hashes_at(PG_FUNCTION_ARGS)
{
	BloomFilter filter; int n; uint64 *h = get_hashes(fcinfo, 2, &n); BloomExposure *e = palloc(sizeof(*e) * Max(n, 1)); int64 slice, t;
	bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	if (n == 0) PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	t = PG_GETARG_TIMESTAMPTZ(3);
	slice = bloomexp_window_slice_of(t, bloomexp_window_slice_length(filter.width, filter.slices));
	if (t < filter.expired_before) n = 0;
	for (int i = 0; i < n; i++) { e[i].hash = h[i]; e[i].slice = slice; }
	n = bloomexp_window_keep_newest(e, n);
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_window_add(&filter, kind_of(PG_GETARG_TEXT_PP(1)), e, n, PG_GETARG_BOOL(4)));
}
PG_FUNCTION_INFO_V1(bloomexp_slice_start);
Datum bloomexp_slice_start(PG_FUNCTION_ARGS)
{
	int64 l;
	if (PG_ARGISNULL(0)) PG_RETURN_NULL();
	l = bloomexp_window_slice_length(bloomexp_arguments_width(PG_GETARG_INTERVAL_P(1)), PG_GETARG_INT32(2));
	PG_RETURN_TIMESTAMPTZ(bloomexp_window_slice_of(PG_GETARG_TIMESTAMPTZ(0), l) * l);
}
