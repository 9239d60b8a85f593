package local

// calendarTables keep every version of an event that came, and what was read from files of other programs: calendars,
// cards, pictures.
const calendarTables = `
-- Of the versions of one event (uid, organizer and, for one occurrence of a series, its first start as instance) the one
-- with the highest sequence counts, then the one that was written last. A deleted one stays, so that it does not come back.
CREATE TABLE calendar_versions(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	uid TEXT NOT NULL,
	organizer TEXT NOT NULL,
	instance INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	stamp INTEGER NOT NULL,
	message_id INTEGER,
	import_id INTEGER,
	deleted INTEGER NOT NULL DEFAULT 0,
	starts_at INTEGER NOT NULL,
	ends_at INTEGER NOT NULL,
	repeats INTEGER NOT NULL,
	event TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
INSERT INTO calendar_versions(id, uid, organizer, instance, sequence, stamp, message_id, starts_at, ends_at, repeats, event, created_at, updated_at)
	SELECT id, uid, lower(coalesce(json_extract(event, '$.organizer.email'), '')),
		coalesce(CAST(strftime('%s', json_extract(event, '$.recurrenceId')) AS INTEGER) * 1000, 0),
		coalesce(CAST(json_extract(event, '$.sequence') AS INTEGER), 0), updated_at, message_id, starts_at, ends_at, repeats, event, created_at, updated_at
	FROM calendar_events ORDER BY id;
DROP TABLE calendar_events;
ALTER TABLE calendar_versions RENAME TO calendar_events;
CREATE INDEX calendar_events_start ON calendar_events(starts_at);
CREATE INDEX calendar_events_version ON calendar_events(uid, organizer, instance, sequence, stamp);
CREATE INDEX calendar_events_message ON calendar_events(message_id) WHERE message_id IS NOT NULL;
CREATE INDEX calendar_events_import ON calendar_events(import_id) WHERE import_id IS NOT NULL;

-- An answer holds for the time that it was given to; those from before hold for every one.
CREATE TABLE event_answers(
	uid TEXT NOT NULL,
	instance INTEGER NOT NULL,
	attendee TEXT NOT NULL,
	name TEXT NOT NULL DEFAULT '',
	partstat TEXT NOT NULL,
	starts_at INTEGER,
	ends_at INTEGER,
	proposed_start INTEGER,
	proposed_end INTEGER,
	responded_at INTEGER NOT NULL,
	PRIMARY KEY(uid, instance, attendee)
) WITHOUT ROWID;
INSERT INTO event_answers(uid, instance, attendee, partstat, proposed_start, proposed_end, responded_at)
	SELECT uid, 0, attendee, partstat, proposed_start, proposed_end, responded_at FROM calendar_answers;
DROP TABLE calendar_answers;

CREATE TABLE calendar_feeds(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	mode TEXT NOT NULL,
	token TEXT NOT NULL UNIQUE,
	base TEXT NOT NULL,
	reads INTEGER NOT NULL DEFAULT 0,
	last_read_at INTEGER,
	created_at INTEGER NOT NULL
);

-- Files of events or contacts that were read. Counts and report are JSON as the API gives them.
CREATE TABLE item_imports(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	file_name TEXT,
	file_bytes INTEGER NOT NULL,
	counts TEXT NOT NULL,
	report TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	undone_at INTEGER
);

CREATE TABLE contact_cards(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	uid TEXT NOT NULL UNIQUE,
	email TEXT,
	card TEXT NOT NULL,
	import_id INTEGER,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE INDEX contact_cards_email ON contact_cards(email) WHERE email IS NOT NULL;
CREATE INDEX contact_cards_import ON contact_cards(import_id) WHERE import_id IS NOT NULL;
ALTER TABLE contacts ADD COLUMN import_id INTEGER;

-- Small pictures of people, by the address in lower case or, for a card without one, by the id of the card.
CREATE TABLE photos(
	owner TEXT PRIMARY KEY,
	content_type TEXT NOT NULL,
	data BLOB NOT NULL,
	import_id INTEGER
) WITHOUT ROWID;
`
