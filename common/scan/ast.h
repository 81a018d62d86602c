/*
 * The syntax tree, after Python's own: one struct node for everything, allocated only as big as its
 * kind needs. All of it lives in the arena. line counts from 1; col is bytes from 0; both are where
 * ast's lineno and col_offset are.
 */
#ifndef EVCTL_SCAN_AST_H
#define EVCTL_SCAN_AST_H

#include "scan/arena.h"
#include "scan/sym.h"

#include <stdbool.h>
#include <stdint.h>

enum node_kind {
	/* expressions */
	E_NAME,	      /* name */
	E_CONST,      /* nothing; op is K_NONE, K_TRUE, K_FALSE, T_ELLIPSIS or T_NUMBER */
	E_STR,	      /* str */
	E_BYTES,      /* str */
	E_JOINED,     /* list: E_STR and E_FORMATTED; also PEP 750's templates (NODE_TEMPLATE) */
	E_FORMATTED,  /* fmt; op is the conversion's letter or 0 */
	E_ATTR,	      /* attr */
	E_SUBSCRIPT,  /* sub */
	E_CALL,	      /* call */
	E_BINOP,      /* two; op is the token */
	E_UNARY,      /* one; op is the token */
	E_AND,	      /* list */
	E_OR,	      /* list */
	E_COMPARE,    /* cmp */
	E_IFEXP,      /* three: test, then, else */
	E_LAMBDA,     /* lambda */
	E_NAMED,      /* two: target, value */
	E_TUPLE,      /* list */
	E_LIST,	      /* list */
	E_SET,	      /* list */
	E_DICT,	      /* dict */
	E_LISTCOMP,   /* comp */
	E_SETCOMP,    /* comp */
	E_GENEXP,     /* comp */
	E_DICTCOMP,   /* comp: elt is the key */
	E_AWAIT,      /* one */
	E_YIELD,      /* one, may be NULL */
	E_YIELD_FROM, /* one */
	E_STARRED,    /* one */
	E_SLICE,      /* three, each may be NULL */
	/* statements */
	S_EXPR,	     /* one */
	S_ASSIGN,    /* assign */
	S_AUGASSIGN, /* two; op is the token */
	S_ANNASSIGN, /* three: target, annotation, value or NULL; NODE_SIMPLE */
	S_RETURN,    /* one, may be NULL */
	S_RAISE,     /* two, may be NULL */
	S_ASSERT,    /* two, the second may be NULL */
	S_GLOBAL,    /* names */
	S_NONLOCAL,  /* names */
	S_DELETE,    /* list */
	S_PASS,
	S_BREAK,
	S_CONTINUE,
	S_IMPORT,     /* import: names of X_ALIAS */
	S_IMPORTFROM, /* import; one name "*" for a star */
	S_FUNC,	      /* func; NODE_ASYNC */
	S_CLASS,      /* cls */
	S_IF,	      /* cond */
	S_WHILE,      /* cond */
	S_FOR,	      /* loop; NODE_ASYNC */
	S_WITH,	      /* with; NODE_ASYNC */
	S_TRY,	      /* try; NODE_STAR for except* */
	S_MATCH,      /* match */
	S_TYPEALIAS,  /* alias_stmt (PEP 695) */
	/* parts */
	X_HANDLER,   /* handler */
	X_WITHITEM,  /* two: context, target or NULL */
	X_CASE,	     /* kase */
	X_COMP,	     /* clause; NODE_ASYNC */
	X_KEYWORD,   /* keyword: name NULL for ** */
	X_PARAM,     /* param; op is one of enum param_kind */
	X_TYPEPARAM, /* param: annotation is the bound */
	X_ALIAS,     /* alias */
	/* patterns */
	P_VALUE,     /* one: an expression */
	P_SINGLETON, /* op as in E_CONST */
	P_SEQUENCE,  /* list */
	P_MAPPING,   /* mapping */
	P_CLASS,     /* pclass */
	P_STAR,	     /* capture: pattern NULL */
	P_AS,	     /* capture */
	P_OR,	     /* list */
};

enum node_flags {
	NODE_ASYNC = 1,
	NODE_STAR = 2,
	NODE_SIMPLE = 4, /* an annotated name without parentheses */
	NODE_TEMPLATE = 8,
	NODE_IMPORTS = 8,   /* an S_FUNC with an import statement somewhere within */
	NODE_CAUGHT = 16,   /* an import around which a KeyError is caught */
	NODE_PAREN = 16,    /* a tuple in its own parentheses */
	NODE_DEMANDED = 32, /* a call of EV_KEYS.get() whose result the code needs */
	NODE_HELD = 64,	    /* an attribute that holds EV_KEYS */
	NODE_ELIF = 128,    /* an S_IF alone in the 'else' of another */
};

/* What an E_NAME holds: its name, or the variable that the analysis knows it to be. */
enum name_op { NAME_PLAIN, NAME_FIXED };

enum param_kind { PARAM_POS_ONLY, PARAM_POS, PARAM_VARARGS, PARAM_KW_ONLY, PARAM_KWARGS };

enum cmp_op {
	CMP_OTHER,
	CMP_EQ,
	CMP_NE,
	CMP_IN,
	CMP_NOT_IN,
	CMP_IS,
	CMP_IS_NOT,
	CMP_LT,
	CMP_LE,
	CMP_GT,
	CMP_GE
};

struct seq {
	struct node **v;
	uint32_t n;
};

struct node {
	uint8_t kind, op, flags, mark; /* mark is free for the analysis */
	uint32_t line, col;
	union {
		struct sym *name;
		struct var *var; /* E_NAME whose op is NAME_FIXED, instead of name */
		struct {
			const char *s;
			uint32_t n;
		} str;
		struct node *one;
		struct {
			struct node *a, *b;
		} two;
		struct {
			struct node *a, *b, *c;
		} three;
		struct seq list;
		struct {
			struct node *value;
			struct sym *name;
		} attr;
		struct {
			struct node *value, *index;
		} sub;
		struct {
			struct node *func;
			struct seq args, keywords;
		} call;
		struct {
			struct node *left;
			struct seq right;
			uint8_t *ops; /* enum cmp_op, right.n of them */
		} cmp;
		struct {
			struct seq params;
			struct node *body;
			struct scope *scope;
		} lambda;
		struct {
			struct seq keys, values; /* keys.v[i] is NULL for ** */
		} dict;
		struct {
			struct node *elt, *value;
			struct seq clauses;
			struct scope *scope;
		} comp;
		struct {
			struct node *value, *spec;
		} fmt;
		struct {
			struct seq targets;
			struct node *value;
		} assign;
		struct {
			struct sym **v;
			uint32_t n;
		} names;
		struct {
			struct seq names;
			struct sym *module; /* dotted; NULL in "from . import x" */
			uint32_t dots;
		} import;
		struct {
			struct sym *name;
			struct seq params, body, decorators, type_params;
			struct node *returns;
			struct scope *scope;
		} func;
		struct {
			struct sym *name;
			struct seq args, keywords, body, decorators, type_params;
			struct scope *scope;
		} cls;
		struct {
			struct node *test;
			struct seq body, orelse;
		} cond;
		struct {
			struct node *target, *iter;
			struct seq body, orelse;
			struct loop *loop;
		} loop;
		struct {
			struct seq items, body;
		} with;
		struct {
			struct seq body, handlers, orelse, final;
		} try;
		struct {
			struct node *subject;
			struct seq cases;
		} match;
		struct {
			struct sym *name;
			struct seq type_params;
			struct node *value;
		} alias_stmt;
		struct {
			struct node *type;
			struct sym *name;
			struct seq body;
		} handler;
		struct {
			struct node *pattern, *guard;
			struct seq body;
		} kase;
		struct {
			struct node *target, *iter;
			struct seq ifs;
			struct loop *loop;
		} clause;
		struct {
			struct sym *name;
			struct node *value;
		} keyword;
		struct {
			struct sym *name;
			struct node *annotation, *value;
		} param;
		struct {
			struct sym *name, *as; /* name dotted; as NULL if there is none */
		} alias;
		struct {
			struct seq keys, values;
			struct sym *rest;
		} mapping;
		struct {
			struct node *cls;
			struct seq args, values;
			struct sym **names; /* values.n of them */
		} pclass;
		struct {
			struct sym *name; /* NULL for a wildcard */
			struct node *pattern;
		} capture;
	};
};

/* The size of a node whose payload is the named member. */
#define NODE_SIZE(member) (offsetof(struct node, member) + sizeof(((struct node *)NULL)->member))

/* Calls visit for each child of n, in the order of the source; NULL children are left out. */
void ast_each(struct node *n, void visit(struct node *child, void *arg), void *arg);

/*
 * How many nodes deep a module is, counting itself; stops at more than most. Python's ast.parse
 * gives up near 3,000.
 */
bool ast_is_deeper(struct seq body, unsigned most);

#endif
