/*-------------------------------------------------------------------------
 *
 * condition.h
 *	  Expressions over the columns of the exposures: the condition that makes a row an
 *	  exposure, and how any of them is written in a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_CONDITION_H
#define BLOOMEXP_CONDITION_H

#include "nodes/nodes.h"

extern Node *bloomexp_condition_parse(Oid source, const char *condition);
extern char *bloomexp_condition_write(Oid source, Node *expression);

#endif							/* BLOOMEXP_CONDITION_H */
