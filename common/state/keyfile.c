#include "state/keyfile.h"
#include "base/file.h"
#include "state/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE_MAX 4096

static char *xdg_key(struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *out = NULL;
	int n = -1;
	if (xdg && *xdg == '/')
		n = asprintf(&out, "%s/evctl/master.key", xdg);
	else if (home && *home)
		n = asprintf(&out, "%s/.config/evctl/master.key", home);
	if (n >= 0)
		return out;
	err_set(e, ERR_KEY, "no place for the private key: HOME is not set");
	err_hint(e, "give --key-file FILE");
	return NULL;
}

/* Was the state directory named, rather than the default one? */
static bool dir_is_named(const struct invocation *in)
{
	const char *home = getenv("EVCTL_HOME");
	return opt(in, "state") || (home && *home);
}

char *keyfile_place(const struct invocation *in, const char *dir, struct err *e)
{
	const char *file = opt(in, "key-file"), *env = getenv("EVCTL_KEY_FILE");
	char *out = NULL;
	if (file || (env && *env))
		out = strdup(file ? file : env);
	else if (dir_is_named(in))
		out = path_join(dir, "master.key");
	else
		return xdg_key(e);
	if (!out)
		err_set(e, ERR_FAIL, "out of memory");
	return out;
}

static int read_passphrase(const struct invocation *in, const char *option, bool twice,
	struct secret *out, struct err *e)
{
	if (opt_flag(in, option))
		return prompt_from_fd(in, option, 4096, true, out, e);
	if (prompt_hidden(
		    twice ? "new passphrase of the private key" : "passphrase of the private key",
		    out, e) < 0) {
		if (e->code == ERR_CANCELLED)
			return -1;
		e->code = ERR_KEY;
		return err_hint(e, "give the passphrase by --%s N", option);
	}
	if (!twice)
		return 0;
	SECRET_AUTO again = {0};
	if (prompt_hidden("the same again", &again, e) < 0)
		return -1;
	if (again.n == out->n && memcmp(again.data, out->data, out->n) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "the two passphrases differ");
}

static int from_text(
	const struct invocation *in, struct secret *text, struct secret *key, struct err *e)
{
	SECRET_AUTO pass = {0};
	bool wrapped = seal_key_is_wrapped(text);
	if (wrapped && read_passphrase(in, "passphrase-fd", false, &pass, e) < 0)
		return -1;
	return seal_key_from_text(text, wrapped ? &pass : NULL, key, e);
}

static int check_readers(int fd, const char *path, bool group_ok, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_KEY, "the private key is not a regular file: '%s'", path);
	mode_t others = group_ok ? 0007 : 0077;
	if (!(st.st_mode & others))
		return 0;
	err_set(e, ERR_KEY, "the private key can be read by others: '%s'", path);
	return err_hint(e, "chmod 600 '%s'", path);
}

static int read_key_fd(int fd, struct secret *text, struct err *e)
{
	size_t n = 0;
	ssize_t got;
	if (secret_alloc(text, KEY_FILE_MAX, e) < 0)
		return -1;
	while (n < text->n && (got = read(fd, text->data + n, text->n - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return err_errno(e, ERR_KEY, "cannot read the private key");
		n += got > 0 ? (size_t)got : 0;
	}
	secret_truncate(text, n);
	return 0;
}

int keyfile_load(const struct invocation *in, const char *path, bool group_ok, struct secret *key,
	struct err *e)
{
	SECRET_AUTO text = {0};
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err_errno(e, ERR_KEY, "cannot open the private key '%s'", path);
		return err_hint(e, "give --key-file FILE");
	}
	if (check_readers(fd, path, group_ok, e) < 0 || read_key_fd(fd, &text, e) < 0)
		return -1;
	return from_text(in, &text, key, e);
}

static int load_from_fd(const struct invocation *in, struct secret *key, struct err *e)
{
	SECRET_AUTO text = {0};
	long n;
	if (opt_int(in, "key-fd", -1, 0, 1 << 20, &n, e) < 0)
		return -1;
	if (read_key_fd((int)n, &text, e) < 0)
		return -1;
	return from_text(in, &text, key, e);
}

char *keyfile_beside(const char *path, const unsigned char public_key[SEAL_KEY_BYTES])
{
	char print[40], *out = NULL;
	size_t n = 0;
	seal_fingerprint(print, public_key);
	for (const char *p = print; *p; p++)
		if (*p != ' ')
			print[n++] = *p;
	print[n] = '\0';
	return asprintf(&out, "%s.%s", path, print) < 0 ? NULL : out;
}

int keyfile_is_wrapped(const char *path, struct err *e)
{
	SECRET_AUTO text = {0};
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(e, ERR_KEY, "cannot open the private key '%s'", path);
	if (read_key_fd(fd, &text, e) < 0)
		return -1;
	return seal_key_is_wrapped(&text);
}

/* The file itself, or the one of the wanted key beside it. */
static int load_wanted(const struct invocation *in, const char *path, bool group_ok,
	const unsigned char *public_key, struct secret *key, char **from, struct err *e)
{
	STR_AUTO beside = keyfile_beside(path, public_key);
	const char *take = beside && file_exists(beside) ? beside : path;
	*from = strdup(take);
	if (!file_exists(take)) {
		err_set(e, ERR_KEY, "there is no private key: '%s'", take);
		return err_hint(e, "give --key-file FILE, or set EVCTL_KEY_FILE");
	}
	return keyfile_load(in, take, group_ok, key, e);
}

int keyfile_find(const struct invocation *in, const char *dir,
	const unsigned char public_key[SEAL_KEY_BYTES], struct secret *key, char **from,
	struct err *e)
{
	const char *env = getenv("EVCTL_KEY_FILE"), *creds = getenv("CREDENTIALS_DIRECTORY");
	STR_AUTO sent = creds && *creds ? path_join(creds, "evctl.key") : NULL;
	STR_AUTO beside = dir_is_named(in) ? path_join(dir, "master.key") : NULL;
	free(*from);
	if (opt_flag(in, "key-fd")) {
		*from = strdup("the descriptor of --key-fd");
		return load_from_fd(in, key, e);
	}
	const char *named = opt(in, "key-file");
	if (!named && env && *env)
		named = env;
	bool group_ok = !named && sent && file_exists(sent);
	STR_AUTO xdg = NULL;
	const char *path = named ? named : group_ok ? sent : NULL;
	if (!path && beside && file_exists(beside))
		path = beside;
	if (!path)
		path = xdg = xdg_key(e);
	if (!path)
		return -1;
	return load_wanted(in, path, group_ok, public_key, key, from, e);
}

int keyfile_write(const struct invocation *in, const char *path, const struct secret *key,
	const char *passphrase, struct err *e)
{
	SECRET_AUTO pass = {0};
	SECRET_AUTO text = {0};
	STR_AUTO parent = strdup(path);
	if (!parent)
		return err_set(e, ERR_FAIL, "out of memory");
	char *slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		if (file_mkdirs(parent, 0700, e) < 0)
			return -1;
	}
	if (passphrase && read_passphrase(in, passphrase, true, &pass, e) < 0)
		return -1;
	if (seal_key_to_text(key, passphrase ? &pass : NULL, &text, e) < 0)
		return -1;
	return file_write_atomic(path, text.data, text.n, 0600, e);
}
