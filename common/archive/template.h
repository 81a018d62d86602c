/*
 * HTML with holes for the members of a JSON object. The text of a template is the program's own,
 * ASCII; what fills the holes is anybody's.
 *
 *	{{name}}		the value, escaped for where it stands: between tags, or in the
 *				quotes of an attribute. A hole anywhere else in a tag is refused,
 *				and there is no hole that does not escape.
 *	{{name:form}}		in another form: see the table in template.c
 *	{{?name}}...{{/}}	if there is one: not null, false, 0, "" or []
 *	{{!name}}...{{/}}	if not
 *	{{#name}}...{{/}}	for each object of an array, whose members are found first in it
 *	{{>name}}		another template, its last newline left off
 */
#ifndef EVCTL_ARCHIVE_TEMPLATE_H
#define EVCTL_ARCHIVE_TEMPLATE_H

#include "base/buf.h"
#include "base/json.h"

struct template
{
	const char *name, *text;
};

/*
 * Appends the one of that name of a table (which a NULL name ends). A hole with no value, or a
 * template that is none, marks out as failed: such a page is not shown.
 */
void template_render(
	const struct template *all, const char *name, const json_t *model, struct buf *out);

#endif
