/*
 * Why a system refuses a user namespace, or what is done in one, and what mends that. Systems
 * refuse in several ways: by a filter of system calls (a container's), by AppArmor, by a switch.
 * Which it was is not said by the error alone.
 */
#ifndef EVCTL_SANDBOX_USERNS_H
#define EVCTL_SANDBOX_USERNS_H

/* The number in a file of /proc; -1 where there is none. */
long userns_setting(const char *path);
/* The mend for an errno; "" where nothing is known of it. Static. */
const char *userns_mend(int error);

#endif
