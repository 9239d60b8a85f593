"""Drives a served mailbox with the official client, a namespace after the other.

Arguments: the address of the server and its key. For each namespace of the client it prints one line: "ok", or
"skipped" when the server says that it is not available locally; the same for single calls of a namespace that is there.
It ends with an error when anything else happens, or when there is a call that it does not know.
"""

import base64
import datetime
import sys
import time
import urllib.request

from openemail import OpenEmail, OpenEmailApiError

base, key = sys.argv[1:3]
client = OpenEmail(api_key=key, base_url=base, disable_update_notice=True)
driven = set()  # "threads.list"


class Recorded:
    """A namespace of the client that notes which of its calls were made."""

    def __init__(self, name, space):
        self._name, self._space = name, space

    def __getattr__(self, call):
        driven.add(f"{self._name}.{call}")
        return getattr(self._space, call)


for name in [n for n in dir(client) if not n.startswith("_")]:
    if not callable(getattr(client, name)) and name not in ("mode", "raw"):
        setattr(client, name, Recorded(name, getattr(client, name)))
ME, OTHER, FRIEND = "me@example.net", "second@example.net", "friend@example.org"
now = datetime.datetime.now(datetime.timezone.utc)
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


def field(value, name):
    return value[name] if isinstance(value, dict) else getattr(value, name)


def refused(status, code, call):
    try:
        call()
    except OpenEmailApiError as error:
        assert (error.status, error.code) == (status, code), (error.status, error.code)
    else:
        raise AssertionError(f"not refused with {code}")


def until(what, look, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen")


def send(to=ME, **change):
    body = {"from": ME, "to": to, "subject": "Tea", "text": "Milk?", **change}
    return client.emails.send(body)


def newest(subject):
    for thread in client.threads.iterate(folder="all", limit=5):
        full = client.threads.get(field(thread, "id"))
        if field(full, "messages") and field(full, "messages")[-1]["subject"] == subject:
            return field(full, "id")
    return None


def arrives(subject, **change):
    send(subject=subject, **change)
    return until(f"the arrival of {subject}", lambda: newest(subject))


def addresses():
    assert [field(a, "address") for a in client.addresses.iterate()] == [ME, OTHER]


def me():
    assert field(client.me.ping(), "ok") is True
    assert "threads:write" in field(client.me.get(), "scopes")


def emails():
    sent = client.emails.send({"from": ME, "to": FRIEND, "subject": "Once", "text": "x"}, idempotency_key="once")
    again = client.emails.send({"from": ME, "to": FRIEND, "subject": "Once", "text": "x"}, idempotency_key="once")
    assert field(sent, "id") == field(again, "id") and field(again, "replayed") is True
    later = send(FRIEND, scheduledAt=(now + datetime.timedelta(days=1)).isoformat())
    client.emails.reschedule(field(later, "id"), now + datetime.timedelta(days=2))
    client.emails.update(field(later, "id"), {"subject": "Coffee"})
    assert field(client.emails.cancel(field(later, "id")), "status") == "cancelled"
    batch = client.emails.send_batch([{"from": ME, "to": FRIEND, "text": "1"}, {"from": "x@y.example", "to": FRIEND}])
    assert (field(batch, "sent"), field(batch, "failed")) == (1, 1)
    assert field(client.emails.get(field(sent, "id")), "status") == "sent"
    assert len(client.emails.list_all(status=["sent"])) >= 2
    assert client.emails.list_all_events(field(sent, "id"))
    assert field(client.emails.get_tracking(field(sent, "id")), "opens") is False
    refused(422, "invalid_field", lambda: client.emails.send({"from": "x@y.example", "to": ME, "text": "x"}))
    refused(404, "resource_not_found", lambda: client.emails.get("eml_999999"))


def threads():
    thread = arrives("Threads")
    client.threads.update(thread, {"read": True, "addLabelIds": ["STARRED"]})
    assert [field(t, "id") for t in client.threads.iterate(folder="starred")] == [thread]
    client.threads.trash(thread)
    client.threads.restore(thread)
    client.threads.snooze(thread, now + datetime.timedelta(days=1))
    client.threads.unsnooze(thread)
    client.threads.mute(thread)
    client.threads.unmute(thread)
    one = client.threads.create_note(thread, {"content": "one"})
    two = client.threads.create_note(thread, {"content": "two", "color": "blue"})
    ordered = client.threads.reorder_notes(thread, [field(two, "id"), field(one, "id")])
    assert [field(n, "content") for n in ordered] == ["two", "one"]
    client.threads.update_note(thread, field(one, "id"), {"pinned": True})
    assert len(client.threads.list_notes(thread)) == 2
    client.threads.delete_note(thread, field(two, "id"))
    assert field(client.threads.counts(), "folders")
    client.threads.set_sender_category(FRIEND, "social")
    assert len(client.threads.list_sender_categories()) == 1
    client.threads.clear_sender_category(FRIEND)
    refused(501, "not_available_locally", lambda: client.threads.summary(thread))
    refused(404, "resource_not_found", lambda: client.threads.get_event(thread))
    client.threads.delete(thread)


def drafts():
    draft = client.drafts.create({"to": [FRIEND], "subject": "Draft", "html": "<p>x</p>"})
    draft = client.drafts.update(field(draft, "id"), {"subject": "Other"})
    assert field(client.drafts.get(field(draft, "id")), "subject") == "Other"
    assert len(client.drafts.list_all()) == 1
    client.drafts.delete(field(draft, "id"))


def labels():
    label = client.labels.create({"name": "Club", "color": {"backgroundColor": "#112233"}})
    client.labels.update(field(label, "id"), {"name": "Clubs", "color": None})
    assert field(client.labels.get(field(label, "id")), "name") == "Clubs"
    assert any(field(c, "name") == "Blue" for c in client.labels.list_colors())
    assert len(client.labels.list_all()) > 7
    client.labels.delete(field(label, "id"))


def contacts():
    client.contacts.create({"email": FRIEND, "name": "Fred"})
    client.contacts.update(FRIEND, {"notes": "tea"})
    client.contacts.save("other@example.org")
    assert field(client.contacts.get(FRIEND), "notes") == "tea"
    assert len(client.contacts.list_all()) == 2
    assert any(field(p, "saved") for p in client.contacts.iterate_people(q="fred"))
    assert client.contacts.list_all_threads(FRIEND)
    assert field(client.contacts.block(FRIEND), "blocked") is True
    assert field(client.contacts.unblock(FRIEND), "blocked") is False
    photo = client.contacts.set_photo(FRIEND, PIXEL, content_type="image/png")
    assert field(photo, "photoUrl").startswith("data:image/")
    assert field(client.contacts.remove_photo(FRIEND), "photoUrl") is None
    assert field(client.contacts.delete_many([FRIEND, "nobody@example.org"]), "saved") == 1
    assert field(client.contacts.delete("other@example.org"), "wasSaved") is True
    card = client.contacts.create_card({"name": "Ada", "emails": [{"value": "ada@example.org", "label": "work"}], "birthday": "1815-12-10"})
    card = client.contacts.update_card(field(card, "id"), {"phones": [{"value": "+44 1"}], "birthday": None})
    assert field(card, "email") == "ada@example.org" and field(card, "birthday") is None
    assert field(client.contacts.get_card(field(card, "id")), "phones")
    assert len(client.contacts.list_all_cards(email="ada@example.org")) == 1
    client.contacts.delete_card(field(card, "id"))
    vcf = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Bob\r\nEMAIL:bob@example.org\r\nEND:VCARD\r\n"
    done = client.contacts.import_vcf(vcf.encode(), filename="bob.vcf")
    assert field(client.contacts.get_import(field(done, "id")), "status") == "completed"
    assert field(client.contacts.get("bob@example.org"), "name") == "Bob"
    assert len(client.contacts.list_all_imports()) == 1
    assert field(client.contacts.undo_import(field(done, "id")), "status") == "undone"
    refused(404, "resource_not_found", lambda: client.contacts.get("bob@example.org"))


def files():
    up = client.files.upload(b"\x00\xffbytes", filename="a b.bin", content_type="application/x-test")
    assert field(up, "sizeBytes") == 7
    assert client.files.download(field(up, "id")) == b"\x00\xffbytes"
    thread = arrives("Files", attachments=[{"fileId": field(up, "id")}])
    message = field(client.threads.get(thread), "messages")[-1]
    attached = client.threads.list_attachments(thread, message["id"])
    assert field(attached[0], "filename") == "a b.bin"
    assert client.files.download(field(attached[0], "attachmentId")) == b"\x00\xffbytes"
    assert len(client.files.list_all(q="a b")) == 2
    assert field(client.files.get(field(up, "id")), "filename") == "a b.bin"
    assert client.files.list_all_links(field(up, "id")) == []
    assert field(client.files.revoke_all_links(field(up, "id")), "revoked") == 0
    refused(404, "resource_not_found", lambda: client.files.revoke_link(field(up, "id"), "lnk_1"))
    assert field(client.files.stats(), "uploaded")["files"] == 1
    single = client.files.upload(b"x", filename="x.txt")
    assert field(client.files.delete(field(single, "id")), "deleted") is True
    done = client.files.delete_many([field(up, "id"), field(attached[0], "attachmentId")])
    assert len(field(done, "deleted")) == 1 and len(field(done, "kept")) == 1


def settings():
    client.settings.update({"signature": "Mia"})
    client.settings.update({"signature": "Second"}, address=OTHER)
    got = client.settings.get(address=OTHER)
    assert got["signature"] == "Second" and got["overrides"] == ["signature"]
    client.settings.update({"signature": None}, address=OTHER)
    assert client.settings.get(address=OTHER)["signature"] == "Mia"


def follow_ups():
    thread = arrives("Follow")
    made = client.follow_ups.set({"threadId": thread, "remindAt": (now + datetime.timedelta(days=1)).isoformat()})
    assert [field(f, "id") for f in client.follow_ups.list(status="waiting", thread_id=thread)] == [field(made, "id")]
    assert field(client.follow_ups.cancel(field(made, "id")), "status") == "cancelled"


def rules():
    label = client.labels.create({"name": "Ruled"})
    rule = client.rules.create(
        {
            "name": "Ruled",
            "conditions": [{"field": "subject", "op": "contains", "value": "ruled"}],
            "actions": [{"type": "label", "value": field(label, "id")}],
        }
    )
    second = client.rules.create(
        {"name": "Second", "conditions": [{"field": "from", "op": "equals", "value": "x@y.example"}], "actions": [{"type": "star"}]}
    )
    client.rules.reorder([field(second, "id"), field(rule, "id")])
    assert field(client.rules.update(field(second, "id"), {"enabled": False}), "enabled") is False
    assert len(client.rules.list_all()) == 2
    assert field(client.rules.get(field(rule, "id")), "name") == "Ruled"
    assert field(client.rules.test(field(rule, "id")), "matched") == 0
    thread = arrives("A ruled message")
    assert any(field(l, "name") == "Ruled" for l in field(client.threads.get(thread), "labels"))
    runs = client.rules.list_all_runs(thread_id=thread)
    assert [field(r, "ruleId") for r in runs] == [field(rule, "id")]
    client.rules.delete(field(rule, "id"))
    client.rules.delete(field(second, "id"))


def templates():
    made = client.templates.create(
        {"name": "Hello", "subject": "Hi {{name}}", "html": "<p>{{name}}</p>", "props": [{"key": "name", "required": True}], "publish": True}
    )
    slug = field(made, "slug")
    assert field(client.templates.preview(slug, {"props": {"name": "Ada"}}), "subject") == "Hi Ada"
    sent = client.templates.send(slug, {"from": ME, "to": FRIEND, "props": {"name": "Ada"}}, idempotency_key="template")
    again = client.templates.send(slug, {"from": ME, "to": FRIEND, "props": {"name": "Ada"}}, idempotency_key="template")
    assert field(again, "replayed") is True and field(again, "id") == field(sent, "id")
    client.templates.update(slug, {"html": "<p>2 {{name}}</p>", "expectedVersion": 1})
    assert field(client.templates.publish(slug, expected_version=2), "version") == 2
    assert len(client.templates.list_all_versions(slug)) == 2
    assert field(client.templates.restore_version(slug, 1), "restoredFrom") == 1
    assert field(client.templates.get(slug), "name") == "Hello"
    assert field(client.templates.get_version(slug, 1), "version") == 1
    client.templates.render({"html": "<p>{{x}}</p>"})
    other = client.templates.create({"name": "Other", "subject": "3", "html": "<p>3 {{name}}</p>", "props": [{"key": "name"}]})
    client.templates.replace_content(slug, {"fromTemplateId": field(other, "id")})
    client.templates.delete(field(other, "id"))
    assert field(client.templates.delete_version(slug, 1), "deleted") is True
    client.templates.duplicate(slug)
    assert len(client.templates.list_all()) == 2
    client.templates.update(slug, {"status": "archived"})
    refused(422, "template_archived", lambda: client.templates.send(slug, {"from": ME, "to": FRIEND, "props": {"name": "Ada"}}))
    client.templates.delete(slug)


def calendar():
    start = now + datetime.timedelta(days=3)
    body = {
        "summary": "Tea",
        "start": start.isoformat(),
        "end": (start + datetime.timedelta(hours=1)).isoformat(),
        "recurrence": "FREQ=DAILY;COUNT=3",
        "attendees": [{"email": FRIEND}],
    }
    event = client.calendar.create_event(body)
    found = client.calendar.list_all_events(from_=now, to=now + datetime.timedelta(days=30))
    assert len(found) == 3
    assert "SUMMARY:Tea" in client.calendar.get_event_ics(field(event, "id"))
    client.calendar.update_event(field(event, "id"), {"location": "Garden"})
    refused(409, "is_organizer", lambda: client.calendar.respond_to_event(field(event, "id"), {"response": "ACCEPTED"}))
    assert field(client.calendar.cancel_event(field(event, "id")), "status") == "CANCELLED"
    refused(422, "invalid_field", lambda: client.calendar.decline_proposal(field(event, "id"), {"attendee": FRIEND}))
    client.calendar.delete_event(field(event, "id"))
    refused(404, "resource_not_found", lambda: client.calendar.get_event(field(event, "id")))
    ics = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20300310T100000Z\r\nSUMMARY:Dentist\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    done = client.calendar.import_ics(ics.encode(), filename="home.ics")
    assert field(field(done, "counts"), "imported") == 1
    feed = client.calendar.create_feed({"name": "Desk", "mode": "full"})
    with urllib.request.urlopen(field(feed, "url")) as read:
        assert b"SUMMARY:Dentist" in read.read()
    assert field(client.calendar.list_feeds()[0], "readCount") == 1
    assert field(client.calendar.reset_feed(field(feed, "id")), "url") != field(feed, "url")
    client.calendar.delete_feed(field(feed, "id"))
    assert field(client.calendar.get_import(field(done, "id")), "undoable") is True
    assert len(client.calendar.list_all_imports()) == 1
    assert field(client.calendar.undo_import(field(done, "id")), "status") == "undone"


def tools():
    assert field(client.tools.read_verification_code({"subject": "Your code", "text": "482913"}), "code") == "482913"


def out_of_office():
    assert field(client.out_of_office.set(ME, {"message": "Away"}), "active") is True
    assert len(client.out_of_office.list()) == 2
    client.out_of_office.clear(ME)


def subscriptions():
    assert field(client.subscriptions.list(), "total") == 0
    thread = arrives("A list", headers={"List-Unsubscribe": "<https://example.org/out>"})
    listed = client.subscriptions.list()
    assert field(listed, "total") == 1
    sub = field(field(listed, "data")[0], "id")
    assert field(client.subscriptions.list_domains(), "total") == 1
    assert field(client.subscriptions.move(sub, {"destination": "archive"}), "moved") == 0  # it is an own message
    refused(422, "nothing_to_unsubscribe", lambda: client.threads.unsubscribe(thread))
    assert field(client.subscriptions.unsubscribe(sub), "url") == "https://example.org/out"
    assert field(client.subscriptions.unsubscribe_domain("example.net"), "domain") == "example.net"
    refused(404, "resource_not_found", lambda: client.subscriptions.unsubscribe("sub_99"))


def suppressions():
    made = client.suppressions.add({"email": "gone@example.org"})
    assert field(client.suppressions.get(field(made, "id")), "reason") == "manual"
    assert len(client.suppressions.list_all()) == 1
    assert field(send("gone@example.org"), "status") == "failed"
    client.suppressions.remove(field(made, "id"))


def temp_mail():
    domain = field(client.temp_mail.list_domains()[0], "domain")
    box = client.temp_mail.create({"domain": domain})
    token, inbox = field(box, "token"), field(box, "id")
    send(field(box, "address"), attachments=[{"filename": "a.txt", "content": "aGk="}])
    got = until("the arrival", lambda: client.temp_mail.list_all_messages(inbox, inbox_token=token))
    message = client.temp_mail.get_message(inbox, field(got[0], "id"), inbox_token=token)
    assert field(message, "message")["text"].strip() == "Milk?"
    assert len(client.temp_mail.list_attachments(inbox, field(got[0], "id"), inbox_token=token)) == 1
    assert field(client.temp_mail.get(inbox, inbox_token=token), "messageCount") == 1
    token = field(client.temp_mail.extend(inbox, inbox_token=token), "token")
    client.temp_mail.delete_message(inbox, field(got[0], "id"), inbox_token=token)
    client.temp_mail.delete(inbox, inbox_token=token)


def keys():
    made = client.keys.create({"name": "Reader", "scopes": ["threads:read"]})
    token = field(made, "token")
    client.threads.list(api_key=token)
    refused(403, "insufficient_scope", lambda: client.labels.create({"name": "x"}, api_key=token))
    rotated = client.keys.rotate(field(made, "id"))
    refused(401, "invalid_api_key", lambda: client.threads.list(api_key=token))
    client.threads.list(api_key=field(rotated, "token"))
    assert len(client.keys.list_all()) == 1
    client.keys.update(field(made, "id"), {"name": "Other"})
    assert field(client.keys.get(field(made, "id")), "name") == "Other"
    again = client.me.rotate(api_key=field(rotated, "token"))
    refused(401, "invalid_api_key", lambda: client.threads.list(api_key=field(rotated, "token")))
    client.threads.list(api_key=field(again, "token"))
    refused(501, "not_available_locally", client.me.rotate)
    assert field(client.keys.revoke(field(made, "id")), "status") == "revoked"
    client.keys.delete(field(made, "id"))


# One read of each namespace that a local mailbox does not have.
ABSENT = {
    "account": lambda c: c.get_username(),
    "analytics": lambda c: c.sending(),
    "app_host": lambda c: c.get(),
    "audiences": lambda c: c.list(),
    "automations": lambda c: c.list(),
    "billing": lambda c: c.get(),
    "branding": lambda c: c.get(),
    "broadcasts": lambda c: c.list(),
    "chats": lambda c: c.list(),
    "dns_connections": lambda c: c.list(),
    "domains": lambda c: c.list(),
    "encryption": lambda c: c.list_keys(),
    "events": lambda c: c.list_names(),
    "exports": lambda c: c.list(),
    "forms": lambda c: c.list(),
    "imports": lambda c: c.list(),
    "knowledge": lambda c: c.list(),
    "languages": lambda c: c.list(),
    "members": lambda c: c.list(),
    "provider_imports": lambda c: c.list(),
    "roles": lambda c: c.list(),
    "security": lambda c: c.step_up_status(),
    "senders": lambda c: c.get(FRIEND),
    "sending": lambda c: c.list_streams(),
    "support": lambda c: c.send({"subject": "x", "message": "x"}),
    "tracking": lambda c: c.list(),
    "webhooks": lambda c: c.list(),
    "workspaces": lambda c: c.list(),
}
# Single calls of the namespaces that it has.
ABSENT_CALLS = {
    "calendar.create_subscription": lambda c: c.create_subscription({"url": "https://example.com/a.ics"}),
    "calendar.delete_subscription": lambda c: c.delete_subscription("x"),
    "calendar.list_subscriptions": lambda c: c.list_subscriptions(),
    "calendar.refresh_subscription": lambda c: c.refresh_subscription("x"),
    "calendar.update_subscription": lambda c: c.update_subscription("x", {"name": "x"}),
    "contacts.activity": lambda c: c.activity(FRIEND),
    "contacts.list_events": lambda c: c.list_events(FRIEND),
    "contacts.set_audiences": lambda c: c.set_audiences(FRIEND, {"audienceIds": []}),
    "emails.check": lambda c: c.check({"text": "x"}),
    "emails.compose": lambda c: c.compose({"prompt": "x"}),
    "emails.rewrite": lambda c: c.rewrite({"text": "x", "action": "shorten"}),
    "emails.suggest_subject": lambda c: c.suggest_subject("x"),
    "emails.translate": lambda c: c.translate({"to": "de", "text": "x"}),
    "files.create_link": lambda c: c.create_link("x"),
    "keys.list_activity": lambda c: c.list_activity("x"),
    "keys.list_requests": lambda c: c.list_requests("x"),
    "keys.list_workspace_activity": lambda c: c.list_workspace_activity(),
    "keys.list_workspace_requests": lambda c: c.list_workspace_requests(),
    "keys.stats": lambda c: c.stats(),
    "labels.test": lambda c: c.test("x"),
    "me.list_activity": lambda c: c.list_activity(),
    "me.list_requests": lambda c: c.list_requests(),
    "me.stats": lambda c: c.stats(),
    "templates.design": lambda c: c.design({"prompt": "x"}),
    "templates.get_analytics": lambda c: c.get_analytics("x"),
    "templates.get_starter": lambda c: c.get_starter("x"),
    "templates.list_fonts": lambda c: c.list_fonts(),
    "templates.list_images": lambda c: c.list_images(),
    "templates.list_sends": lambda c: c.list_sends("x"),
    "templates.list_starters": lambda c: c.list_starters(),
    "templates.redesign": lambda c: c.redesign("x", {"prompt": "x"}),
    "templates.upload_image": lambda c: c.upload_image(PIXEL),
    "threads.reply_suggestions": lambda c: c.reply_suggestions("x"),
    "threads.summary": lambda c: c.summary("x"),
    "tools.check_address": lambda c: c.check_address(FRIEND),
    "tools.check_addresses": lambda c: c.check_addresses({"emails": [FRIEND]}),
    "tools.check_bimi": lambda c: c.check_bimi("example.org"),
    "tools.check_deliverability": lambda c: c.check_deliverability("example.org"),
    "tools.check_dmarc": lambda c: c.check_dmarc("example.org"),
    "tools.estimate_cost": lambda c: c.estimate_cost(),
}
PLAIN = {"close", "mode", "raw"}  # of the client itself
HERE = [
    addresses, me, emails, threads, drafts, labels, contacts, files, settings, follow_ups, rules, templates, calendar, out_of_office,
    subscriptions, suppressions, temp_mail, keys, tools,
]

spaces = {name for name in dir(client) if not name.startswith("_")} - PLAIN
unknown = spaces - {f.__name__ for f in HERE} - set(ABSENT)
assert not unknown, f"namespaces that this test does not know: {sorted(unknown)}"
for run in HERE:
    run()
    print("ok", run.__name__, flush=True)


def listing(call):
    """The three forms of a list are one call: list_cards, list_all_cards, iterate_cards."""
    for form in ("list_all", "iterate", "list"):
        if call == form or call.startswith(form + "_"):
            return "list" + call[len(form):]
    return call


def name_of(path):
    space, call = path.split(".")
    return f"{space}.{listing(call)}"


for path, make in sorted(ABSENT_CALLS.items()):
    space = getattr(client, path.split(".")[0])
    refused(501, "not_available_locally", lambda: make(space))
    print("skipped", path, flush=True)
calls = {f"{run.__name__}.{listing(c)}" for run in HERE for c in dir(getattr(client, run.__name__)._space) if not c.startswith("_")}
left = calls - {name_of(path) for path in driven}
assert not left, f"calls that this test does not make: {sorted(left)}"
for name in sorted(spaces & set(ABSENT)):
    refused(501, "not_available_locally", lambda: ABSENT[name](getattr(client, name)))
    print("skipped", name, flush=True)
