package local

// organiserTables hold what stands around the mail: people, notes, rules, times, texts.
const organiserTables = `
CREATE TABLE api_keys(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	hash BLOB NOT NULL UNIQUE,
	token_start TEXT NOT NULL,
	last4 TEXT NOT NULL,
	scopes TEXT NOT NULL,
	addresses TEXT,
	domains TEXT,
	expires_at INTEGER,
	last_used_at INTEGER,
	uses INTEGER NOT NULL DEFAULT 0,
	rotated_at INTEGER,
	rotations INTEGER NOT NULL DEFAULT 0,
	deactivated_at INTEGER,
	revoked_at INTEGER,
	revoked_reason TEXT,
	last_change TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);

CREATE TABLE contacts(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	email TEXT NOT NULL UNIQUE,
	display TEXT NOT NULL,
	name TEXT,
	notes TEXT,
	folded TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);

-- What a scope sets itself: '' is the mailbox, others are an address or '@' and a domain. Values are JSON.
CREATE TABLE settings(
	scope TEXT NOT NULL,
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY(scope, key)
) WITHOUT ROWID;

CREATE TABLE notes(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	thread_id INTEGER NOT NULL,
	content TEXT NOT NULL,
	color TEXT NOT NULL,
	pinned INTEGER NOT NULL,
	position INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE INDEX notes_thread ON notes(thread_id, position);

-- Files that were uploaded; those of messages are in attachments.
CREATE TABLE files(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	filename TEXT NOT NULL,
	content_type TEXT NOT NULL,
	size INTEGER NOT NULL,
	data BLOB NOT NULL,
	created_at INTEGER NOT NULL
);

-- A reminder about a thread, or about an email that has none yet.
CREATE TABLE follow_ups(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	thread_id INTEGER,
	message_id INTEGER,
	email_id INTEGER,
	remind_at INTEGER NOT NULL,
	status TEXT NOT NULL,
	answered_at INTEGER,
	fired_at INTEGER,
	created_at INTEGER NOT NULL
);
CREATE INDEX follow_ups_due ON follow_ups(remind_at) WHERE status = 'waiting';
CREATE INDEX follow_ups_thread ON follow_ups(thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX follow_ups_email ON follow_ups(email_id) WHERE email_id IS NOT NULL;

CREATE TABLE rules(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	description TEXT,
	enabled INTEGER NOT NULL,
	position INTEGER NOT NULL,
	match TEXT NOT NULL,
	conditions TEXT NOT NULL,
	actions TEXT NOT NULL,
	stop INTEGER NOT NULL,
	last_matched_at INTEGER,
	match_count INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE TABLE rule_runs(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	rule_id INTEGER NOT NULL,
	rule_name TEXT NOT NULL,
	thread_id INTEGER NOT NULL,
	message_id INTEGER NOT NULL,
	sender TEXT NOT NULL,
	subject TEXT NOT NULL,
	actions TEXT NOT NULL,
	failures TEXT NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX rule_runs_thread ON rule_runs(thread_id);

CREATE TABLE out_of_office(
	address TEXT PRIMARY KEY,
	enabled INTEGER NOT NULL,
	starts_at INTEGER,
	ends_at INTEGER,
	subject TEXT NOT NULL,
	message TEXT NOT NULL,
	contacts_only INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE out_of_office_answers(
	address TEXT NOT NULL,
	sender TEXT NOT NULL,
	answered_at INTEGER NOT NULL,
	PRIMARY KEY(address, sender)
) WITHOUT ROWID;

-- One for each sender of mail that can be unsubscribed from, and own address that gets it.
CREATE TABLE subscriptions(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	sender TEXT NOT NULL,
	name TEXT NOT NULL,
	recipient TEXT NOT NULL,
	list_unsubscribe TEXT NOT NULL,
	one_click INTEGER NOT NULL,
	last_seen_at INTEGER NOT NULL,
	unsubscribed_at INTEGER,
	unsubscribed_with TEXT,
	rule_id INTEGER,
	UNIQUE(sender, recipient)
);
ALTER TABLE messages ADD COLUMN subscription_id INTEGER;
CREATE INDEX messages_subscription ON messages(subscription_id, received_at) WHERE subscription_id IS NOT NULL;

CREATE TABLE sender_categories(
	sender TEXT PRIMARY KEY,
	category TEXT NOT NULL,
	updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE suppressions(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	email TEXT NOT NULL UNIQUE,
	reason TEXT NOT NULL,
	detail TEXT,
	created_at INTEGER NOT NULL
);

CREATE TABLE templates(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	slug TEXT NOT NULL UNIQUE,
	description TEXT,
	status TEXT NOT NULL,
	published INTEGER,
	latest INTEGER NOT NULL,
	folded TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE TABLE template_versions(
	template_id INTEGER NOT NULL,
	version INTEGER NOT NULL,
	subject TEXT NOT NULL,
	html TEXT NOT NULL,
	slots TEXT NOT NULL,
	props TEXT NOT NULL,
	published_at INTEGER,
	created_at INTEGER NOT NULL,
	PRIMARY KEY(template_id, version)
) WITHOUT ROWID;

-- Which version of a template a message was made from.
ALTER TABLE emails ADD COLUMN template_id INTEGER;
ALTER TABLE emails ADD COLUMN template_version INTEGER;

CREATE TABLE temp_inboxes(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	address TEXT NOT NULL UNIQUE,
	token_hash BLOB NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	extensions INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE temp_messages(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	inbox_id INTEGER NOT NULL,
	raw BLOB NOT NULL,
	snippet TEXT NOT NULL,
	seen INTEGER NOT NULL DEFAULT 0,
	received_at INTEGER NOT NULL
);
CREATE INDEX temp_messages_inbox ON temp_messages(inbox_id, id);

-- Events that were made here, and those of invitations. The event is JSON as the API gives it.
CREATE TABLE calendar_events(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	uid TEXT NOT NULL,
	message_id INTEGER UNIQUE,
	starts_at INTEGER NOT NULL,
	ends_at INTEGER NOT NULL,
	repeats INTEGER NOT NULL,
	event TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE INDEX calendar_events_start ON calendar_events(starts_at);
CREATE INDEX calendar_events_uid ON calendar_events(uid);
-- What was answered to an invitation.
CREATE TABLE calendar_answers(
	uid TEXT NOT NULL,
	attendee TEXT NOT NULL,
	partstat TEXT NOT NULL,
	proposed_start INTEGER,
	proposed_end INTEGER,
	responded_at INTEGER NOT NULL,
	PRIMARY KEY(uid, attendee)
) WITHOUT ROWID;
`
