#include "scan/sema.h"

#include <string.h>

/*
 * The walk that finds reads. visit() goes through an expression and gives its value; use() does so
 * where a value that is EV_KEYS, or a bound method of it, is put to a use that is not followed.
 */
static struct val visit(struct here *h, struct node *n);
static void body(struct here *h, struct seq stmts);

static const char by_name[] = "read EV_KEYS['NAME'] by its own name";

static void use_in(struct here *h, struct node *n, enum node_kind within)
{
	if (visit(h, n).bits & VAL_OURS)
		words_used(h, n, within);
}

static void use(struct here *h, struct node *n)
{
	use_in(h, n, E_CONST);
}

/* A name, and what is done with it. */
static struct val visit_name(struct here *h, struct node *n, enum var_flags as)
{
	struct var *v;
	struct val r = value_of_name(h->s, n, h->scope, &v);
	if (v)
		v->flags |= as;
	return r;
}

/* What is indexed or searched, or has a method called. */
static struct val visit_base(struct here *h, struct node *n, enum var_flags as)
{
	if (n->kind == E_NAME)
		return visit_name(h, n, as);
	if (n->kind == E_CALL)
		n->mark = true;
	return visit(h, n);
}

/* The children of a node. */
struct uses {
	struct here *h;
	enum node_kind within;
};

static void use_child(struct node *n, void *arg)
{
	const struct uses *u = arg;
	use_in(u->h, n, u->within);
}

static void use_children(struct here *h, struct node *n)
{
	ast_each(n, use_child, &(struct uses){h, n->kind});
}

static void use_all(struct here *h, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (s.v[i])
			use(h, s.v[i]);
}

static bool is_keys_name(struct here *h, struct node *n)
{
	return value_is_keys_name(h->s, n, h->scope, h->loop);
}

/* A builtin by its own name, or as builtins.NAME. */
static enum sym_known builtin_name(struct here *h, struct node *n)
{
	if (n->kind == E_NAME && n->op == NAME_PLAIN && n->name->known &&
		scope_is_builtin(h->s, h->scope, n, n->name->known))
		return n->name->known;
	if (n->kind == E_ATTR && n->attr.name->known &&
		value_of(h->s, n->attr.value, h->scope, h->loop).bits & VAL_BUILTINS)
		return n->attr.name->known;
	return SYM_NONE;
}

/* vars(), locals(), x.__dict__ */
static bool is_namespace(struct here *h, struct node *n)
{
	if (n->kind == E_ATTR)
		return n->attr.name->known == SYM___dict__ ||
		       n->attr.name->known == SYM_f_builtins ||
		       n->attr.name->known == SYM_f_globals ||
		       n->attr.name->known == SYM_f_locals ||
		       n->attr.name->known == SYM___builtins__;
	if (n->kind != E_CALL)
		return false;
	enum sym_known f = builtin_name(h, n->call.func);
	return f == SYM_vars || f == SYM_locals;
}

/* Attributes, subscripts */

/* Loading .EV_KEYS from something that is no known module. */
static void check_keys_attr(struct here *h, struct node *n, struct val base)
{
	struct val ignored;
	if (n->attr.name->known == SYM_EV_KEYS && !value_keys_of_module(h->s, base, &ignored))
		report_dynamic(h, n, "EV_KEYS of something that is not known", by_name);
}

/* What is done with a variable of a module of the directory. */
static void note_member(struct here *h, struct node *n, struct val base, enum var_flags as)
{
	for (uint32_t i = 0; i < base.n; i++) {
		struct var *v = base.v[i].kind == ITEM_MODULE
					? scope_member(h->s, base.v[i].module, n->attr.name)
					: NULL;
		if (v)
			v->flags |= as;
	}
}

static struct val visit_attr(struct here *h, struct node *n)
{
	struct val base = visit_base(h, n->attr.value, VAR_ATTR);
	copy_note_load(h, n);
	struct val v = value_of_attr(h->s, n, base);

	check_keys_attr(h, n, base);
	note_member(h, n, base, VAR_USED);
	helper_note_attr(h, n, base.bits || base.n);
	if (base.bits & VAL_DICT && !value_method(n->attr.name))
		words_attr(h, n, n, false);
	else if (base.bits & VAL_METHODS)
		words_used(h, n, E_ATTR);
	return v;
}

/* A read of what base is: EV_KEYS, or a copy of it. */
static void read_of(
	struct here *h, struct node *base, struct node *key, uint32_t line, bool required)
{
	struct here there = *h;

	there.copy = copy_behind(h, base);
	report_read(&there, key, line, required);
}

static void read_index(struct here *h, struct node *n, struct val base)
{
	if (base.bits & VAL_DICT)
		read_of(h, n->sub.value, n->sub.index, n->line, true);
	if (base.bits & VAL_ENVIRON)
		report_env(h, n->sub.index, n->sub.value, n->line);
	if (base.bits & VAL_METHODS)
		words_used(h, n->sub.value, E_CONST);
}

/* x['EV_KEYS'] */
static void check_index(struct here *h, struct node *n)
{
	struct node *i = n->sub.index;
	if ((!h->s->names_keys && i->kind != E_BINOP && i->kind != E_JOINED) || !is_keys_name(h, i))
		return;
	if (!value_is_globals(h->s, n->sub.value, h->scope))
		report_dynamic(h, n, "EV_KEYS is looked up in a namespace", by_name);
	else if (!value_globals_have_keys(h->s, h->scope))
		report_globals(h, n);
}

static struct val visit_subscript(struct here *h, struct node *n)
{
	struct val base = visit_base(h, n->sub.value, 0);
	read_index(h, n, base);
	use(h, n->sub.index);
	struct val v = value_of_subscript(h->s, n, h->scope, h->loop);
	if (!v.bits && !(base.bits & (VAL_DICT | VAL_ENVIRON)))
		check_index(h, n);
	return v;
}

/* Calls */

static bool starts_plain(const struct node *n)
{
	return n->call.args.n && n->call.args.v[0]->kind != E_STARRED;
}

static void read_call(struct here *h, struct node *n, uint32_t method)
{
	uint32_t most = method & (VAL_GETITEM | VAL_CONTAINS) ? 1 : 2;
	if (!guard_plain_call(n, 1, most)) {
		report_dynamic(h, n, "the arguments are not plain", NULL);
		return;
	}
	bool required = method == VAL_GETITEM || (method == VAL_POP && n->call.args.n == 1) ||
			n->flags & NODE_DEMANDED;
	struct node *f = n->call.func;
	read_of(h, f->kind == E_ATTR ? f->attr.value : f, n->call.args.v[0], n->line, required);
}

static void env_call(struct here *h, struct node *n)
{
	struct node *f = n->call.func, *on = f->kind == E_ATTR ? f->attr.value : f;
	if (starts_plain(n)) {
		report_env(h, n->call.args.v[0], on, n->line);
		return;
	}
	for (uint32_t i = 0; i < n->call.keywords.n; i++) {
		struct node *k = n->call.keywords.v[i];
		if (k->keyword.name && k->keyword.name->known == SYM_key)
			report_env(h, k->keyword.value, on, n->line);
	}
}

/* itemgetter(K, ...)(D). True if D was its argument. */
static bool getter_call(struct here *h, struct node *n, struct val func)
{
	bool ours = false;
	if (!guard_plain_call(n, 1, 1) ||
		!(value_of(h->s, n->call.args.v[0], h->scope, h->loop).bits & VAL_DICT))
		return false;
	for (uint32_t i = 0; i < func.n; i++) {
		if (func.v[i].kind != ITEM_GETTER)
			continue;
		struct node *call = func.v[i].getter.call;
		struct here there = *h;
		ours = true;
		if (!guard_plain_call(call, 1, UINT32_MAX)) {
			report_dynamic(h, n, "the arguments are not plain", NULL);
			continue;
		}
		there.scope = func.v[i].getter.scope;
		there.loop = func.v[i].getter.loop;
		for (uint32_t k = 0; k < call->call.args.n; k++)
			report_read(&there, call->call.args.v[k], n->line, true);
	}
	return ours;
}

static void check_getattr(struct here *h, struct node *n)
{
	struct val ignored;
	struct seq args = n->call.args;
	if (args.n < 2 || args.v[0]->kind == E_STARRED || !is_keys_name(h, args.v[1]))
		return;
	struct val v = value_of(h->s, args.v[0], h->scope, h->loop);
	if (!value_keys_of_module(h->s, v, &ignored))
		report_dynamic(h, n, "EV_KEYS of something that is not known", by_name);
}

static bool mentions_keys(struct here *h, struct node *n)
{
	struct texts t = key_values(h->s, n, h->scope, h->loop);
	for (size_t i = 0; i < t.of.n && !t.unknown; i++)
		if (memmem(t.of.v[i].s, t.of.v[i].n, "EV_KEYS", 7))
			return true;
	return false;
}

/* eval(), exec(), compile() */
static void check_code(struct here *h, struct node *n)
{
	struct node *code = starts_plain(n) ? n->call.args.v[0] : NULL;
	for (uint32_t i = 0; i < n->call.keywords.n && !code; i++)
		if (n->call.keywords.v[i]->keyword.name &&
			n->call.keywords.v[i]->keyword.name->known == SYM_source)
			code = n->call.keywords.v[i]->keyword.value;
	if (code && mentions_keys(h, code))
		report_dynamic(h, n, "code in a text mentions EV_KEYS",
			"read the key in code: EV_KEYS['NAME']");
}

/* vars().get('EV_KEYS') and the like; globals().get() is EV_KEYS itself. */
static void check_namespace_call(struct here *h, struct node *n)
{
	struct node *f = n->call.func, *base = f->attr.value;
	uint32_t method = value_method(f->attr.name);
	if (!method || method == VAL_CONTAINS || !starts_plain(n))
		return;
	bool globals = value_is_globals(h->s, base, h->scope);
	if (!globals && !is_namespace(h, base) &&
		!scope_is_builtin(h->s, h->scope, base, SYM___builtins__))
		return;
	if (!is_keys_name(h, n->call.args.v[0]))
		return;
	if (!globals)
		report_dynamic(h, n, "EV_KEYS is looked up in a namespace", by_name);
	else if (!value_globals_have_keys(h->s, h->scope))
		report_globals(h, n);
}

static void check_attrgetter(struct here *h, struct node *n)
{
	for (uint32_t i = 0; i < n->call.args.n; i++)
		if (n->call.args.v[i]->kind != E_STARRED && is_keys_name(h, n->call.args.v[i])) {
			report_dynamic(h, n, "EV_KEYS of something that is not known", by_name);
			return;
		}
}

/* Returns whether arguments that are EV_KEYS do no harm. */
static bool check_builtin(struct here *h, struct node *n)
{
	switch (builtin_name(h, n->call.func)) {
	case SYM_len:
	case SYM_bool:
	case SYM_isinstance:
	case SYM_type:
	case SYM_id:
		return true;
	case SYM_getattr:
		check_getattr(h, n);
		return false;
	case SYM_eval:
	case SYM_exec:
	case SYM_compile:
		check_code(h, n);
		return false;
	case SYM___import__:
		if (!h->s->round)
			report_import_call(h, n);
		return false;
	default:
		return false;
	}
}

/* The methods that change the dictionary and give nothing of it. */
static bool only_writes(const struct sym *name)
{
	return name->known == SYM_update || name->known == SYM_clear ||
	       name->known == SYM___setitem__ || name->known == SYM___delitem__;
}

static struct val visit_callee_name(struct here *h, struct node *call)
{
	return visit_name(h, call->call.func, call->mark ? VAR_CALLED : VAR_CALLED | VAR_MADE);
}

static struct val visit_callee(struct here *h, struct node *n, bool *known)
{
	struct node *f = n->call.func;
	*known = false;

	if (f->kind != E_ATTR) {
		struct val v = f->kind == E_NAME ? visit_callee_name(h, n) : visit(h, f);
		if (v.bits & VAL_DICT)
			words_used(h, f, E_CONST);
		return v;
	}
	uint32_t reads = value_method(f->attr.name) & ~(uint32_t)(VAL_POP | VAL_SETDEFAULT);
	struct val base = visit_base(h, f->attr.value, reads ? 0 : VAR_ATTR);
	note_member(h, f, base, VAR_CALLED);
	*known = base.bits || base.n;
	check_keys_attr(h, f, base);
	check_namespace_call(h, n);
	if (base.bits & VAL_ENVIRON && f->attr.name->known == SYM_update && starts_plain(n) &&
		value_of(h->s, n->call.args.v[0], h->scope, h->loop).bits & VAL_DICT)
		report_filled(h, n);
	if (base.bits & VAL_METHODS)
		words_used(h, f->attr.value, E_CONST);
	if (base.bits & VAL_DICT && !value_method(f->attr.name) && !only_writes(f->attr.name))
		words_attr(h, f, n, true);
	return value_of_attr(h->s, f, base);
}

/* What may be changed by what it is passed to. */
static void note_passed(struct here *h, struct node *n)
{
	struct var *v = n->kind == E_NAME || n->kind == E_ATTR
				? key_named_var(h->s, n, h->scope, h->loop)
				: NULL;
	if (!v || v->flags & VAR_PASSED)
		return;
	v->flags |= VAR_PASSED;
	h->s->changed = true;
}

/* Functions that are known to change nothing that they are given. */
static bool changes_nothing(struct here *h, struct node *call)
{
	struct node *f = call->call.func;
	if (f->kind == E_ATTR &&
		(f->attr.name->known == SYM_join ||
			(f->attr.name->known == SYM_dumps && f->attr.value->kind == E_NAME)))
		return true;
	switch (builtin_name(h, f)) {
	case SYM_len:
	case SYM_sorted:
	case SYM_tuple:
	case SYM_list:
	case SYM_set:
	case SYM_frozenset:
	case SYM_dict:
	case SYM_any:
	case SYM_all:
	case SYM_enumerate:
	case SYM_zip:
	case SYM_iter:
	case SYM_print:
		return true;
	default:
		return false;
	}
}

/* name = container: what changes it by that name changes the container. */
static void note_renamed(struct here *h, struct node *target, struct node *value)
{
	const struct sym *name = target->kind == E_ATTR ? target->attr.name : NULL;
	struct var *v = NULL;
	if (target->kind == E_NAME && target->op == NAME_PLAIN) {
		name = target->name;
		v = scope_lookup(h->s, h->scope, name);
	}
	if (name && (name->mutated || (v && v->flags & VAR_PASSED)))
		note_passed(h, value);
}

static void pass(struct here *h, struct node *call, struct node *arg)
{
	if (h->s->containers && !changes_nothing(h, call))
		note_passed(h, arg);
	uint32_t ours = visit(h, arg).bits & VAL_OURS;

	if (ours && (ours != VAL_DICT || !helper_takes_keys(h, call, arg)))
		words_passed(h, call, arg);
}

static struct val visit_call(struct here *h, struct node *n)
{
	bool known;
	struct val f = visit_callee(h, n, &known);
	bool harmless = check_builtin(h, n);
	for (uint32_t m = VAL_GET; m <= VAL_CONTAINS; m <<= 1)
		if (f.bits & m)
			read_call(h, n, m);
	if (f.bits & (VAL_GETENV | VAL_ENV_METHODS))
		env_call(h, n);
	if (f.bits & VAL_ATTRGETTER)
		check_attrgetter(h, n);
	if (f.bits & VAL_IMPORT_MODULE)
		if (!h->s->round)
			report_import_call(h, n);
	if (f.n)
		harmless |= getter_call(h, n, f);
	helper_call(h, n, known);
	for (uint32_t i = 0; i < n->call.args.n; i++) {
		if (harmless)
			visit(h, n->call.args.v[i]);
		else
			pass(h, n, n->call.args.v[i]);
	}
	for (uint32_t i = 0; i < n->call.keywords.n; i++)
		pass(h, n, n->call.keywords.v[i]->keyword.value);
	return value_of_call(h->s, n, f, h->scope, h->loop);
}

/* Operators */

/* The right side of 'in': D.keys() stands for D there. */
static struct val visit_container(struct here *h, struct node *n)
{
	struct node *view = guard_keys_view(h->s, n, h->scope, h->loop);
	return visit_base(h, view ? view : n, 0);
}

static void compare_pair(struct here *h, struct node *n, struct node *left, struct val lv,
	enum cmp_op op, struct node *right, struct val rv)
{
	if (op == CMP_IS || op == CMP_IS_NOT)
		return;
	if (lv.bits & VAL_OURS)
		words_used(h, left, E_COMPARE);
	if (op != CMP_IN && op != CMP_NOT_IN) {
		if (rv.bits & VAL_OURS)
			words_used(h, right, E_COMPARE);
		return;
	}
	if (rv.bits & VAL_DICT)
		read_of(h, right, left, n->line, false);
	if (rv.bits & VAL_ENVIRON)
		report_env(h, left, right, n->line);
	if (rv.bits & VAL_METHODS)
		words_used(h, right, E_COMPARE);
	if (value_is_globals(h->s, right, h->scope) &&
		value_is_keys_name(h->s, left, h->scope, h->loop))
		report_dynamic(h, n, "'EV_KEYS' in globals() is never true: EV_KEYS is in builtins",
			"leave the test out, or write: try: EV_KEYS; except NameError: ...");
}

/* {K, ...} <= D.keys(): all of K in D */
static bool read_subset(struct here *h, struct node *n)
{
	struct display d;
	if (!guard_subset(h->s, n, h->scope, h->loop, &d))
		return false;
	struct here there = *h;
	there.scope = d.scope;
	there.loop = d.loop;
	for (uint32_t i = 0; i < d.of.n; i++)
		report_read(&there, d.of.v[i], n->line, false);
	return true;
}

static struct val visit_compare(struct here *h, struct node *n)
{
	struct node *left = n->cmp.left;
	if (read_subset(h, n))
		return (struct val){0};
	struct val lv = visit(h, left);

	for (uint32_t i = 0; i < n->cmp.right.n; i++) {
		struct node *right = n->cmp.right.v[i];
		enum cmp_op op = (enum cmp_op)n->cmp.ops[i];
		bool in = op == CMP_IN || op == CMP_NOT_IN;
		struct val rv = in ? visit_container(h, right) : visit(h, right);
		compare_pair(h, n, left, lv, op, right, rv);
		left = right;
		lv = rv;
	}
	return (struct val){0};
}

/* Later operands run only if the earlier ones were true ('and') or false ('or'). */
static struct val visit_boolean(struct here *h, struct node *n)
{
	struct here in = *h;
	struct val v = {0};
	for (uint32_t i = 0; i < n->list.n; i++) {
		v = value_merge(h->s, v, visit(&in, n->list.v[i]));
		if (i + 1 < n->list.n)
			guard_assume(&in, n->list.v[i], n->kind == E_AND, WITHOUT_GOES_ON);
	}
	return v;
}

static struct val visit_conditional(struct here *h, struct node *n)
{
	struct here then = *h, other = *h;
	visit(h, n->three.a);
	guard_assume(&then, n->three.a, true, WITHOUT_GOES_ON);
	guard_assume(&other, n->three.a, false, WITHOUT_GOES_ON);
	struct val v = visit(&then, n->three.b);
	return value_merge(h->s, v, visit(&other, n->three.c));
}

static bool in_class(const struct here *h)
{
	return h->scope->kind == SCOPE_CLASS;
}

static struct val visit_named(struct here *h, struct node *n)
{
	struct val v = visit(h, n->two.b);
	if (v.bits & VAL_OURS && in_class(h))
		words_used(h, n->two.b, S_ASSIGN);
	return v;
}

/* Functions and comprehensions */

static void visit_params(struct here *h, struct seq params)
{
	for (uint32_t i = 0; i < params.n; i++) {
		if (params.v[i]->param.annotation)
			use(h, params.v[i]->param.annotation);
		if (params.v[i]->param.value)
			visit(h, params.v[i]->param.value);
	}
}

/* What was caught around a function's definition is not around its calls. */
static struct here inside(const struct here *h, struct scope *scope)
{
	struct here in = *h;
	in.scope = scope;
	in.caught = in.tried = false;
	in.block = NULL;
	return in;
}

static void visit_lambda(struct here *h, struct node *n)
{
	struct here in = inside(h, n->lambda.scope);
	visit_params(h, n->lambda.params);
	use_in(&in, n->lambda.body, E_LAMBDA);
}

static void store_parts(struct here *h, struct node *t);

static void visit_comprehension(struct here *h, struct node *n)
{
	struct here in = *h;
	in.scope = n->comp.scope;
	for (uint32_t i = 0; i < n->comp.clauses.n; i++) {
		struct node *c = n->comp.clauses.v[i];
		use_in(i ? &in : h, c->clause.iter, X_COMP);
		in.loop = c->clause.loop;
		store_parts(&in, c->clause.target);
		for (uint32_t k = 0; k < c->clause.ifs.n; k++) {
			visit(&in, c->clause.ifs.v[k]);
			guard_assume(&in, c->clause.ifs.v[k], true, WITHOUT_GOES_ON);
		}
	}
	use_in(&in, n->comp.elt, E_LIST);
	if (n->comp.value)
		use(&in, n->comp.value);
}

static struct val visit(struct here *h, struct node *n)
{
	switch (n->kind) {
	case E_NAME:
		return visit_name(h, n, VAR_USED);
	case E_CONST:
	case E_STR:
	case E_BYTES:
		break;
	case E_ATTR:
		return visit_attr(h, n);
	case E_SUBSCRIPT:
		return visit_subscript(h, n);
	case E_CALL:
		return visit_call(h, n);
	case E_COMPARE:
		return visit_compare(h, n);
	case E_AND:
	case E_OR:
		return visit_boolean(h, n);
	case E_IFEXP:
		return visit_conditional(h, n);
	case E_NAMED:
		return visit_named(h, n);
	case E_UNARY:
		if (n->op == K_NOT)
			visit(h, n->one);
		else
			use(h, n->one);
		break;
	case E_LAMBDA:
		visit_lambda(h, n);
		break;
	case E_LISTCOMP:
	case E_SETCOMP:
	case E_GENEXP:
	case E_DICTCOMP:
		visit_comprehension(h, n);
		break;
	default:
		use_children(h, n);
	}
	return (struct val){0};
}

/* Assignments */

/* The expressions within a target. */
static void store_parts(struct here *h, struct node *t)
{
	switch (t->kind) {
	case E_ATTR:
		copy_note_store(h, t);
		if (visit(h, t->attr.value).bits & VAL_OURS)
			words_used(h, t->attr.value, E_CONST);
		break;
	case E_SUBSCRIPT:
		if (visit(h, t->sub.value).bits & VAL_METHODS)
			words_used(h, t->sub.value, E_CONST);
		use(h, t->sub.index);
		break;
	case E_TUPLE:
	case E_LIST:
		for (uint32_t i = 0; i < t->list.n; i++)
			store_parts(h, t->list.v[i]);
		break;
	case E_STARRED:
		store_parts(h, t->one);
		break;
	default:
		break;
	}
}

/* Only a variable may take EV_KEYS, and not one of a class. */
static bool takes_keys(struct here *h, const struct node *t)
{
	if (t->kind != E_NAME)
		return false;
	if (!in_class(h) || t->op == NAME_FIXED)
		return !in_class(h);
	struct var *own = scope_own(h->scope, t->name);
	return own && own->flags & (VAR_GLOBAL | VAR_NONLOCAL);
}

static void visit_part(struct node *n, void *arg)
{
	struct here *h = arg;
	uint32_t ours = visit(h, n->kind == X_KEYWORD ? n->keyword.value : n).bits & VAL_OURS;
	if (ours & ~(uint32_t)VAL_DICT)
		words_used(h, n, E_CONST);
}

/* The parts of a copy: those that are EV_KEYS do no harm here. */
static void visit_copy(struct here *h, struct node *n)
{
	if (n->kind == E_CALL && n->call.func->kind == E_ATTR &&
		n->call.func->attr.name->known == SYM_copy)
		visit(h, n->call.func->attr.value);
	else
		ast_each(n, visit_part, h);
}

static bool is_itself(struct here *h, struct node *n)
{
	return (value_of(h->s, n, h->scope, h->loop).bits & VAL_OURS) == VAL_DICT;
}

static void assign_all(struct here *h, struct node *value, struct node **targets, uint32_t n)
{
	bool pairs = true, taken = true;
	for (uint32_t i = 0; i < n; i++) {
		pairs &= scope_unpacks(targets[i], value);
		taken &= takes_keys(h, targets[i]);
	}
	if (pairs) {
		struct node **part = arena_alloc(&h->s->arena, n * sizeof(struct node *));
		for (uint32_t k = 0; k < value->list.n; k++) {
			for (uint32_t i = 0; i < n; i++)
				part[i] = targets[i]->list.v[k];
			assign_all(h, value->list.v[k], part, n);
		}
		return;
	}
	for (uint32_t i = 0; h->s->containers && i < n; i++)
		note_renamed(h, targets[i], value);
	if (taken && value->kind == E_CALL)
		value->mark = true;
	if (taken && n == 1 && copy_is_followed(h, targets[0], value))
		visit_copy(h, value);
	else if (taken)
		visit(h, value);
	else if (n == 1 && is_itself(h, value) && copy_holds(h, targets[0]))
		visit(h, value);
	else
		use_in(h, value, S_ASSIGN);
	for (uint32_t i = 0; i < n; i++)
		store_parts(h, targets[i]);
}

static void augmented(struct here *h, struct node *n)
{
	struct node *t = n->two.a;
	if (t->kind == E_SUBSCRIPT)
		read_index(h, t, value_of(h->s, t->sub.value, h->scope, h->loop));
	if (t->kind == E_ATTR)
		check_keys_attr(h, t, value_of(h->s, t->attr.value, h->scope, h->loop));
	store_parts(h, t);
	use(h, n->two.b);
}

/* Exceptions */

/* Whether a handler of this type gets the KeyError of a missing key. */
static bool catches(struct here *h, struct node *type)
{
	if (!type)
		return true;
	for (uint32_t i = 0; type->kind == E_TUPLE && i < type->list.n; i++)
		if (type->list.v[i]->kind != E_TUPLE && catches(h, type->list.v[i]))
			return true;
	switch (type->kind == E_TUPLE ? SYM_NONE : builtin_name(h, type)) {
	case SYM_Exception:
	case SYM_BaseException:
	case SYM_KeyError:
	case SYM_LookupError:
		return true;
	default:
		return false;
	}
}

/* Whether a handler leads to giving up. */
static bool gives_up(struct here *in, struct seq handler)
{
	enum leave leave = leave_of(in->s, handler, in->scope);
	bool in_the_end = leave == LEAVE_NOT && leave_in_the_end(in, handler);
	in->tried |= in_the_end;
	return in_the_end || leave == LEAVE_GIVES_UP;
}

static void try_stmt(struct here *h, struct node *n)
{
	struct here in = *h;
	bool taken = false;
	/* The first handler for a missing key is the one that gets it. */
	for (uint32_t i = 0; i < n->try.handlers.n && !taken; i++) {
		struct node *c = n->try.handlers.v[i];
		taken = catches(h, c->handler.type);
		in.caught |= taken && !gives_up(&in, c->handler.body);
	}
	body(&in, n->try.body);
	for (uint32_t i = 0; i < n->try.handlers.n; i++) {
		struct node *c = n->try.handlers.v[i];
		if (c->handler.type)
			use(h, c->handler.type);
		body(h, c->handler.body);
	}
	body(h, n->try.orelse);
	body(h, n->try.final);
}

static bool suppresses(struct here *h, struct node *n)
{
	if (n->kind != E_CALL ||
		!(value_of(h->s, n->call.func, h->scope, h->loop).bits & VAL_SUPPRESS))
		return false;
	for (uint32_t i = 0; i < n->call.args.n; i++)
		if (catches(h, n->call.args.v[i]))
			return true;
	return false;
}

static void with_stmt(struct here *h, struct node *n)
{
	struct here in = *h;
	for (uint32_t i = 0; i < n->with.items.n; i++) {
		struct node *item = n->with.items.v[i];
		use(&in, item->two.a);
		in.caught |= !(n->flags & NODE_ASYNC) && suppresses(h, item->two.a);
		if (item->two.b)
			store_parts(&in, item->two.b);
	}
	body(&in, n->with.body);
}

/* match: what of a pattern is about EV_KEYS itself */
static void pattern(struct here *h, struct node *p, bool keys);

static void patterns(struct here *h, struct seq s, bool keys)
{
	for (uint32_t i = 0; i < s.n; i++)
		pattern(h, s.v[i], keys);
}

static void class_pattern(struct here *h, struct node *p, bool keys)
{
	/* dict(x) captures what is matched. */
	bool itself = keys && p->pclass.args.n == 1 && p->pclass.cls->kind == E_NAME;
	use(h, p->pclass.cls);
	patterns(h, p->pclass.args, itself);
	patterns(h, p->pclass.values, false);
}

static void mapping_pattern(struct here *h, struct node *p, bool keys)
{
	for (uint32_t i = 0; i < p->mapping.keys.n; i++) {
		struct node *k = p->mapping.keys.v[i];
		use(h, k);
		if (keys)
			report_read(h, k, k->line, false);
	}
	patterns(h, p->mapping.values, false);
	if (keys && p->mapping.rest)
		report_dynamic(
			h, p, "a pattern captures EV_KEYS", "name the keys: case {'NAME': value}");
}

static void pattern(struct here *h, struct node *p, bool keys)
{
	switch (p->kind) {
	case P_VALUE:
		use(h, p->one);
		break;
	case P_SEQUENCE:
		patterns(h, p->list, false);
		break;
	case P_MAPPING:
		mapping_pattern(h, p, keys);
		break;
	case P_CLASS:
		class_pattern(h, p, keys);
		break;
	case P_AS:
		if (keys && p->capture.name)
			report_dynamic(h, p, "a pattern captures EV_KEYS",
				"name the keys: case {'NAME': value}");
		if (p->capture.pattern)
			pattern(h, p->capture.pattern, keys);
		break;
	case P_OR:
		patterns(h, p->list, keys);
		break;
	default:
		break;
	}
}

static void match_stmt(struct here *h, struct node *n)
{
	struct val v = visit(h, n->match.subject);
	if (v.bits & VAL_METHODS)
		words_used(h, n->match.subject, E_CONST);
	for (uint32_t i = 0; i < n->match.cases.n; i++) {
		struct node *c = n->match.cases.v[i];
		struct here in = *h;
		pattern(&in, c->kase.pattern, v.bits & VAL_DICT);
		if (c->kase.guard) {
			visit(&in, c->kase.guard);
			guard_assume(&in, c->kase.guard, true, WITHOUT_GOES_ON);
		}
		body(&in, c->kase.body);
	}
}

/* Statements */

static void if_stmt(struct here *h, struct node *n)
{
	struct here then = *h, other = *h;
	visit(h, n->cond.test);
	guard_assume(&then, n->cond.test, true, WITHOUT_GOES_ON);
	guard_assume(&other, n->cond.test, false, WITHOUT_GOES_ON);
	body(&then, n->cond.body);
	body(&other, n->cond.orelse);
}

static void for_stmt(struct here *h, struct node *n)
{
	struct here in = *h;
	use_in(h, n->loop.iter, S_FOR);
	store_parts(h, n->loop.target);
	in.loop = n->loop.loop;
	body(&in, n->loop.body);
	body(h, n->loop.orelse);
}

static void func_stmt(struct here *h, struct node *n)
{
	struct here in = inside(h, n->func.scope);
	use_all(h, n->func.decorators);
	visit_params(&in, n->func.type_params);
	visit_params(h, n->func.params);
	if (n->func.returns)
		use(h, n->func.returns);
	body(&in, n->func.body);
}

static void class_stmt(struct here *h, struct node *n)
{
	struct here in = *h;
	use_all(h, n->cls.decorators);
	in.scope = n->cls.scope;
	visit_params(&in, n->cls.type_params);
	use_all(h, n->cls.args);
	use_all(h, n->cls.keywords);
	body(&in, n->cls.body);
}

static void delete_part(struct here *h, struct node *t)
{
	if (t->kind != E_NAME)
		store_parts(h, t);
}

static void annotated(struct here *h, struct node *n)
{
	use(h, n->three.b);
	if (n->three.c)
		assign_all(h, n->three.c, &n->three.a, 1);
	else
		store_parts(h, n->three.a);
}

static void stmt(struct here *h, struct node *n)
{
	switch (n->kind) {
	case S_EXPR:
		visit(h, n->one);
		break;
	case S_ASSIGN:
		assign_all(h, n->assign.value, n->assign.targets.v, n->assign.targets.n);
		break;
	case S_ANNASSIGN:
		annotated(h, n);
		break;
	case S_AUGASSIGN:
		augmented(h, n);
		break;
	case S_DELETE:
		for (uint32_t i = 0; i < n->list.n; i++)
			delete_part(h, n->list.v[i]);
		break;
	case S_ASSERT:
		visit(h, n->two.a);
		if (n->two.b)
			use(h, n->two.b);
		break;
	case S_IF:
	case S_WHILE:
		if_stmt(h, n);
		break;
	case S_FOR:
		for_stmt(h, n);
		break;
	case S_WITH:
		with_stmt(h, n);
		break;
	case S_TRY:
		try_stmt(h, n);
		break;
	case S_MATCH:
		match_stmt(h, n);
		break;
	case S_FUNC:
		func_stmt(h, n);
		break;
	case S_CLASS:
		class_stmt(h, n);
		break;
	case S_TYPEALIAS:
		use(h, n->alias_stmt.value);
		break;
	case S_IMPORT:
	case S_IMPORTFROM:
		n->flags |= h->caught ? NODE_CAUGHT : 0;
		break;
	default:
		use_children(h, n);
	}
}

/* What is known behind an 'if' is known to the end of its block. */
static void body(struct here *h, struct seq stmts)
{
	struct standing block = {.of = stmts, .up = h->block};
	struct here in = *h;
	in.block = &block;
	for (uint32_t i = 0; i < stmts.n; i++) {
		block.at = i;
		stmt(&in, stmts.v[i]);
		if (stmts.v[i]->kind == S_IF && i + 1 < stmts.n)
			leave_assume(&in, stmts.v[i]);
	}
}

void reads_collect(struct scan *s)
{
	s->reads.n = s->dynamics.n = s->envs.n = s->globals.n = 0;
	s->changed = false;
	for (size_t i = 0; i < s->files.n; i++) {
		struct scan_file *f = s->files.v[i];
		struct here h = {.s = s, .file = f, .scope = f->scope};
		if (f->parsed)
			body(&h, f->body);
	}
	if (s->container_asked && (s->reads.n || s->dynamics.n) && s->round < 2)
		s->containers = s->changed = true;
	if (s->changed)
		helper_pass_on(s);
}
