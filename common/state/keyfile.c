#include "state/keyfile.h"
#include "base/file.h"
#include "state/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE_MAX 4096

const char *keyfile_new_path(const struct state_place *place, struct err *e)
{
	for (size_t i = 0; i < place->nkeys; i++)
		if (place->keys[i].use == KEY_NAMED || place->keys[i].use == KEY_DEFAULT)
			return place->keys[i].path;
	err_set(e, ERR_KEY, "no place for the private key: HOME is not set");
	err_hint(e, "give --key-file FILE");
	return NULL;
}

static int read_passphrase(
	const struct passphrase_source *from, bool twice, struct secret *out, struct err *e)
{
	if (from->fd >= 0)
		return prompt_from_fd(from->fd, from->option, 4096, out, e);
	if (prompt_hidden(
		    twice ? "new passphrase of the private key" : "passphrase of the private key",
		    out, NULL, e) < 0) {
		if (e->code == ERR_CANCELLED)
			return -1;
		e->code = ERR_KEY;
		return err_hint(e, "give the passphrase by --%s N", from->option);
	}
	if (!twice)
		return 0;
	SECRET_AUTO again = {0};
	if (prompt_hidden("the same again", &again, NULL, e) < 0)
		return -1;
	if (again.n == out->n && memcmp(again.data, out->data, out->n) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "the two passphrases differ");
}

static int from_text(
	const struct state_place *place, struct secret *text, struct secret *key, struct err *e)
{
	const struct passphrase_source from = {place->pass_fd, "passphrase-fd"};
	SECRET_AUTO pass = {0};
	bool wrapped = seal_key_is_wrapped(text);
	if (wrapped && read_passphrase(&from, false, &pass, e) < 0)
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

int keyfile_load(const struct state_place *place, const char *path, bool group_ok,
	struct secret *key, struct err *e)
{
	SECRET_AUTO text = {0};
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err_errno(e, ERR_KEY, "cannot open the private key '%s'", path);
		return err_hint(e, "give --key-file FILE");
	}
	if (check_readers(fd, path, group_ok, e) < 0 || read_key_fd(fd, &text, e) < 0)
		return -1;
	return from_text(place, &text, key, e);
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

static int load_from_fd(
	const struct state_place *place, struct secret *key, char **from, struct err *e)
{
	SECRET_AUTO text = {0};
	*from = strdup("the descriptor of --key-fd");
	if (read_key_fd(place->key_fd, &text, e) < 0)
		return -1;
	return from_text(place, &text, key, e);
}

/* The first that is named or exists, else the last default. */
static const struct key_place *choose(const struct state_place *place)
{
	const struct key_place *last = NULL;
	for (size_t i = 0; i < place->nkeys; i++) {
		const struct key_place *k = &place->keys[i];
		if (k->use == KEY_NAMED || (k->use != KEY_UNUSED && file_exists(k->path)))
			return k;
		if (k->use == KEY_DEFAULT)
			last = k;
	}
	return last;
}

/* The file itself, or the one of the wanted key beside it. */
int keyfile_find(const struct state_place *place, const unsigned char public_key[SEAL_KEY_BYTES],
	struct secret *key, char **from, const char **by, struct err *e)
{
	free(*from);
	*from = NULL;
	*by = "--key-fd";
	if (place->key_fd >= 0)
		return load_from_fd(place, key, from, e);
	const struct key_place *k = choose(place);
	if (!k)
		return keyfile_new_path(place, e) ? 0 : -1;
	STR_AUTO beside = keyfile_beside(k->path, public_key);
	const char *take = beside && file_exists(beside) ? beside : k->path;
	*from = strdup(take);
	*by = k->from;
	if (file_exists(take)) {
		struct err none = {0};
		if (keyfile_load(place, take, k->use == KEY_SENT, key, e) == 0)
			return 0;
		/* Whoever named another file than was meant sees by which word; of a passphrase
		 * there is nothing more to say. */
		return keyfile_is_wrapped(take, &none) == 1 ? -1
		       : k->use == KEY_DEFAULT ? err_wrap(e, "by default (%s)", k->from)
					       : err_wrap(e, "by %s", k->from);
	}
	err_set(e, ERR_KEY, "there is no private key where %s says: '%s'", k->from, take);
	return err_hint(e, "give --key-file FILE, or set EVCTL_KEY_FILE");
}

int keyfile_write(const char *path, const struct secret *key,
	const struct passphrase_source *passphrase, struct err *e)
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
	if (passphrase && read_passphrase(passphrase, true, &pass, e) < 0)
		return -1;
	if (seal_key_to_text(key, passphrase ? &pass : NULL, &text, e) < 0)
		return -1;
	return file_write_atomic(path, text.data, text.n, 0600, e);
}
