/* Content-Security-Policy of pages of ours. */
#ifndef EVCTL_NET_PAGE_POLICY_H
#define EVCTL_NET_PAGE_POLICY_H

#define PAGE_POLICY                                                                            \
	"default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; form-action " \
	"'self'; base-uri 'none'; frame-ancestors 'none'"
/* For bytes that runs made: nothing of them can act, wherever they are opened. */
#define BYTES_POLICY                                                                        \
	"default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; " \
	"frame-ancestors 'none'; sandbox"

#endif
