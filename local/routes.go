package local

import (
	"strings"
)

type route struct {
	name   string // operation of the contract, "threads.get"
	verb   string
	parts  []string // a part that begins with ":" takes any segment
	body   bodyRule
	handle func(*Server, *call) (any, error)
}

type bodyRule int

const (
	noBody       bodyRule = iota // ignored
	optionalBody                 // may be missing
	needsBody
)

func routes() []route {
	table := []struct {
		verb, path string
		body       bodyRule
		handle     func(*Server, *call) (any, error)
	}{
		{"GET", "/ping", noBody, (*Server).ping},
		{"GET", "/keys/self", noBody, (*Server).keySelf},
		{"POST", "/keys/self/rotate", noBody, (*Server).rotateSelf},
		{"GET", "/keys", noBody, (*Server).listKeys},
		{"POST", "/keys", needsBody, (*Server).createKey},
		{"GET", "/keys/:id", noBody, (*Server).getKey},
		{"PATCH", "/keys/:id", needsBody, (*Server).updateKey},
		{"POST", "/keys/:id/revoke", optionalBody, (*Server).revokeKey},
		{"POST", "/keys/:id/rotate", noBody, (*Server).rotateKey},
		{"DELETE", "/keys/:id", noBody, (*Server).deleteKey},
		{"GET", "/addresses", noBody, (*Server).listAddresses},

		{"GET", "/contacts", noBody, (*Server).listContacts},
		{"POST", "/contacts", needsBody, (*Server).createContact},
		{"GET", "/contacts/people", noBody, (*Server).listPeople},
		{"POST", "/contacts/batch-delete", needsBody, (*Server).deleteContacts},
		{"GET", "/contacts/cards", noBody, (*Server).listCards},
		{"POST", "/contacts/cards", needsBody, (*Server).createCard},
		{"GET", "/contacts/cards/:id", noBody, (*Server).getCard},
		{"PATCH", "/contacts/cards/:id", needsBody, (*Server).updateCard},
		{"DELETE", "/contacts/cards/:id", noBody, (*Server).deleteCard},
		{"GET", cardsPath, noBody, (*Server).exportCards},
		{"GET", "/contacts/imports", noBody, (*Server).listContactImports},
		{"POST", "/contacts/imports", noBody, (*Server).importCards},
		{"GET", "/contacts/imports/:id", noBody, (*Server).getContactImport},
		{"POST", "/contacts/imports/:id/undo", optionalBody, (*Server).undoContactImport},
		{"PUT", "/contacts/:email/photo", noBody, (*Server).setPhoto},
		{"DELETE", "/contacts/:email/photo", noBody, (*Server).removePhoto},
		{"GET", "/contacts/:email", noBody, (*Server).getContact},
		{"PATCH", "/contacts/:email", needsBody, (*Server).updateContact},
		{"PUT", "/contacts/:email", optionalBody, (*Server).saveContact},
		{"DELETE", "/contacts/:email", noBody, (*Server).deleteContact},
		{"GET", "/contacts/:email/threads", noBody, (*Server).listContactThreads},
		{"POST", "/contacts/:email/block", noBody, (*Server).blockContact},
		{"DELETE", "/contacts/:email/block", noBody, (*Server).unblockContact},

		{"GET", "/files", noBody, (*Server).listFiles},
		{"POST", "/files", noBody, (*Server).uploadFile},
		{"GET", "/files/stats", noBody, (*Server).fileStats},
		{"POST", "/files/batch-delete", needsBody, (*Server).deleteFiles},
		{"GET", "/files/:id", noBody, (*Server).getFile},
		{"GET", "/files/:id/content", noBody, (*Server).downloadFile},
		{"GET", "/files/:id/links", noBody, (*Server).listFileLinks},
		{"DELETE", "/files/:id/links", noBody, (*Server).revokeFileLinks},
		{"DELETE", "/files/:id/links/:linkId", noBody, (*Server).revokeFileLink},
		{"DELETE", "/files/:id", noBody, (*Server).deleteFile},

		{"GET", "/settings", noBody, (*Server).getSettings},
		{"PATCH", "/settings", needsBody, (*Server).updateSettings},

		{"GET", "/follow-ups", noBody, (*Server).listFollowUps},
		{"POST", "/follow-ups", needsBody, (*Server).setFollowUp},
		{"DELETE", "/follow-ups/:id", noBody, (*Server).cancelFollowUp},

		{"GET", "/rules", noBody, (*Server).listRules},
		{"POST", "/rules", needsBody, (*Server).createRule},
		{"GET", "/rules/runs", noBody, (*Server).listRuleRuns},
		{"POST", "/rules/reorder", needsBody, (*Server).reorderRules},
		{"GET", "/rules/:id", noBody, (*Server).getRule},
		{"PATCH", "/rules/:id", needsBody, (*Server).updateRule},
		{"POST", "/rules/:id/test", optionalBody, (*Server).testRule},
		{"DELETE", "/rules/:id", noBody, (*Server).deleteRule},

		{"GET", "/out-of-office", noBody, (*Server).listOutOfOffice},
		{"PUT", "/out-of-office", needsBody, (*Server).setOutOfOffice},
		{"DELETE", "/out-of-office", noBody, (*Server).clearOutOfOffice},

		{"GET", "/subscriptions", noBody, (*Server).listSubscriptions},
		{"GET", "/subscriptions/domains", noBody, (*Server).listSubscriptionDomains},
		{"POST", "/subscriptions/domains/:domain/unsubscribe", optionalBody, (*Server).unsubscribeDomain},
		{"POST", "/subscriptions/:id/unsubscribe", optionalBody, (*Server).unsubscribeOne},
		{"POST", "/subscriptions/:id/move", needsBody, (*Server).moveOne},

		{"GET", "/suppressions", noBody, (*Server).listSuppressions},
		{"POST", "/suppressions", needsBody, (*Server).addSuppression},
		{"GET", "/suppressions/:id", noBody, (*Server).getSuppression},
		{"DELETE", "/suppressions/:id", noBody, (*Server).removeSuppression},

		{"GET", "/templates", noBody, (*Server).listTemplates},
		{"POST", "/templates", needsBody, (*Server).createTemplate},
		{"POST", "/templates/render", needsBody, (*Server).renderTemplate},
		{"GET", "/templates/:id", noBody, (*Server).getTemplate},
		{"PATCH", "/templates/:id", needsBody, (*Server).updateTemplate},
		{"DELETE", "/templates/:id", noBody, (*Server).deleteTemplate},
		{"POST", "/templates/:id/content", needsBody, (*Server).replaceContent},
		{"POST", "/templates/:id/duplicate", optionalBody, (*Server).duplicateTemplate},
		{"POST", "/templates/:id/preview", optionalBody, (*Server).previewTemplate},
		{"POST", "/templates/:id/send", needsBody, (*Server).sendTemplate},
		{"GET", "/templates/:id/versions", noBody, (*Server).listTemplateVersions},
		{"POST", "/templates/:id/versions", optionalBody, (*Server).publishTemplate},
		{"GET", "/templates/:id/versions/:version", noBody, (*Server).getTemplateVersion},
		{"DELETE", "/templates/:id/versions/:version", noBody, (*Server).deleteTemplateVersion},
		{"POST", "/templates/:id/versions/:version/restore", optionalBody, (*Server).restoreTemplateVersion},

		{"GET", "/calendar/events", noBody, (*Server).listEvents},
		{"POST", "/calendar/events", needsBody, (*Server).createEvent},
		{"GET", "/calendar/events/:id", noBody, (*Server).getCalendarEvent},
		{"PATCH", "/calendar/events/:id", needsBody, (*Server).updateEvent},
		{"DELETE", "/calendar/events/:id", noBody, (*Server).deleteEvent},
		{"GET", "/calendar/events/:id/ics", noBody, (*Server).getEventICS},
		{"POST", "/calendar/events/:id/cancel", optionalBody, (*Server).cancelEvent},
		{"POST", "/calendar/events/:id/respond", needsBody, (*Server).respondToEvent},
		{"POST", "/calendar/events/:id/decline-proposal", needsBody, (*Server).declineProposal},
		{"GET", "/calendar/feeds", noBody, (*Server).listFeeds},
		{"POST", "/calendar/feeds", needsBody, (*Server).createFeed},
		{"POST", "/calendar/feeds/:id/reset", optionalBody, (*Server).resetFeed},
		{"DELETE", "/calendar/feeds/:id", noBody, (*Server).deleteFeed},
		{"GET", feedPath, noBody, (*Server).readFeed},
		{"GET", "/calendar/imports", noBody, (*Server).listCalendarImports},
		{"POST", "/calendar/imports", noBody, (*Server).importCalendar},
		{"GET", "/calendar/imports/:id", noBody, (*Server).getCalendarImport},
		{"POST", "/calendar/imports/:id/undo", optionalBody, (*Server).undoCalendarImport},

		{"POST", "/tools/verification-code", needsBody, (*Server).readVerificationCode},

		{"GET", "/sender-categories", noBody, (*Server).listSenderCategories},
		{"PUT", "/sender-categories/:email", needsBody, (*Server).setSenderCategory},
		{"DELETE", "/sender-categories/:email", noBody, (*Server).clearSenderCategory},

		{"GET", "/temp-mail/domains", noBody, (*Server).listTempDomains},
		{"POST", "/temp-mail/inboxes", optionalBody, (*Server).createTempInbox},
		{"GET", "/temp-mail/inboxes/:id", noBody, (*Server).getTempInbox},
		{"DELETE", "/temp-mail/inboxes/:id", noBody, (*Server).deleteTempInbox},
		{"POST", "/temp-mail/inboxes/:id/extend", noBody, (*Server).extendTempInbox},
		{"GET", "/temp-mail/inboxes/:id/messages", noBody, (*Server).listTempMessages},
		{"GET", "/temp-mail/inboxes/:id/messages/:messageId", noBody, (*Server).getTempMessage},
		{"DELETE", "/temp-mail/inboxes/:id/messages/:messageId", noBody, (*Server).deleteTempMessage},
		{"GET", "/temp-mail/inboxes/:id/messages/:messageId/attachments", noBody, (*Server).listTempAttachments},

		{"GET", "/threads", noBody, (*Server).listThreads},
		{"GET", "/threads/counts", noBody, (*Server).counts},
		{"GET", "/threads/:id", noBody, (*Server).getThread},
		{"PATCH", "/threads/:id", needsBody, (*Server).updateThread},
		{"DELETE", "/threads/:id", noBody, (*Server).deleteThread},
		{"POST", "/threads/:id/trash", noBody, (*Server).trashThread},
		{"POST", "/threads/:id/restore", noBody, (*Server).restoreThread},
		{"POST", "/threads/:id/snooze", needsBody, (*Server).snoozeThread},
		{"POST", "/threads/:id/unsnooze", noBody, (*Server).unsnoozeThread},
		{"POST", "/threads/:id/mute", noBody, (*Server).muteThread},
		{"POST", "/threads/:id/unmute", noBody, (*Server).unmuteThread},
		{"POST", "/threads/:id/unsubscribe", noBody, (*Server).unsubscribeThread},
		{"GET", "/threads/:id/event", noBody, (*Server).getEvent},
		{"GET", "/threads/:id/notes", noBody, (*Server).listNotes},
		{"POST", "/threads/:id/notes", needsBody, (*Server).createNote},
		{"POST", "/threads/:id/notes/reorder", needsBody, (*Server).reorderNotes},
		{"PATCH", "/threads/:id/notes/:noteId", needsBody, (*Server).updateNote},
		{"DELETE", "/threads/:id/notes/:noteId", noBody, (*Server).deleteNote},
		{"GET", "/threads/:id/messages/:messageId/attachments", noBody, (*Server).listAttachments},

		{"GET", "/drafts", noBody, (*Server).listDrafts},
		{"POST", "/drafts", optionalBody, (*Server).createDraft},
		{"GET", "/drafts/:id", noBody, (*Server).getDraft},
		{"PATCH", "/drafts/:id", optionalBody, (*Server).updateDraft},
		{"DELETE", "/drafts/:id", noBody, (*Server).deleteDraft},

		{"GET", "/emails", noBody, (*Server).listEmails},
		{"POST", "/emails", needsBody, (*Server).sendEmail},
		{"POST", "/emails/batch", needsBody, (*Server).sendBatch},
		{"GET", "/emails/:id", noBody, (*Server).getEmail},
		{"GET", "/emails/:id/events", noBody, (*Server).listEmailEvents},
		{"GET", "/emails/:id/tracking", noBody, (*Server).getTracking},
		{"PATCH", "/emails/:id", needsBody, (*Server).updateEmail},
		{"POST", "/emails/:id/cancel", noBody, (*Server).cancelEmail},

		{"GET", "/labels", noBody, (*Server).listLabels},
		{"POST", "/labels", needsBody, (*Server).createLabel},
		{"GET", "/labels/colors", noBody, (*Server).listLabelColors},
		{"GET", "/labels/:id", noBody, (*Server).getLabel},
		{"PATCH", "/labels/:id", needsBody, (*Server).updateLabel},
		{"DELETE", "/labels/:id", noBody, (*Server).deleteLabel},
	}
	names := map[string]string{} // by verb and pattern
	known := operations()
	for _, op := range known {
		if key := op.verb + " " + pattern(op.path); names[key] == "" {
			names[key] = op.name
		}
	}
	out := make([]route, 0, len(known))
	there := map[string]bool{}
	for _, r := range table {
		key := r.verb + " " + pattern(r.path)
		name := names[key]
		if name == "" {
			name = r.path // beyond the contract
		}
		out = append(out, route{name, r.verb, strings.Split(r.path[1:], "/"), r.body, r.handle})
		there[key] = true
	}
	for _, op := range known {
		key := op.verb + " " + pattern(op.path)
		if there[key] {
			continue
		}
		there[key] = true
		out = append(out, route{op.name, op.verb, strings.Split(op.path[1:], "/"), noBody, absent(op.name)})
	}
	return out
}

// match tells how well a path fits: the captured segments and how many parts fit literally, or -1.
func (r *route) match(segments []string) (params []string, literal int) {
	if len(segments) != len(r.parts) {
		return nil, -1
	}
	for i, p := range r.parts {
		switch {
		case strings.HasPrefix(p, ":"):
			params = append(params, segments[i])
		case p == segments[i]:
			literal++
		default:
			return nil, -1
		}
	}
	return params, literal
}
