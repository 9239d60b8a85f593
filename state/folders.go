package state

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// folderState is what is known of folders, labels and own addresses.
type folderState struct {
	counts    *api.MailboxCounts
	countsSeq uint64
	labels    []api.Label
	labelsSeq uint64
	addresses []Address // the server's, those that may send

	tellsInbox bool // threads come with a label when they are in the inbox

	countsCall, labelsCall, addressesCall string
	countsAgain                           bool // something changed since the call for them began
	addressesAt                           time.Time
	after                                 []func() // to do with the lock held once the labels are known anew

	view       *labelView      // what labels makes of labels and changes; nil: to be made anew
	gone       map[string]bool // labels that were deleted here
	colors     []LabelColor
	colorsCall string
	colorsNext time.Time // not asked for before
}

// The server's names of folders are free strings; this is the one place that says what they mean.
var roleByName = map[string]Role{
	"inbox": RoleInbox, "snoozed": RoleSnoozed, "starred": RoleStarred, "flagged": RoleStarred, "draft": RoleDrafts, "drafts": RoleDrafts,
	"sent": RoleSent, "archive": RoleArchive, "spam": RoleSpam, "junk": RoleSpam, "bin": RoleTrash, "trash": RoleTrash, "all": RoleAll,
	"outbox": RoleOutbox,
}

// systemLabelRole says which folder a system label stands for.
var systemLabelRole = map[string]Role{
	"inbox": RoleInbox, "starred": RoleStarred, "spam": RoleSpam, "trash": RoleTrash, "bin": RoleTrash,
	"sent": RoleSent, "draft": RoleDrafts, "drafts": RoleDrafts, "snoozed": RoleSnoozed,
}

func roleOf(folder string) Role {
	if r, ok := roleByName[strings.ToLower(folder)]; ok {
		return r
	}
	return RoleOther
}

func folderName(r Role, raw string) string {
	switch r {
	case RoleTrash:
		return "Trash"
	case RoleAll:
		return "All mail"
	case RoleOther, RoleLabel:
		return raw
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

// sidebar is the order of the folders; a server that does not count one has it all the same, at its end.
var sidebar = []Role{RoleInbox, RoleSnoozed, RoleStarred, RoleDrafts, RoleOutbox, RoleSent, RoleArchive, RoleAll, RoleSpam, RoleTrash}

// serverFolder is the name under which a role is asked for when the server's counts do not name it.
var serverFolder = map[Role]string{
	RoleInbox: "inbox", RoleSnoozed: "snoozed", RoleStarred: "starred", RoleDrafts: "drafts", RoleOutbox: "outbox",
	RoleSent: "sent", RoleArchive: "archive", RoleAll: "all", RoleSpam: "spam", RoleTrash: "trash",
}

// systemLabel is the role of a system label on a thread, or empty for a user's label. Only upper-case ids are
// system labels: a user may well have a label named "spam".
func systemLabel(l api.ThreadLabel) string {
	if l.ID == strings.ToUpper(l.ID) {
		if r, ok := systemLabelRole[strings.ToLower(l.ID)]; ok {
			return string(r)
		}
	}
	return ""
}

func (m *Mail) labelOf(l api.ThreadLabel) Label {
	out := Label{ID: l.ID, Name: l.Name, Color: l.Color}
	if out.Name == "" || out.Color == "" {
		for _, known := range m.folders.labels {
			if known.ID == l.ID {
				if out.Name == "" {
					out.Name = known.Name
				}
				if out.Color == "" && known.Color != nil {
					out.Color = known.Color.BackgroundColor
				}
			}
		}
	}
	return out
}

// systemLabelID is the id under which the server keeps a system label: taken from its list of labels by name, the usual
// one while that list is not known. ok is false when the list is known and has none.
func (m *Mail) systemLabelID(r Role) (id string, ok bool) {
	for _, l := range m.folders.labels {
		if strings.EqualFold(l.Type, "system") && (systemLabelRole[strings.ToLower(l.ID)] == r || systemLabelRole[strings.ToLower(l.Name)] == r) {
			return l.ID, true
		}
	}
	if m.folders.labelsSeq != 0 {
		return "", false
	}
	return strings.ToUpper(string(r)), true
}

// Can reports whether the server can do a kind of change to threads of v, and why not.
func (m *Mail) Can(kind ChangeKind, v View) (ok bool, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.can(kind, v)
}

func (m *Mail) can(kind ChangeKind, v View) (bool, string) {
	role := Role("")
	switch kind {
	case ChangeArchive, ChangeInbox:
		role = RoleInbox
	case ChangeStar, ChangeUnstar:
		role = RoleStarred
	case ChangeSpam:
		role = RoleSpam
	case ChangeRestore:
		if r := roleOf(v.folder()); v.Query == "" && v.Label == "" && r != RoleTrash {
			return false, "it is not in the trash"
		}
	}
	if role != "" {
		if _, ok := m.systemLabelID(role); !ok {
			return false, "this server has no label for it"
		}
	}
	if why := m.caps[string(kind)]; why != "" {
		return false, why
	}
	return true, ""
}

// Folders is the sidebar: the folders that the server counts, then the user's labels.
func (m *Mail) Folders() []Folder {
	m.mu.Lock()
	defer m.mu.Unlock()
	byRole := map[Role]Folder{}
	var others []Folder
	labelCount := map[string]api.LabelCount{}
	if c := m.folders.counts; c != nil {
		for _, f := range c.Folders {
			role := roleOf(f.Label)
			entry := Folder{View: View{Folder: f.Label}, Role: role, Name: folderName(role, f.Label), Count: f.Count, Unread: f.Unread}
			if role == RoleOther {
				others = append(others, entry)
			} else if _, ok := byRole[role]; !ok {
				byRole[role] = entry
			}
		}
		for _, l := range c.Labels {
			labelCount[l.ID] = l
		}
	}
	m.countOwnChanges(byRole)
	var out []Folder
	for _, r := range sidebar {
		f, ok := byRole[r]
		if !ok {
			f = Folder{View: View{Folder: serverFolder[r]}, Role: r, Name: folderName(r, "")}
		}
		switch r {
		case RoleInbox:
			f.View = View{Folder: "inbox"}
		case RoleOutbox:
			f.Count = 0
			for _, e := range m.outbox {
				if e.live() {
					f.Count++
				}
			}
		case RoleDrafts:
			f.Count, f.Unread = m.draftCount(f.Count), 0
		case RoleSnoozed:
			if m.caps["folder:"+f.View.folder()] != "" {
				f.Count = len(m.ownSnoozes())
			}
		}
		if m.caps["folder:"+f.View.folder()] != "" && r != RoleSnoozed {
			continue
		}
		out = append(out, f)
	}
	out = append(out, others...)
	for _, l := range m.userLabels() {
		n := labelCount[l.ID]
		out = append(out, Folder{View: View{Label: l.ID}, Role: RoleLabel, Name: l.Name, Color: l.Color, Count: n.Count, Unread: n.Unread})
	}
	return out
}

// countOwnChanges moves the counts of the inbox and its neighbours by the changes that the server had not counted yet.
func (m *Mail) countOwnChanges(byRole map[Role]Folder) {
	inbox := m.lists[View{Folder: "inbox"}]
	if inbox == nil {
		return
	}
	isIn := map[ThreadID]bool{}
	for _, id := range inbox.ids {
		isIn[id] = true
	}
	f, ok := byRole[RoleInbox]
	if !ok {
		return
	}
	for id, cs := range m.byThread() {
		rec := m.rows[id]
		if rec == nil || !rec.filled {
			continue
		}
		was, unread := isIn[id], rec.row.Unread
		is, now := was, unread
		for _, c := range cs {
			if !c.counts(m.folders.countsSeq) {
				continue
			}
			is = m.membership(View{Folder: "inbox"}, c, is)
			row := Row{Unread: now}
			c.Change.apply(&row)
			now = row.Unread
		}
		if was != is {
			f.Count += delta(is)
		}
		if wasUnread, isUnread := was && unread, is && now; wasUnread != isUnread {
			f.Unread += delta(isUnread)
		}
	}
	f.Count, f.Unread = max(f.Count, 0), max(f.Unread, 0)
	byRole[RoleInbox] = f
}

func delta(up bool) int {
	if up {
		return 1
	}
	return -1
}

// Labels are the user's labels by name.
func (m *Mail) Labels() []Label {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.userLabels()
}

func (m *Mail) userLabels() []Label {
	var out []Label
	for _, l := range m.folders.labels {
		if strings.EqualFold(l.Type, "system") || systemLabel(api.ThreadLabel{ID: l.ID}) != "" {
			continue
		}
		if label, ok := m.labels().byID[l.ID]; ok {
			out = append(out, label)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name) })
	return out
}

// NewLabel makes a label and puts it on threads. The call may run only once: when its answer is lost the labels are looked
// at before anything else.
func (m *Mail) NewLabel(name string, ids []ThreadID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name = strings.TrimSpace(clean.Line(name)); name != "" {
		m.newLabel(name, ids)
	}
}

func (m *Mail) newLabel(name string, ids []ThreadID) {
	apply := func(l Label) { m.do(ids, Change{Kind: ChangeLabels, Add: []Label{l}}) }
	for _, l := range m.userLabels() {
		if strings.EqualFold(l.Name, name) {
			apply(l)
			return
		}
	}
	title := "Making the label #" + name
	m.start(want{
		op: "labels.create", title: title, purpose: "label " + name, priority: api.Person, foreground: true,
		write: true, resources: []string{"labels"},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Labels.Create(ctx, api.LabelInput{Name: name})
		},
		done: func(f api.Final) {
			if f.Err == nil {
				l := f.Value.(*api.Label)
				m.folders.labels, m.folders.view = append(append([]api.Label(nil), m.folders.labels...), *l), nil
				apply(Label{ID: l.ID, Name: l.Name})
				m.loadLabels()
				return
			}
			m.labelNotMade(name, title, ids, f)
		},
	})
}

// labelNotMade tells what became of a label that was to be made.
func (m *Mail) labelNotMade(name, title string, ids []ThreadID, f api.Final) {
	var e *api.Error
	refused := errors.As(f.Err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != 408
	switch {
	case refused:
		m.addNotice(Notice{Kind: NoticeFailure, Text: failureText(title, f.Err)})
	case errors.Is(f.Err, context.Canceled) && f.Attempts == 0:
	default:
		m.addNoticeRetry(Notice{Kind: NoticeFailure, RetryTo: "looks and goes on", Text: title + ": answer lost, it may or may not be there"}, func() {
			m.folders.after = append(m.folders.after, func() { m.newLabel(name, ids) })
			m.loadLabels()
		})
	}
}

// loadCounts asks for the numbers of the sidebar.
func (m *Mail) loadCounts() {
	if m.folders.countsCall != "" || m.closing || m.holdBack(false) {
		return
	}
	seq := m.next()
	m.folders.countsCall = m.start(want{
		op: "threads.counts", title: "Counting messages", purpose: "counts", priority: api.Background, key: "counts", resources: []string{"threads"},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Threads.Counts(ctx, api.CountsParams{})
		},
		done: func(f api.Final) {
			m.folders.countsCall = ""
			again := m.folders.countsAgain
			m.folders.countsAgain = false
			if f.Err != nil {
				return
			}
			if again {
				defer m.loadCounts()
			}
			m.folders.counts, m.folders.countsSeq = f.Value.(*api.MailboxCounts), seq
			m.forgetSettled()
			m.cacheValue("counts", m.folders.counts)
			m.changed()
			for _, rec := range m.drafts {
				if rec.created > seq {
					m.loadCounts() // it may be counted, or not
					break
				}
			}
		},
	})
}

// loadLabels asks for the labels.
func (m *Mail) loadLabels() {
	if m.folders.labelsCall != "" || m.closing {
		return
	}
	seq := m.next()
	m.folders.labelsCall = m.start(want{
		op: "labels.list", title: "Loading labels", purpose: "labels", priority: api.Background, key: "labels", resources: []string{"labels"},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			page, err := c.Labels.List(ctx, api.ListParams{Limit: 100})
			if err != nil {
				return nil, err
			}
			return page.Items, nil
		},
		done: func(f api.Final) {
			m.folders.labelsCall = ""
			after := m.folders.after
			m.folders.after = nil
			if f.Err != nil {
				return
			}
			if seq < m.folders.labelsSeq { // asked for before a change to a label
				m.folders.after = append(m.folders.after, after...)
				m.loadLabels()
				return
			}
			defer func() {
				for _, f := range after {
					f()
				}
			}()
			m.folders.labels, m.folders.labelsSeq = f.Value.([]api.Label), seq
			for id, rec := range m.rows {
				if rec.thread != nil {
					rec.row, rec.inFolder = m.rowOf(id, rec.thread)
				}
			}
			m.cacheValue("labels", m.folders.labels)
			m.listsChanged()
		},
	})
}

// loadAddresses asks which addresses may send.
func (m *Mail) loadAddresses() {
	if m.folders.addressesCall != "" || m.closing {
		return
	}
	m.folders.addressesCall = m.start(want{
		op: "addresses.list", title: "Loading your addresses", purpose: "addresses", priority: api.Background, key: "addresses",
		run: func(ctx context.Context, c *api.Client) (any, error) {
			page, err := c.Addresses.List(ctx, api.ListParams{Limit: 100})
			if err != nil {
				return nil, err
			}
			return page.Items, nil
		},
		done: func(f api.Final) {
			m.folders.addressesCall = ""
			if f.Err != nil {
				if errors.Is(f.Err, context.Canceled) {
					m.folders.addressesAt = time.Time{}
				}
				return
			}
			m.folders.addresses = nil
			for _, a := range f.Value.([]api.MailboxAddress) {
				if a.Enabled && a.CanSend {
					m.folders.addresses = append(m.folders.addresses, Address{Email: a.Address})
				}
			}
			m.folders.addressesAt = m.now()
			for id, rec := range m.rows {
				if rec.thread != nil {
					rec.row, rec.inFolder = m.rowOf(id, rec.thread)
				}
			}
			m.cacheValue("addresses", m.folders.addresses)
			m.listsChanged()
		},
	})
}

// Identities are the own addresses that may send: the configured ones first.
func (m *Mail) Identities() []Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.identities()
}

func (m *Mail) identities() []Address {
	out := append([]Address(nil), m.opts.From...)
	have := map[string]bool{}
	for _, a := range out {
		have[strings.ToLower(a.Email)] = true
	}
	for _, a := range m.folders.addresses {
		if k := strings.ToLower(a.Email); !have[k] {
			have[k] = true
			out = append(out, a)
		}
	}
	return out
}

// IsMe reports whether an address is the person's own.
func (m *Mail) IsMe(email string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isMe(email)
}

func (m *Mail) isMe(email string) bool {
	for _, a := range m.opts.From {
		if strings.EqualFold(a.Email, email) {
			return true
		}
	}
	for _, a := range m.folders.addresses {
		if strings.EqualFold(a.Email, email) {
			return true
		}
	}
	return false
}
