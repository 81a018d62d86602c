/*
 * Copies of the whole state: made, verified, put back; and new keys for all that is sealed.
 *
 * A backup is a directory, 0700: state.db (one consistent moment), objects/ab/cdef..., and
 * manifest.json with the SHA-256 of each. The private key is never in it. It is written beside its
 * place under a name of its own and renamed there when all of it is on the disk, so a directory of
 * the wanted name is always a whole backup.
 */
#ifndef EVCTL_STATE_BACKUP_H
#define EVCTL_STATE_BACKUP_H

#include "state/keyfile.h"
#include "state/state.h"

struct backup_info {
	char *path; /* owned */
	int64_t schema, objects, bytes, audit_rows;
	char created[24], fingerprint[40];
	struct strv lacking; /* artifacts whose bytes were missing or damaged already: "RUN NAME" */
};

void backup_info_free(struct backup_info *b);
#define BACKUP_INFO_AUTO __attribute__((cleanup(backup_info_free))) struct backup_info

/* ERR_CONFLICT if `to` exists. Writes one audit row. */
int backup_make(struct state *st, const char *to, struct backup_info *b, struct err *e);

enum backup_flags {
	BACKUP_LINK = 1, /* objects are linked, not copied, and not hashed: same file system */
};
/* The same without an audit row. st's database may be open for reading only. */
int backup_write(struct state *st, const char *to, int flags, struct backup_info *b, struct err *e);

/* What a backup's manifest says; nothing is verified yet. ERR_STATE if it is no backup. */
int backup_read(const char *from, struct backup_info *b, struct err *e);

/* The manifest file, of the right shape on its outside; owned by the caller. */
json_t *backup_manifest(const char *path, struct err *e);

/*
 * Verifies every byte of a backup, then puts it in place of the state that is there, which may be
 * damaged or missing. The old state stays aside until the new one is in place; a crash at any step
 * leaves one of the two, whole. ERR_STATE: the backup is damaged, nothing was changed. ERR_BUSY and
 * ERR_CONFLICT: programs, runs or sessions are using the state. Needs no private key.
 */
int backup_restore(
	const struct state_place *place, const char *from, struct backup_info *b, struct err *e);

struct rekey {
	const char *to; /* the new key's file; NULL: in place of the old one */
	bool wrap;	/* the new key, by this passphrase */
	struct passphrase_source passphrase;
	bool drop_old; /* else the old key is kept beside, as FILE.FINGERPRINT */
	/* filled; owned by the caller's rekey_free() */
	char *key, *old_key; /* files; old_key NULL: not kept, or not ours */
	char fingerprint[40], old_fingerprint[40];
	int64_t records;
};

void rekey_free(struct rekey *r);
/*
 * A new key pair; the data key of every sealed record is sealed to it, in one transaction. The new
 * key's file is on the disk before, and state_unlock() finds it there after a crash at any step.
 * ERR_CONFLICT while runs or sessions are alive: they would go on sealing to the old key.
 */
int backup_rekey(struct state *st, struct rekey *r, struct err *e);

/* ERR_CONFLICT names the runs and sessions whose process is alive; of any version, with its views.
 */
int backup_check_idle(struct db *db, struct err *e);

#endif
