package local

// migrations holds one script a version of the file format, in order. A published script never changes.
var migrations = []string{`
CREATE TABLE meta(
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE threads(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	subject TEXT NOT NULL,
	sort_subject TEXT NOT NULL,
	sort_sender TEXT NOT NULL,
	first_at INTEGER NOT NULL,
	last_at INTEGER NOT NULL,
	woke_at INTEGER NOT NULL DEFAULT 0,
	messages INTEGER NOT NULL DEFAULT 0,
	unread INTEGER NOT NULL DEFAULT 0,
	incoming INTEGER NOT NULL DEFAULT 0,
	outgoing INTEGER NOT NULL DEFAULT 0,
	inbox INTEGER NOT NULL DEFAULT 0,
	starred INTEGER NOT NULL DEFAULT 0,
	spam INTEGER NOT NULL DEFAULT 0,
	trashed INTEGER NOT NULL DEFAULT 0,
	muted INTEGER NOT NULL DEFAULT 0,
	snoozed_until INTEGER,
	delivered_to TEXT
);
CREATE INDEX threads_snoozed ON threads(snoozed_until) WHERE snoozed_until IS NOT NULL;
CREATE INDEX threads_inbox_address ON threads(delivered_to) WHERE inbox = 1;

CREATE TABLE thread_aliases(
	old_id INTEGER PRIMARY KEY,
	id INTEGER NOT NULL
);
CREATE INDEX thread_aliases_id ON thread_aliases(id);

-- One row for each folder and label in which a thread is listed.
CREATE TABLE places(
	place INTEGER NOT NULL,
	sort_at INTEGER NOT NULL,
	thread_id INTEGER NOT NULL,
	unread INTEGER NOT NULL,
	PRIMARY KEY(place, sort_at, thread_id)
) WITHOUT ROWID;
CREATE INDEX places_thread ON places(thread_id, place);

CREATE TABLE place_counts(
	place INTEGER PRIMARY KEY,
	count INTEGER NOT NULL,
	unread INTEGER NOT NULL
);

CREATE TABLE messages(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	thread_id INTEGER NOT NULL,
	message_id TEXT NOT NULL,
	hash BLOB NOT NULL,
	received_at INTEGER NOT NULL,
	subject TEXT NOT NULL,
	from_name TEXT NOT NULL,
	from_email TEXT NOT NULL,
	snippet TEXT NOT NULL,
	unread INTEGER NOT NULL,
	outgoing INTEGER NOT NULL,
	incoming INTEGER NOT NULL,
	size INTEGER NOT NULL,
	attachments INTEGER NOT NULL,
	delivered_to TEXT
);
CREATE INDEX messages_thread ON messages(thread_id, received_at, id);
CREATE INDEX messages_message_id ON messages(message_id) WHERE message_id <> '';
CREATE UNIQUE INDEX messages_hash ON messages(hash);

CREATE TABLE raws(
	message_id INTEGER PRIMARY KEY,
	encoding INTEGER NOT NULL,
	data BLOB NOT NULL
);

-- The texts of messages that are too large to be parsed each time they are read.
CREATE TABLE bodies(
	message_id INTEGER PRIMARY KEY,
	parsed BLOB NOT NULL
);

CREATE TABLE attachments(
	message_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	filename TEXT NOT NULL,
	content_type TEXT NOT NULL,
	size INTEGER NOT NULL,
	inline INTEGER NOT NULL,
	content_id TEXT NOT NULL,
	PRIMARY KEY(message_id, position)
) WITHOUT ROWID;

-- Every Message-ID that a thread holds or refers to, as a 64-bit hash.
CREATE TABLE message_ids(
	hash INTEGER PRIMARY KEY,
	thread_id INTEGER NOT NULL
);
CREATE INDEX message_ids_thread ON message_ids(thread_id);

CREATE TABLE labels(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	folded TEXT NOT NULL UNIQUE,
	background TEXT,
	foreground TEXT,
	ai_instructions TEXT,
	ai_enabled INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE TABLE thread_labels(
	thread_id INTEGER NOT NULL,
	label_id INTEGER NOT NULL,
	PRIMARY KEY(thread_id, label_id)
) WITHOUT ROWID;
CREATE INDEX thread_labels_label ON thread_labels(label_id);

CREATE TABLE people(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	email TEXT NOT NULL UNIQUE,
	display TEXT NOT NULL,
	name TEXT NOT NULL,
	name_at INTEGER NOT NULL,
	folded TEXT NOT NULL,
	last_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX people_recent ON people(last_at, id);
CREATE TABLE participants(
	person_id INTEGER NOT NULL,
	thread_id INTEGER NOT NULL,
	PRIMARY KEY(person_id, thread_id)
) WITHOUT ROWID;
CREATE INDEX participants_thread ON participants(thread_id);

CREATE TABLE drafts(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	recipients TEXT NOT NULL,
	subject TEXT NOT NULL,
	html TEXT NOT NULL,
	from_address TEXT,
	thread_id INTEGER,
	forward_of INTEGER,
	folded TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE INDEX drafts_updated ON drafts(updated_at, id);
CREATE INDEX drafts_thread ON drafts(thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE emails(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	status TEXT NOT NULL,
	from_address TEXT NOT NULL,
	subject TEXT,
	message_id TEXT NOT NULL,
	thread_id INTEGER,
	transport TEXT,
	attempts INTEGER NOT NULL DEFAULT 0,
	last_error TEXT,
	scheduled_at INTEGER,
	cancellable_until INTEGER,
	due_at INTEGER NOT NULL,
	sent_at INTEGER,
	tags TEXT NOT NULL,
	stream TEXT NOT NULL,
	draft_id INTEGER,
	request BLOB,
	raw BLOB,
	created_at INTEGER NOT NULL
);
CREATE INDEX emails_due ON emails(due_at) WHERE status IN ('queued', 'scheduled');
CREATE INDEX emails_sending ON emails(id) WHERE status = 'sending';
CREATE INDEX emails_thread ON emails(thread_id) WHERE thread_id IS NOT NULL;

-- Mail that comes at a later time: answers of the people of the sample.
CREATE TABLE arrivals(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	due_at INTEGER NOT NULL,
	raw BLOB NOT NULL
);
CREATE INDEX arrivals_due ON arrivals(due_at);

CREATE TABLE email_recipients(
	email_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	kind TEXT NOT NULL,
	email TEXT NOT NULL,
	name TEXT NOT NULL,
	status TEXT NOT NULL,
	error TEXT,
	delivered_at INTEGER,
	PRIMARY KEY(email_id, position)
) WITHOUT ROWID;

CREATE TABLE idempotency(
	scope TEXT NOT NULL,
	key TEXT NOT NULL,
	fingerprint BLOB NOT NULL,
	email_id INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY(scope, key)
) WITHOUT ROWID;

-- The texts are folded by this program (see fold.go), so that the tokenizer only splits at blanks.
CREATE VIRTUAL TABLE mail_search USING fts5(
	subject, sender, recipients, copies, files, body,
	content='', contentless_delete=1, prefix='2 3',
	tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);
`, `
-- When a message says to be from, if that lies in the future: received_at is then an instant that was.
ALTER TABLE messages ADD COLUMN dated_at INTEGER;
`, `
-- The flag of the mailbox that a message came from, or set by an answer from here.
ALTER TABLE messages ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;

-- The row of a message in mail_search: the day on which it came, and a number within that day. NULL says
-- that the message is not in the search index yet.
ALTER TABLE messages ADD COLUMN search_id INTEGER;
CREATE UNIQUE INDEX messages_search ON messages(search_id) WHERE search_id IS NOT NULL;
CREATE INDEX messages_unsearched ON messages(received_at) WHERE search_id IS NULL;

-- What an import that was interrupted has done of each file.
CREATE TABLE import_files(
	path TEXT PRIMARY KEY,
	size INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	done INTEGER NOT NULL,
	messages INTEGER NOT NULL,
	imported INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE import_problems(
	path TEXT NOT NULL,
	at INTEGER NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY(path, at)
) WITHOUT ROWID;

-- The drafts that were imported, so that one that is sent or thrown away does not come back.
CREATE TABLE imported_drafts(
	hash BLOB PRIMARY KEY
) WITHOUT ROWID;

DROP TABLE mail_search;
` + searchTable, `
-- Delivery through a relay, see delivery.go. Messages from before were all kept here, in the mode test.
ALTER TABLE emails ADD COLUMN mode TEXT NOT NULL DEFAULT 'test';
-- Some recipient is not an address of the mailbox itself.
ALTER TABLE emails ADD COLUMN remote INTEGER NOT NULL DEFAULT 1;
-- Which process makes the attempt of an email whose status is sending.
ALTER TABLE emails ADD COLUMN claim TEXT;
-- Attempts since somebody last decided that it is sent, and what the next one waits for.
ALTER TABLE emails ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE emails ADD COLUMN waits TEXT;
-- Somebody decided to send it once more to those who do not have it for sure.
ALTER TABLE emails ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
-- It is among the sent messages.
ALTER TABLE emails ADD COLUMN copied INTEGER NOT NULL DEFAULT 0;

CREATE TABLE email_events(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	email_id INTEGER NOT NULL,
	type TEXT NOT NULL,
	data TEXT NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX email_events_email ON email_events(email_id, id);

-- The items of a batch that was sent under the key: the ids of its emails, or why one was refused.
ALTER TABLE idempotency ADD COLUMN batch TEXT;
`, organiserTables, calendarTables, `
-- The words of the search index, one row for each place. It holds nothing of its own.
CREATE VIRTUAL TABLE mail_words USING fts5vocab('mail_search', 'instance');

-- For searches that leave few messages of many.
CREATE INDEX messages_size ON messages(size, thread_id);
CREATE INDEX messages_received ON messages(received_at, thread_id);
CREATE INDEX messages_answered ON messages(thread_id) WHERE answered = 1;
CREATE INDEX messages_outgoing ON messages(thread_id) WHERE outgoing = 1;
CREATE INDEX threads_unread ON threads(id) WHERE unread > 0;
`}

// searchTable makes the search index. The texts are folded by this program (see fold.go), so that the
// tokenizer only splits at blanks. The prefixes are what makes the hits of a short word come newest first
// without reading the others.
const searchTable = `
CREATE VIRTUAL TABLE mail_search USING fts5(
	subject, sender, recipients, copies, files, body,
	content='', contentless_delete=1, prefix='1 2 3',
	tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);
`
