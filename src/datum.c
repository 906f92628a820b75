/*-------------------------------------------------------------------------
 *
 * datum.c
 *	  Arguments of SQL functions: the filter and the item.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"

#include "datum.h"

/* The filter that a call site looked into last, detoasted. */
typedef struct CachedFilter
{
	struct varatt_external pointer; /* names the stored value */
	struct varlena *value;
} CachedFilter;

/*
 * bloomexp_getarg_cached
 *		A filter, detoasted and perhaps with a short header.  Not to be freed.
 *
 * For functions that are called once an item: a query that looks for many
 * items in one stored filter hands us the same TOAST pointer each time, and to
 * read the filter each time would cost far more than the look.  A TOAST pointer
 * names one value for as long as the statement can see it, so the last filter
 * is kept with the call site.
 */
struct varlena *
bloomexp_getarg_cached(FunctionCallInfo fcinfo, int argno)
{
	struct varlena *stored = (struct varlena *) PG_GETARG_POINTER(argno);
	struct varatt_external pointer;
	CachedFilter *cached;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored) || fcinfo->flinfo == NULL)
		return PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored));

	VARATT_EXTERNAL_GET_POINTER(pointer, stored);
	cached = fcinfo->flinfo->fn_extra;
	if (cached == NULL)
	{
		cached = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CachedFilter));
		fcinfo->flinfo->fn_extra = cached;
	}
	if (cached->value == NULL ||
		memcmp(&cached->pointer, &pointer, sizeof(pointer)) != 0)
	{
		MemoryContext caller;

		if (cached->value)
			pfree(cached->value);
		cached->value = NULL;	/* in case of an error below */
		caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		cached->value = detoast_attr(stored);
		MemoryContextSwitchTo(caller);
		cached->pointer = pointer;
	}
	return cached->value;
}
