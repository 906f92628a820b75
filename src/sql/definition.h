/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  What definition.sql asks the server for, and whether it would say the same again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_DEFINITION_H
#define BLOOMEXP_DEFINITION_H

extern uint64 bloomexp_definition_fingerprint(Oid schema, Oid target);

#endif							/* BLOOMEXP_DEFINITION_H */
