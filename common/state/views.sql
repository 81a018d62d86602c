-- What queries read instead of the tables, so that a host or a connection looks the same in all of
-- them. Temporary, made by each program that opens a state: they are the program's, not the file's.
-- host_text(name, port) is net/host.h's, host_flags(...) is state/bound_host.h's.

-- Declared hosts, with the credential bound to each.
CREATE TEMP VIEW host_view AS
SELECT h.id, h.name, h.port, host_text(h.name, h.port) AS text, h.plain, h.allow_private,
	h.connect_to, h.ca, h.created, h.credential, c.name AS credential_name,
	c.payer = 'buyer' AS buyer_pays, c.sealed, c.payer = 'stored' AND c.value IS NOT NULL AS has_value,
	c.length,
	host_flags(h.name, h.plain, h.allow_private, h.connect_to, h.ca, h.credential IS NOT NULL) AS flags
FROM hosts h LEFT JOIN credentials c ON c.id = h.credential;

-- Those of published versions, likewise.
CREATE TEMP VIEW frozen_host_view AS
SELECT h.snapshot, s.expert, s.version, h.name, h.port, host_text(h.name, h.port) AS text, h.plain,
	h.allow_private, h.connect_to, h.ca, h.credential, c.name AS credential_name,
	c.payer = 'buyer' AS buyer_pays, c.sealed, c.payer = 'stored' AND c.value IS NOT NULL AS has_value,
	c.length
FROM snapshot_hosts h JOIN snapshots s ON s.id = h.snapshot
LEFT JOIN credentials c ON c.id = h.credential;

-- Connections, with the texts of their hosts as a JSON array.
CREATE TEMP VIEW conn_view AS
SELECT id, version, name, env, auth, allow_private, connect_to, ca, value IS NOT NULL AS has_value,
	length, tail, created, changed,
	host_flags('', 0, allow_private, connect_to, ca, 0) AS flags,
	(SELECT json_group_array(text) FROM (SELECT host_text(h.name, h.port) AS text
	FROM connection_hosts h WHERE h.connection = c.id ORDER BY 1)) AS hosts
FROM connections c;

-- What somebody is working on, or was until the process ended; `until`: when it is over at the latest,
-- but for a call's own time.
CREATE TEMP VIEW owner_view AS
SELECT 'session' AS kind, s.id, x.name AS expert, s.version, s.buyer, NULL AS session, s.pid, s.pid_start,
	s.pid_space, s.idle_s * 1000 + max(s.started,
	coalesce((SELECT max(r.started) FROM runs r WHERE r.session = s.id), 0)) AS until
FROM sessions s JOIN experts x ON x.id = s.expert WHERE s.ended IS NULL
UNION ALL SELECT 'run', id, expert, version, buyer, session, pid, pid_start, pid_space, started
FROM runs WHERE status = 'running';
