-- The state file, version 4. Embedded into the programs at build time (state/db.c).
-- Times are milliseconds since the epoch, UTC. Sealed columns hold state/seal.h records.
CREATE TABLE meta (
	key TEXT PRIMARY KEY,
	value BLOB NOT NULL
) STRICT;

CREATE TABLE credentials (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	payer TEXT NOT NULL CHECK (payer IN ('stored', 'buyer')),
	sealed INTEGER NOT NULL DEFAULT 0,
	version INTEGER NOT NULL DEFAULT 0,
	tail TEXT NOT NULL DEFAULT '',       -- what a masked hint may show
	length INTEGER NOT NULL DEFAULT 0,
	value BLOB,                          -- sealed; NULL while the builder has given none
	created INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	expires INTEGER,                     -- the day from which it is not to be relied on
	remind INTEGER NOT NULL DEFAULT 14   -- days before that
) STRICT;

CREATE TABLE hosts (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,                  -- lower case, punycode; '*.x.y' for a wildcard
	port INTEGER NOT NULL,               -- 443 also opens 80
	plain INTEGER NOT NULL DEFAULT 0,
	allow_private INTEGER NOT NULL DEFAULT 0,
	connect_to TEXT,
	ca BLOB,                             -- PEM that replaces the system's roots
	credential INTEGER REFERENCES credentials (id) ON DELETE RESTRICT,
	created INTEGER NOT NULL,
	UNIQUE (name, port)
) STRICT;
CREATE INDEX hosts_credential ON hosts (credential);

CREATE TABLE experts (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	dir TEXT NOT NULL,
	published INTEGER,                   -- the version offered now
	last_version INTEGER NOT NULL DEFAULT 0,
	created INTEGER NOT NULL,
	listed INTEGER NOT NULL DEFAULT 0,   -- the door shows it to whoever asks
	contact TEXT NOT NULL DEFAULT '',
	told INTEGER NOT NULL DEFAULT 0      -- its builder knows that its draft runs
) STRICT;

-- What was last seen of an expert's tools: for completion and listings, not for running.
CREATE TABLE tools (
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	description TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (expert, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	host INTEGER NOT NULL REFERENCES hosts (id) ON DELETE RESTRICT,
	PRIMARY KEY (expert, host)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_host ON attachments (host);

CREATE TABLE snapshots (
	id INTEGER PRIMARY KEY,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	version INTEGER NOT NULL,
	manifest TEXT NOT NULL,              -- JSON, without code
	code BLOB NOT NULL,                  -- sealed
	reads TEXT NOT NULL,                 -- JSON: what verify found
	verdict TEXT NOT NULL,
	forced INTEGER NOT NULL DEFAULT 0,
	created INTEGER NOT NULL,
	UNIQUE (expert, version)
) STRICT;

CREATE TABLE snapshot_hosts (
	snapshot INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	port INTEGER NOT NULL,
	plain INTEGER NOT NULL,
	allow_private INTEGER NOT NULL,
	connect_to TEXT,
	ca BLOB,
	credential INTEGER REFERENCES credentials (id) ON DELETE RESTRICT,
	PRIMARY KEY (snapshot, name, port)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshot_hosts_credential ON snapshot_hosts (credential);

CREATE TABLE buyer_values (
	id INTEGER PRIMARY KEY,
	credential INTEGER NOT NULL REFERENCES credentials (id) ON DELETE CASCADE,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	buyer TEXT NOT NULL,
	version INTEGER NOT NULL DEFAULT 1,
	tail TEXT NOT NULL DEFAULT '',
	length INTEGER NOT NULL DEFAULT 0,
	value BLOB,                          -- sealed
	hosts TEXT NOT NULL DEFAULT '[]',    -- what the buyer agreed to: hosts with their flags
	changed INTEGER NOT NULL,
	UNIQUE (credential, expert, buyer)
) STRICT;
CREATE INDEX buyer_values_buyer ON buyer_values (buyer);

CREATE TABLE connections (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	env TEXT NOT NULL,
	auth TEXT NOT NULL,                  -- 'bearer' or 'header:NAME'
	allow_private INTEGER NOT NULL DEFAULT 0,
	connect_to TEXT,
	ca BLOB,
	version INTEGER NOT NULL DEFAULT 0,
	tail TEXT NOT NULL DEFAULT '',
	length INTEGER NOT NULL DEFAULT 0,
	value BLOB,                          -- sealed
	created INTEGER NOT NULL,
	changed INTEGER NOT NULL
) STRICT;

CREATE TABLE connection_hosts (
	connection INTEGER NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	port INTEGER NOT NULL,
	PRIMARY KEY (connection, name, port)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
	connection INTEGER NOT NULL REFERENCES connections (id) ON DELETE RESTRICT,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	payer TEXT NOT NULL CHECK (payer IN ('builder', 'buyer')),
	PRIMARY KEY (connection, expert)
) STRICT, WITHOUT ROWID;

CREATE TABLE connection_values (
	id INTEGER PRIMARY KEY,
	connection INTEGER NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	buyer TEXT NOT NULL,
	version INTEGER NOT NULL DEFAULT 1,
	tail TEXT NOT NULL DEFAULT '',
	length INTEGER NOT NULL DEFAULT 0,
	value BLOB,                          -- sealed
	hosts TEXT NOT NULL DEFAULT '[]',
	changed INTEGER NOT NULL,
	UNIQUE (connection, expert, buyer)
) STRICT;
CREATE INDEX connection_values_buyer ON connection_values (buyer);

CREATE TABLE sessions (
	id TEXT PRIMARY KEY,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	version INTEGER NOT NULL,            -- 0 is the draft
	buyer TEXT,
	pid INTEGER NOT NULL,
	pid_start INTEGER NOT NULL,          -- field 22 of /proc/PID/stat: tells a reused pid
	pid_space TEXT NOT NULL DEFAULT '',  -- where pid is one: base/proc.h; '': not known
	idle_s INTEGER NOT NULL,
	started INTEGER NOT NULL,
	ended INTEGER,
	reason TEXT
) STRICT;
CREATE INDEX sessions_live ON sessions (id) WHERE ended IS NULL;

CREATE TABLE runs (
	id TEXT PRIMARY KEY,
	expert TEXT NOT NULL,                -- names: a record outlives what it names
	version INTEGER NOT NULL,            -- 0 is the draft
	tool TEXT NOT NULL,
	buyer TEXT,                          -- NULL is the builder
	session TEXT,
	status TEXT NOT NULL,                -- running, ok, failed, timeout, limit, missing-key
	reason TEXT,                         -- for the owner
	pid INTEGER NOT NULL,
	pid_start INTEGER NOT NULL,
	pid_space TEXT NOT NULL DEFAULT '',
	started INTEGER NOT NULL,
	ended INTEGER,
	ms INTEGER,
	detail TEXT,                         -- JSON: limits, phases, egress summary
	batch TEXT,                          -- of a batch's: which, which call of it, and where it ran
	call INTEGER,
	node TEXT
) STRICT;
CREATE INDEX runs_started ON runs (started);
CREATE INDEX runs_running ON runs (status) WHERE status = 'running';
CREATE INDEX runs_session ON runs (session, started) WHERE session IS NOT NULL;
CREATE INDEX runs_buyer ON runs (buyer, expert, started) WHERE buyer IS NOT NULL;

CREATE TABLE logs (
	run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	log BLOB NOT NULL,                   -- sealed
	input BLOB NOT NULL                  -- sealed
) STRICT;

CREATE TABLE artifacts (
	run TEXT NOT NULL REFERENCES runs (id) ON DELETE RESTRICT,
	name TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	type TEXT NOT NULL,
	inline INTEGER NOT NULL,
	sha256 TEXT NOT NULL,                -- objects/ab/cdef...
	owner_only INTEGER NOT NULL DEFAULT 0,
	created INTEGER NOT NULL,
	fetched INTEGER,
	PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_object ON artifacts (sha256);

CREATE TABLE withheld (
	run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	position INTEGER NOT NULL,
	name TEXT NOT NULL,
	why TEXT NOT NULL,
	PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
	id INTEGER PRIMARY KEY,
	run TEXT NOT NULL,
	at INTEGER NOT NULL,
	method TEXT NOT NULL,
	host TEXT NOT NULL,
	port INTEGER NOT NULL,
	path TEXT NOT NULL,
	status INTEGER NOT NULL,
	up INTEGER NOT NULL,
	down INTEGER NOT NULL,
	ms INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	counted INTEGER NOT NULL DEFAULT 0   -- more than 0: stands for so many requests of a shape
) STRICT;
CREATE INDEX events_run ON events (run);

-- Machines that batches may be sealed to.
CREATE TABLE nodes (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	public_key BLOB NOT NULL,            -- not sealed
	added INTEGER NOT NULL,
	expires INTEGER
) STRICT;

CREATE TABLE batches (
	id TEXT PRIMARY KEY,
	expert TEXT NOT NULL,
	version INTEGER NOT NULL,            -- 0 is the draft
	buyer TEXT,
	engine TEXT NOT NULL,
	spool TEXT NOT NULL,
	settings TEXT NOT NULL,              -- JSON: what start was told
	public_key BLOB NOT NULL,            -- the bundle's; not sealed
	calls INTEGER NOT NULL,
	status TEXT NOT NULL,                -- running, ok, failed, stopped, cancelled
	started INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	ended INTEGER
) STRICT;
CREATE INDEX batches_live ON batches (id) WHERE ended IS NULL;

CREATE TABLE batch_calls (
	batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
	call INTEGER NOT NULL,               -- from 0, as in the file of calls
	tool TEXT,                           -- NULL: the line was no call
	name TEXT,                           -- JSON: the call's own "id"
	code INTEGER,                        -- exit code; NULL: no answer yet
	part INTEGER,                        -- batch_parts.id, and the answer's place in there
	place INTEGER,
	PRIMARY KEY (batch, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_chunks (
	batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
	chunk INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	calls TEXT NOT NULL,                 -- "0-99,105"
	job TEXT,                            -- what the engine calls it
	status TEXT NOT NULL,                -- waiting, out, done, lost
	PRIMARY KEY (batch, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_streams (
	batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
	name TEXT NOT NULL,                  -- of the file in out/
	node TEXT,
	frames INTEGER NOT NULL DEFAULT 0,   -- that were taken
	final INTEGER NOT NULL DEFAULT 0,
	refused TEXT,                        -- why no more is taken
	PRIMARY KEY (batch, name)
) STRICT, WITHOUT ROWID;

-- The answers' lines, as many together as came together.
CREATE TABLE batch_parts (
	id INTEGER PRIMARY KEY,
	batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
	lines BLOB NOT NULL                  -- sealed
) STRICT;
CREATE INDEX batch_parts_batch ON batch_parts (batch);

-- Whom the door lets in. A name without a row is the word of whoever runs evctl.
CREATE TABLE buyers (
	name TEXT PRIMARY KEY,
	note TEXT NOT NULL DEFAULT '',
	added INTEGER NOT NULL,
	removed INTEGER                      -- the name stays taken
) STRICT, WITHOUT ROWID;

CREATE TABLE buyer_experts (
	buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	granted INTEGER,                     -- NULL: asked for
	asked INTEGER,
	PRIMARY KEY (buyer, expert)
) STRICT, WITHOUT ROWID;
CREATE INDEX buyer_experts_expert ON buyer_experts (expert);

CREATE TABLE tokens (
	id TEXT PRIMARY KEY,
	buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE,
	hash BLOB NOT NULL UNIQUE,           -- of the token's text, which nobody keeps
	label TEXT NOT NULL DEFAULT '',
	only TEXT NOT NULL DEFAULT '',       -- 'mcp' or 'pages'; '': both
	limited INTEGER NOT NULL DEFAULT 0,  -- to token_experts
	created INTEGER NOT NULL,
	expires INTEGER,
	used INTEGER,
	withdrawn INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_buyer ON tokens (buyer);

CREATE TABLE token_experts (
	token TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
	expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE,
	PRIMARY KEY (token, expert)
) STRICT, WITHOUT ROWID;

-- Who an authorization server means.
CREATE TABLE subjects (
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE,
	PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE quotas (
	buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE,
	expert TEXT NOT NULL,
	calls INTEGER,                       -- a UTC day; NULL: without
	seconds INTEGER,
	at_once INTEGER,
	PRIMARY KEY (buyer, expert)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
	seq INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	actor TEXT NOT NULL,
	action TEXT NOT NULL,                -- 'cred add', 'host rm', ...
	object TEXT NOT NULL,
	detail TEXT NOT NULL,                -- JSON, names only
	prev BLOB NOT NULL,
	hash BLOB NOT NULL
) STRICT;
