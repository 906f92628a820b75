/*-------------------------------------------------------------------------
 *
 * condition.c
 *	  The condition under which a row is an exposure, for generated statements.
 *
 * Statements of the extension run under any search_path, so every name in them
 * has its schema.  A condition comes as its author wrote it.  It is parsed on its
 * own, with the columns of the exposures and search_path set to pg_catalog, so that
 * a name from elsewhere must have its schema.  The server's own deparser writes
 * the result, but leaves out pg_catalog.  So that text is parsed again, and
 * pg_catalog is put before each name without a schema.
 *
 * OPERATOR() has another precedence than the operators that it replaces.  The
 * deparser puts parentheses around each operator, so that does not matter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

/* The alias of the exposures in generated statements. */
#define ALIAS "e"
/* An expression is parsed as a statement. */
#define BEFORE "SELECT "

PG_FUNCTION_INFO_V1(bloomexp_track_condition);

/* A change of a text. */
typedef struct Edit
{
	int			location;
	int			length;			/* bytes that are replaced */
	char	   *text;
} Edit;

/* Error positions are those in the condition, not in the user's statement. */
static void
tell_condition(void *condition)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position - (int) strlen(BEFORE));
		internalerrquery(condition);
	}
	errcontext("condition of bloom_track() or bloom_rebuild()");
}

/* The expression that is all of a text; raises an error if it is more. */
static Node *
parse_alone(const char *statement)
{
	List	   *parsed = pg_parse_query(statement);
	SelectStmt *select = NULL;
	SelectStmt *bare = makeNode(SelectStmt);
	ResTarget  *target;

	if (list_length(parsed) == 1 && IsA(linitial_node(RawStmt, parsed)->stmt, SelectStmt))
		select = (SelectStmt *) linitial_node(RawStmt, parsed)->stmt;
	if (select != NULL)
		bare->targetList = select->targetList;
	target = list_length(bare->targetList) == 1 ? linitial_node(ResTarget, bare->targetList) : NULL;
	if (target == NULL || !equal(select, bare) || target->name != NULL ||
		(IsA(target->val, ColumnRef) && IsA(llast(((ColumnRef *) target->val)->fields), A_Star)))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("condition must be one expression")));
	return target->val;
}

/*
 * Refuse a generated column where a transition table may not have its value: a
 * virtual one is not stored at all, and a stored one is not computed in rows that a
 * partitioned table hands on to a partition of another layout.
 */
static void
check_generated(Oid table, AttrNumber column)
{
	char		generated = get_attgenerated(table, column);

	if (generated == '\0' ||
		(generated == ATTRIBUTE_GENERATED_STORED && get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("generated column \"%s\" cannot be used by bloom_track()",
					get_attname(table, column, false)),
			 errdetail("Its value may not be there yet when the trigger is called."),
			 errhint("Use the columns from which it is generated, or a trigger on each partition.")));
}

/* Refuse what a transition table does not have. */
static void
check_column(Oid table, const Var *column)
{
	if (column->varattno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not use system columns or whole rows")));
	check_generated(table, column->varattno);
}

/*
 * Refuse a cast that the owner of a type may have made: it needs no name in the
 * condition, and can come about later.
 */
static void
check_cast(const FuncExpr *call)
{
	HeapTuple	function;
	Oid			owner;

	if (call->funcformat != COERCE_IMPLICIT_CAST && call->funcformat != COERCE_EXPLICIT_CAST)
		return;
	function = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	if (!HeapTupleIsValid(function))
		elog(ERROR, "cache lookup failed for function %u", call->funcid);
	owner = ((Form_pg_proc) GETSTRUCT(function))->proowner;
	ReleaseSysCache(function);
	if (!superuser_arg(owner))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not use a cast to type %s whose function %s does not belong to a superuser",
						format_type_be(call->funcresulttype), format_procedure(call->funcid)),
				 errhint("Call the function by its name.")));
}

/* Look for what a condition must not use. */
static bool
check_nodes(Node *node, void *table)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		check_column(*(Oid *) table, (Var *) node);
	if (IsA(node, FuncExpr))
		check_cast((FuncExpr *) node);
	return expression_tree_walker(node, check_nodes, table);
}

/* A condition over the columns of a table, as the deparser writes it. */
static char *
resolve(Relation relation, const char *statement)
{
	ParseState *state = make_parsestate(NULL);
	Oid			source = RelationGetRelid(relation);
	Alias	   *alias = makeAlias(ALIAS, NIL);
	Node	   *expression;

	state->p_sourcetext = statement;
	addNSItemToQuery(state,
					 addRangeTableEntryForRelation(state, relation, AccessShareLock, alias, false, true),
					 false, true, true);
	expression = transformExpr(state, parse_alone(statement), EXPR_KIND_TRIGGER_WHEN);
	expression = coerce_to_boolean(state, expression, "condition");
	assign_expr_collations(state, expression);

	check_nodes(expression, &source);
	if (contain_mutable_functions(expression))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must call immutable functions only"),
				 errdetail("A row must be an exposure for the trigger and for the rebuild, or for neither, whatever the settings and the time."),
				 errhint("A date of a timestamptz is immutable with its time zone, as in (at AT TIME ZONE 'UTC')::date.")));
	return deparse_expression(expression, deparse_context_for(ALIAS, source), true, false);
}

static void
add_edit(List **edits, int location, int length, char *text)
{
	Edit	   *edit = palloc(sizeof(Edit));

	edit->location = location;
	edit->length = length;
	edit->text = text;
	*edits = lappend(*edits, edit);
}

static void
add_schema(List **edits, List *name, int location)
{
	if (list_length(name) == 1)
		add_edit(edits, location, 0, "pg_catalog.");
}

/* Constructs that look for an operator by search_path, without naming it. */
static void
refuse_hidden_operator(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("condition must not use IS DISTINCT FROM, NULLIF, or CASE with an operand"),
			 errdetail("They look for an operator by search_path."),
			 errhint("Write it with =, <> and IS NULL.")));
}

/* A string constant is the same whatever standard_conforming_strings says. */
static void
add_string(List **edits, const char *value, int location)
{
	int			length = strlen(value) + 2;

	if (strchr(value, '\\') == NULL)
		return;
	for (const char *quote = value; (quote = strchr(quote, '\'')) != NULL; quote++)
		length++;
	add_edit(edits, location, length, quote_literal_cstr(value));
}

/* Collect the edits that a deparsed expression needs. */
static bool
collect_edits(Node *node, void *context)
{
	List	  **edits = context;

	if (node == NULL)
		return false;
	if (IsA(node, A_Expr))
	{
		A_Expr	   *expression = (A_Expr *) node;
		char	   *operator= strVal(llast(expression->name));

		if (expression->kind != AEXPR_OP && expression->kind != AEXPR_OP_ANY &&
			expression->kind != AEXPR_OP_ALL)
			refuse_hidden_operator();
		if (list_length(expression->name) == 1)
			add_edit(edits, expression->location, strlen(operator),
					 psprintf("OPERATOR(pg_catalog.%s)", operator));
	}
	else if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg != NULL)
		refuse_hidden_operator();
	else if (IsA(node, FuncCall))
		add_schema(edits, ((FuncCall *) node)->funcname, ((FuncCall *) node)->location);
	else if (IsA(node, TypeName))
		add_schema(edits, ((TypeName *) node)->names, ((TypeName *) node)->location);
	else if (IsA(node, CollateClause))
		add_schema(edits, ((CollateClause *) node)->collname,
				   ((CollateClause *) node)->location + strlen("COLLATE "));
	else if (IsA(node, A_Const) && IsA(&((A_Const *) node)->val, String))
		add_string(edits, strVal(&((A_Const *) node)->val), ((A_Const *) node)->location);
	return raw_expression_tree_walker(node, collect_edits, context);
}

static int
compare_edits(const ListCell *a, const ListCell *b)
{
	return ((const Edit *) lfirst(a))->location - ((const Edit *) lfirst(b))->location;
}

/* A deparsed expression with the schema of every name. */
static char *
qualify(const char *expression)
{
	char	   *statement = psprintf(BEFORE "%s", expression);
	StringInfoData qualified;
	List	   *edits = NIL;
	ListCell   *cell;
	int			done = strlen(BEFORE);

	collect_edits(parse_alone(statement), &edits);
	list_sort(edits, compare_edits);
	initStringInfo(&qualified);
	foreach (cell, edits)
	{
		Edit	   *edit = lfirst(cell);

		appendBinaryStringInfo(&qualified, statement + done, edit->location - done);
		appendStringInfoString(&qualified, edit->text);
		done = edit->location + edit->length;
	}
	appendStringInfoString(&qualified, statement + done);
	return qualified.data;
}

/* bloom_track_condition(source regclass, condition text) */
Datum
bloomexp_track_condition(PG_FUNCTION_ARGS)
{
	Relation	relation = relation_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *condition = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = tell_condition,
		.arg = condition
	};
	char	   *qualified;
	Oid			user;
	int			security;

	/*
	 * To parse an expression can call functions, such as the check of a domain.
	 * Who looks at a table must not run what its owner has put there.
	 */
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(relation->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
	error_context_stack = &context;
	qualified = qualify(resolve(relation, psprintf(BEFORE "%s", condition)));
	error_context_stack = context.previous;
	SetUserIdAndSecContext(user, security);
	relation_close(relation, NoLock);
	PG_RETURN_TEXT_P(cstring_to_text(qualified));
}
