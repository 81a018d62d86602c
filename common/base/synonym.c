#include "base/synonym.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define GROUP_MOST 14

/* In each, what comes earlier is the better answer. */
static const char *const verbs[][GROUP_MOST] = {
	{"list", "runs", "ls", "all", "index", "ps", "dir"},
	{"rm", "end", "cancel", "remove", "delete", "del", "unset", "drop", "destroy", "erase",
		"purge", "forget", "uninstall"},
	{"set", "rotate", "limit", "update", "edit", "change", "modify", "configure", "config",
		"patch", "alter"},
	{"rotate", "roll", "renew", "refresh", "reset", "replace"},
	{"get", "show", "view", "describe", "info", "inspect", "cat", "print", "display", "read",
		"details"},
	{"get", "download", "fetch", "pull", "save", "copy", "cp", "export"},
	{"add", "create", "start", "init", "new", "make", "register", "insert", "declare", "put",
		"mk"},
	{"clear", "detach", "revoke", "withdraw", "unbind", "unlink", "release", "disconnect",
		"remove", "rm", "delete"},
	{"set", "attach", "bind", "link", "connect", "assign", "associate"},
	{"grant", "allow", "permit", "give", "share"},
	{"revoke", "deny", "forbid", "disallow", "ungrant"},
	{"end", "cancel", "stop", "kill", "close", "terminate", "abort", "quit", "down"},
	{"start", "run", "open", "begin", "launch", "up", "exec"},
	{"publish", "release", "deploy", "ship", "push", "freeze"},
	{"unpublish", "withdraw", "retract", "unrelease", "yank"},
	{"versions", "version", "history", "releases", "tags", "revisions", "snapshots"},
	{"status", "stat", "state", "stats", "info", "size"},
	{"backup", "dump", "export", "save", "copy", "snapshot"},
	{"restore", "import", "load", "recover"},
	{"init", "setup", "new", "create", "bootstrap", "start"},
	{"supply", "provide", "give", "bring"},
	{"show", "log", "logs", "tail", "trace", "output"},
	{"gc", "prune", "clean", "cleanup", "vacuum", "expire"},
	{"call", "request", "curl", "invoke", "ask"},
	{"test", "check", "ping", "try", "probe"},
	{"results", "result", "outputs"},
	{"wait", "resume", "continue", "watch", "follow", "attach"},
	{"egress", "requests", "network", "traffic", "http"},
	/* nouns */
	{"cred", "secret", "secrets", "key", "keys", "credential", "credentials", "creds", "token",
		"env"},
	{"bind", "unbind", "binding", "bindings", "link"},
	{"expert", "tool", "tools", "function", "functions", "agent", "app", "package", "publish"},
	{"run", "call", "exec", "invoke", "execute", "start"},
	{"verify", "check", "lint", "test", "scan", "validate", "audit"},
	{"artifact", "file", "files", "output", "outputs", "download"},
	{"conn", "connection", "connections", "api", "apis", "grant"},
	{"log", "history", "runs", "events", "trace", "journal"},
	{"session", "sandbox", "shell", "ps"},
	{"batch", "jobs", "job", "queue"},
	{"buyer", "user", "users", "customer", "client", "clients", "account", "accounts"},
	{"serve", "server", "daemon", "listen", "http"},
	{"state", "backup", "restore", "rekey", "status", "db", "database"},
	{"init", "setup", "configure", "install", "login"},
	{"help", "man", "docs", "doc", "usage", "manual"},
};

static const char *const options[][GROUP_MOST] = {
	{"output", "format", "json", "fmt", "out"},
	{"yes", "force", "assume-yes", "no-confirm", "non-interactive", "confirm"},
	{"dry-run", "plan", "check", "what-if", "whatif", "diff", "noop"},
	{"from-file", "file", "value-file", "path", "stdin", "from-stdin", "secret-file"},
	{"file", "filename", "from-file", "config"},
	{"dir", "directory", "path", "folder"},
	{"state", "home", "data-dir", "root"},
	{"buyer", "user", "as", "for", "customer"},
	{"input", "data", "json", "body", "params", "payload", "args"},
	{"input-file", "data-file", "json-file"},
	{"arg", "param", "set", "var"},
	{"timeout", "deadline", "max-time", "time-limit"},
	{"outputs", "output-dir", "out-dir", "save", "artifacts"},
	{"to", "dest", "destination", "target", "into"},
	{"debug", "verbose", "trace", "logs"},
	{"connect-to", "resolve", "address", "addr", "ip"},
	{"ca-file", "ca", "cacert", "ca-cert", "certificate", "cert"},
	{"allow-private", "private", "allow-local", "allow-loopback"},
	{"plain", "insecure", "http", "allow-http", "no-tls"},
	{"bind", "key", "credential", "cred", "secret"},
	{"older", "older-than", "before", "days", "age"},
	{"expert", "for", "tool"},
};

static const struct {
	const char *verb, *command;
	bool surely;
} commands[] = {
	{"bind", "evctl-bind set HOST CRED", true},
	{"unbind", "evctl-bind clear HOST", true},
	{"attach", "evctl-expert attach EXPERT HOST", true},
	{"detach", "evctl-expert detach EXPERT HOST", true},
	{"run", "evctl-run EXPERT TOOL"},
	{"call", "evctl-run EXPERT TOOL"},
	{"verify", "evctl-verify EXPERT", true},
	{"check", "evctl-verify EXPERT"},
	{"test", "evctl-run EXPERT --examples"},
	{"diff", "evctl-expert show EXPERT --diff"},
	{"publish", "evctl-expert publish EXPERT", true},
	{"grant", "evctl-conn grant NAME EXPERT --payer builder", true},
	{"supply", "evctl-cred supply NAME --expert EXPERT --buyer BUYER", true},
	{"logs", "evctl-log runs"},
	{"audit", "evctl-log audit"},
	{"backup", "evctl-state backup DIR"},
	{"restore", "evctl-state restore DIR"},
	{"rekey", "evctl-state rekey"},
	{"serve", "evctl-serve"},
	{"doctor", "evctl-doctor"},
	{"apply", "evctl-apply -f FILE"},
	{"export", "evctl-apply --export"},
};

static bool is_in(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

static const char *in_group(const char *const *group, const char *word, const char *const *words)
{
	for (size_t k = 0; k < GROUP_MOST && group[k] && is_in(word, group); k++)
		if (strcmp(group[k], word) != 0 && is_in(group[k], words))
			return group[k];
	return NULL;
}

const char *synonym_word(const char *word, const char *const *words)
{
	const char *found = NULL;
	for (size_t i = 0; !found && i < sizeof verbs / sizeof *verbs; i++)
		found = in_group(verbs[i], word, words);
	return found;
}

const char *synonym_option(const char *word, const char *const *words)
{
	const char *found = NULL;
	for (size_t i = 0; !found && i < sizeof options / sizeof *options; i++)
		found = in_group(options[i], word, words);
	return found;
}

const char *synonym_command(const char *program, const char *verb, bool surely)
{
	size_t n = strlen(program);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].verb, verb) == 0 && commands[i].surely >= surely &&
			(strncmp(commands[i].command, program, n) != 0 ||
				commands[i].command[n] != ' '))
			return commands[i].command;
	return NULL;
}
