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
 * Others look at a condition, too, and must not run what its author has put there.
 * To parse an expression evaluates nothing but its string literals: the parser reads
 * them as soon as it knows their type, and to read a value of a domain in an array
 * calls the check of that domain.  So each literal is hidden from the parser as a
 * parameter, and read only when its type has been found harmless.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tupdesc.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
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
#include "parser/parse_type.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "feed/columns.h"
#include "feed/condition.h"
#include "value/compat.h"

/* The alias of the exposures in generated statements. */
#define ALIAS "e"
/* An expression is parsed as a statement. */
#define BEFORE "SELECT "

/* The string literals of a condition; the n-th hides behind parameter -n. */
typedef struct Literals
{
	ParseState *state;
	List	   *strings;
} Literals;

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

/* Refuse what a transition table does not have. */
static void
check_column(Oid table, const Var *column)
{
	if (column->varattno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not use system columns or whole rows")));
	bloomexp_columns_check_generated(table, column->varattno);
}

/* Whether a function belongs to a superuser. */
static bool
is_trusted(Oid id)
{
	HeapTuple	function = SearchSysCache1(PROCOID, ObjectIdGetDatum(id));
	Oid			owner;

	if (!HeapTupleIsValid(function))
		elog(ERROR, "cache lookup failed for function %u", id);
	owner = ((Form_pg_proc) GETSTRUCT(function))->proowner;
	ReleaseSysCache(function);
	return superuser_arg(owner);
}

/*
 * Refuse a cast that the owner of a type may have made: it needs no name in the
 * condition, and can come about later.
 */
static void
check_cast(const FuncExpr *call)
{
	if (call->funcformat != COERCE_IMPLICIT_CAST && call->funcformat != COERCE_EXPLICIT_CAST)
		return;
	if (!is_trusted(call->funcid))
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

static bool is_harmless(Oid type);

/* Whether to read a row of a composite type calls only what is the server's. */
static bool
is_harmless_row(Oid type)
{
	/* the lock, so that the columns stay what they are until the literal is read */
	Relation	relation = relation_open(get_typ_typrelid(type), AccessShareLock);
	TupleDesc	columns = RelationGetDescr(relation);
	bool		harmless = true;

	for (int i = 0; i < columns->natts && harmless; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		harmless = column->attisdropped || is_harmless(column->atttypid);
	}
	relation_close(relation, NoLock);
	return harmless;
}

/* Whether to read a range calls only what is the server's. */
static bool
is_harmless_range(Oid type)
{
	TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	Oid			canonical = range->rng_canonical_finfo.fn_oid;

	return is_trusted(range->rng_cmp_proc_finfo.fn_oid) &&
		(!OidIsValid(canonical) || is_trusted(canonical)) &&
		is_harmless(range->rngelemtype->type_id);
}

/*
 * Whether to read a value of a type calls only what is the server's.
 *
 * Only a superuser can make a base type and its input function, and enums are read
 * from the catalogs.  A domain has checks of its owner's.
 */
static bool
is_harmless(Oid type)
{
	Oid			element = get_element_type(type);

	check_stack_depth();
	if (OidIsValid(element))
		return is_harmless(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
			return false;
		case TYPTYPE_COMPOSITE:
			return is_harmless_row(type);
		case TYPTYPE_RANGE:
			return is_harmless_range(type);
		case TYPTYPE_MULTIRANGE:
			return is_harmless(get_multirange_range(type));
		default:
			return true;
	}
}

static bool
is_string(Node *node)
{
	return IsA(node, A_Const) && IsA(&((A_Const *) node)->val, String);
}

/*
 * Write a call such as date('2026-01-01') as the cast that it is, in place.  The parser
 * knows it by its literal, which will be hidden.
 */
static void
write_cast(FuncCall *call)
{
	TypeCast   *cast = (TypeCast *) call;
	TypeName   *name = makeTypeNameFromNameList(call->funcname);
	Node	   *literal = list_length(call->args) == 1 ? linitial(call->args) : NULL;
	FuncCall	bare = {
		.type = T_FuncCall,
		.funcname = call->funcname,
		.args = call->args
	};
	Type		type;
	bool		is_scalar;

	StaticAssertStmt(sizeof(TypeCast) <= sizeof(FuncCall), "a call must have room for a cast");
	if (literal == NULL || !is_string(literal) || !equal(call, &bare))
		return;
	type = LookupTypeNameExtended(NULL, name, NULL, false, true);
	if (type == NULL)
		return;
	is_scalar = ((Form_pg_type) GETSTRUCT(type))->typisdefined && !OidIsValid(typeTypeRelid(type));
	ReleaseSysCache(type);
	if (!is_scalar)
		return;
	*cast = (TypeCast) {
		.type = T_TypeCast,
		.arg = literal,
		.typeName = name,
		.location = call->location
	};
}

/* Hide the string literals of a raw expression from the parser, in place. */
static bool
hide_literals(Node *node, void *context)
{
	Literals   *literals = context;

	if (node == NULL || IsA(node, TypeName))	/* (the modifiers of a type stay) */
		return false;
	if (IsA(node, ParamRef) && ((ParamRef *) node)->number >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_PARAMETER),
				 errmsg("there is no parameter $%d", ((ParamRef *) node)->number),
				 parser_errposition(literals->state, ((ParamRef *) node)->location)));
	if (IsA(node, FuncCall))
		write_cast((FuncCall *) node);
	if (is_string(node))
	{
		A_Const		literal = *(A_Const *) node;

		StaticAssertStmt(sizeof(ParamRef) <= sizeof(A_Const), "a literal must have room for a parameter");
		literals->strings = lappend(literals->strings, strVal(&literal.val));
		*(ParamRef *) node = (ParamRef) {
			.type = T_ParamRef,
			.number = -list_length(literals->strings),
			.location = literal.location
		};
		return false;
	}
	return raw_expression_tree_walker(node, hide_literals, context);
}

/* A literal as the parser has it while it does not know its type. */
static Const *
make_unknown(const Literals *literals, const Param *hidden)
{
	Const	   *literal = makeConst(UNKNOWNOID, -1, InvalidOid, -2,
									CStringGetDatum(list_nth(literals->strings, -hidden->paramid - 1)),
									false, false);

	literal->location = hidden->location;
	return literal;
}

/* Called by the parser for each parameter. */
static Node *
make_hidden(ParseState *state, ParamRef *reference)
{
	Param	   *hidden = makeNode(Param);

	hidden->paramkind = PARAM_EXTERN;
	hidden->paramid = reference->number;
	hidden->paramtype = UNKNOWNOID;
	hidden->paramtypmod = -1;
	hidden->location = reference->location;
	return (Node *) hidden;
}

/*
 * Called by the parser when it knows the type of a parameter: read the literal, if
 * that is harmless.
 */
static Node *
read_literal(ParseState *state, Param *hidden, Oid type, int32 modifier, int location)
{
	if (hidden->paramtype != UNKNOWNOID)
		return NULL;
	if (!is_harmless(type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not have a constant of type %s", format_type_be(type)),
				 errdetail("To read it could call functions of others, such as the check of a domain."),
				 errhint("Use a constant of a type of the server's."),
				 parser_errposition(state, hidden->location)));
	return coerce_type(state, (Node *) make_unknown(state->p_ref_hook_state, hidden), UNKNOWNOID,
					   type, modifier, COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, location);
}

/* Show the literals that are of no type, as in 'x' IS NULL. */
static Node *
show_unknown(Node *node, void *literals)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param))
		return (Node *) make_unknown(literals, (Param *) node);
	return expression_tree_mutator(node, show_unknown, literals);
}

/* A condition over the columns of a table. */
static Node *
resolve(Relation relation, const char *statement)
{
	ParseState *state = make_parsestate(NULL);
	Literals	literals = {state, NIL};
	Oid			source = RelationGetRelid(relation);
	Alias	   *alias = makeAlias(ALIAS, NIL);
	Node	   *expression = parse_alone(statement);

	state->p_sourcetext = statement;
	state->p_paramref_hook = make_hidden;
	state->p_coerce_param_hook = read_literal;
	state->p_ref_hook_state = &literals;
	addNSItemToQuery(state,
					 addRangeTableEntryForRelation(state, relation, AccessShareLock, alias, false, true),
					 false, true, true);
	hide_literals(expression, &literals);
	expression = transformExpr(state, expression, EXPR_KIND_TRIGGER_WHEN);
	expression = coerce_to_boolean(state, expression, "condition");
	expression = show_unknown(expression, &literals);
	assign_expr_collations(state, expression);

	check_nodes(expression, &source);
	if (contain_mutable_functions(expression))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must call immutable functions only"),
				 errdetail("A row must be an exposure for the trigger and for the rebuild, or for neither, whatever the settings and the time."),
				 errhint("A date of a timestamptz is immutable with its time zone, as in (at AT TIME ZONE 'UTC')::date.")));
	return expression;
}

/* An expression over the columns of a table, as the deparser writes it. */
static char *
deparse(Oid source, Node *expression)
{
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

/* Refuse what each session has in another schema, or not at all. */
static void
refuse_temporary(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("condition must not use \"%s\", which is temporary", name),
			 errdetail("Other sessions do not have it.")));
}

static void
check_schema(List *name)
{
	if (list_length(name) == 2 && strncmp(strVal(linitial(name)), "pg_temp", strlen("pg_temp")) == 0)
		refuse_temporary(strVal(lsecond(name)));
}

static void
add_schema(List **edits, List *name, int location)
{
	check_schema(name);
	if (list_length(name) == 1)
		add_edit(edits, location, 0, "pg_catalog.");
}

/* The deparser leaves out the schema of a temporary type as well. */
static void
add_schema_of_type(List **edits, const TypeName *type)
{
	if (list_length(type->names) == 1 &&
		!SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(strVal(linitial(type->names))),
							   ObjectIdGetDatum(PG_CATALOG_NAMESPACE)))
		refuse_temporary(strVal(linitial(type->names)));
	add_schema(edits, type->names, type->location);
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
		check_schema(expression->name);
		if (list_length(expression->name) == 1)
			add_edit(edits, expression->location, strlen(operator),
					 psprintf("OPERATOR(pg_catalog.%s)", operator));
	}
	else if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg != NULL)
		refuse_hidden_operator();
	else if (IsA(node, FuncCall))
		add_schema(edits, ((FuncCall *) node)->funcname, ((FuncCall *) node)->location);
	else if (IsA(node, TypeName))
		add_schema_of_type(edits, (TypeName *) node);
	else if (IsA(node, CollateClause))
		add_schema(edits, ((CollateClause *) node)->collname,
				   ((CollateClause *) node)->location + strlen("COLLATE "));
	else if (is_string(node))
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

/*
 * Settings by which an expression means the same for all who write exposures or rebuild,
 * until the nest level that this returns ends.  (An error ends it, too.)
 */
static int
begin_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"timezone", "UTC"},
		{"datestyle", "ISO"},
		{"intervalstyle", "iso_8601"},
		{"standard_conforming_strings", "on"},
		{"transform_null_equals", "off"},
		{"extra_float_digits", "1"}
	};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < (int) lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * bloomexp_condition_parse
 *		A condition over the columns of a table, which are those of relation 1; an error
 *		if it cannot be one.
 */
Node *
bloomexp_condition_parse(Oid source, const char *condition)
{
	Relation	relation = relation_open(source, AccessShareLock);
	int			level = begin_settings();
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = tell_condition,
		.arg = unconstify(char *, condition)
	};
	Node	   *expression;

	error_context_stack = &context;
	expression = resolve(relation, psprintf(BEFORE "%s", condition));
	/* the rebuild must be able to write what the trigger evaluates */
	(void) qualify(deparse(source, expression));
	error_context_stack = context.previous;
	AtEOXact_GUC(true, level);
	relation_close(relation, AccessShareLock);
	return expression;
}

/*
 * bloomexp_condition_write
 *		An expression over the columns of a table, as SQL in which the table is "e" and
 *		every name has its schema.
 */
char *
bloomexp_condition_write(Oid source, Node *expression)
{
	int			level = begin_settings();
	char	   *sql = qualify(deparse(source, expression));

	AtEOXact_GUC(true, level);
	return sql;
}
