/*-------------------------------------------------------------------------
 *
 * rows.h
 *	  The rows of a table of filters, as they are changed while others change them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_ROWS_H
#define BLOOMEXP_ROWS_H

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/exposures.h"
#include "feed/plans.h"
#include "feed/triggers.h"

/* The filters of a row: the large one and the one to which is added, often the same. */
#define BLOOM_ROW_FILTERS 2

/* A table of filters, and the plans by which its rows are changed. */
typedef struct BloomRows
{
	BloomPlans	plans;
	BloomKey	key;
	char	   *filter_column;
	int			nfilters;		/* in a row; the last one is changed */
	BloomDefinition definition; /* of the filters */
} BloomRows;

/*
 * Make the new value of the filter of a user, by number, from what is stored, of which
 * any may be NULL; NULL if it stays as it is.
 */
typedef struct varlena *(*BloomChange) (void *argument, uint64 nth, struct varlena **stored);

/* A change of the filters of some users. */
typedef struct BloomChanges
{
	BloomChange change;
	void	   *argument;
	bool		must_lock;		/* also the rows that stay as they are */
} BloomChanges;

extern void bloomexp_rows_prepare(BloomRows *rows, const BloomExtension *extension);
extern bool bloomexp_rows_change(BloomRows *rows, const BloomChanges *changes, uint64 nth, Datum user);
extern bool bloomexp_rows_change_many(BloomRows *rows, const BloomChanges *changes,
									  BloomExposures *exposures, uint64 first, uint64 n);

#endif							/* BLOOMEXP_ROWS_H */
