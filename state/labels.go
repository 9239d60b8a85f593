package state

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// LabelColor is a colour that a label may have.
type LabelColor struct {
	Name  string // as a person reads it: "Green"
	Value string // what [Label.Color] is then
	Text  string // of text on it
}

// labelView is what is known of the labels with the person's changes to them.
type labelView struct {
	byID   map[string]Label
	edited map[string]bool // by a change that the server does not have yet
	gone   map[string]bool
}

// ofLabel reports that the kind changes a label, not a thread.
func (k ChangeKind) ofLabel() bool { return k == ChangeLabelEdit || k == ChangeLabelDelete }

// labelThread stands where a change has its thread, for the changes to a label: they go one after the other too.
func labelThread(id string) ThreadID { return ThreadID("label " + id) }

// colorsAfter is how long the colours of labels are not asked for again when none came.
const colorsAfter = 15 * time.Second

// LabelColors are the colours that labels may have; none while they are not known, and then they are asked for.
func (m *Mail) LabelColors() []LabelColor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.folders.colors == nil && m.folders.colorsCall == "" && !m.closing && !m.now().Before(m.folders.colorsNext) {
		m.folders.colorsCall = m.start(want{
			op: "labels.listColors", title: "Loading the colours of labels", purpose: "colours", priority: api.Person, key: "colours",
			run: func(ctx context.Context, c *api.Client) (any, error) { return c.Labels.ListColors(ctx) },
			done: func(f api.Final) {
				m.folders.colorsCall = ""
				m.folders.colorsNext = m.now().Add(colorsAfter) // who shows them asks again with all news, of this failure too
				if f.Err != nil {
					m.addNotice(Notice{Kind: NoticeInfo, Text: failureText("Loading the colours of labels", f.Err)})
					return
				}
				for _, c := range f.Value.([]api.LabelColorChoice) {
					if c.Kind == api.LabelColorKindSolid && c.Value != "" {
						m.folders.colors = append(m.folders.colors, LabelColor{Name: c.Name, Value: c.Value, Text: c.TextColor})
					}
				}
			},
		})
	}
	return slices.Clip(m.folders.colors)
}

// EditLabel gives the label with l's ID another name or another colour; an empty colour takes it away. It is a change like
// those to threads: it shows at once, is kept on the disk, and can be undone.
func (m *Mail) EditLabel(l Label) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.labels().byID[l.ID]
	l.Name = strings.TrimSpace(clean.Line(l.Name))
	if !ok || l.Name == "" || l == was {
		return
	}
	for _, o := range m.userLabels() {
		if o.ID != l.ID && strings.EqualFold(o.Name, l.Name) {
			m.addNotice(Notice{Kind: NoticeInfo, Text: "There is a label #" + o.Name + " already"})
			return
		}
	}
	c := Change{Kind: ChangeLabelEdit, Add: []Label{l}, Remove: []Label{was}}
	m.changeLabel(was, c, &Change{Kind: ChangeLabelEdit, Add: []Label{was}, Remove: []Label{l}})
}

// DeleteLabel deletes a label for good: it comes off every thread. Ask the person first.
func (m *Mail) DeleteLabel(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.labels().byID[id]; ok {
		m.changeLabel(was, Change{Kind: ChangeLabelDelete, Remove: []Label{was}}, nil)
	}
}

func (m *Mail) changeLabel(was Label, c Change, inverse *Change) {
	made := m.newChange(newID(), labelThread(was.ID), c, inverse, "#"+was.Name)
	m.enqueue([]*change{made})
	words := changeWords[c.Kind]
	n := Notice{Kind: NoticeResult, Text: strings.Replace(words.done, "%s", m.object([]*change{made}), 1)}
	if inverse != nil {
		n.Undo, n.UndoTo = true, words.undo
		m.pushUndo(undoStep{changes: []*change{made}})
	}
	m.replaceResult(n)
}

// labelCall makes the call of a change to a label. Only what differs is told, so that nobody else's change is overwritten.
func (m *Mail) labelCall(c Change) func(context.Context, *api.Client) (any, error) {
	id := c.Remove[0].ID
	if c.Kind == ChangeLabelDelete {
		return func(ctx context.Context, a *api.Client) (any, error) { return a.Labels.Delete(ctx, id) }
	}
	was, now := c.Remove[0], c.Add[0]
	var patch api.LabelPatch
	if now.Name != was.Name {
		patch.Name = api.Set(now.Name)
	}
	switch {
	case now.Color == was.Color:
	case now.Color == "":
		patch.Color = api.Null[api.LabelColorInput]()
	default:
		color := api.LabelColorInput{BackgroundColor: now.Color}
		for _, o := range m.folders.colors {
			if o.Value == now.Color && o.Text != "" {
				color.TextColor = api.Set(o.Text)
			}
		}
		patch.Color = api.Set(color)
	}
	return func(ctx context.Context, a *api.Client) (any, error) { return a.Labels.Update(ctx, id, patch) }
}

// labelChanged takes over what the server made of a label.
func (m *Mail) labelChanged(c *change, answer any) {
	id := c.Change.Remove[0].ID
	labels := slices.Clone(m.folders.labels)
	if l, ok := answer.(*api.Label); ok {
		for i := range labels {
			if labels[i].ID == id {
				labels[i] = *l
			}
		}
	} else {
		labels = slices.DeleteFunc(labels, func(l api.Label) bool { return l.ID == id })
		m.labelGone(id)
	}
	m.folders.labels, m.folders.labelsSeq = labels, m.next()
	m.cacheValue("labels", labels)
}

// labelGone notes that a label was deleted: the threads that were fetched before still name it.
func (m *Mail) labelGone(id string) {
	if m.folders.gone == nil {
		m.folders.gone = map[string]bool{}
	}
	m.folders.gone[id] = true
}

// lookAtLabels asks for the labels to see whether one that was to be deleted is still there.
func (m *Mail) lookAtLabels(c *change) {
	m.folders.after = append(m.folders.after, func() {
		id := c.Change.Remove[0].ID
		there := slices.ContainsFunc(m.folders.labels, func(l api.Label) bool { return l.ID == id })
		if !there && c.State == changeAsked && !c.dropped {
			m.settleChange(c, nil)
		}
	})
	m.loadLabels()
}

// labels is what is known of the labels with the changes to them. It is made anew after anything changed.
func (m *Mail) labels() *labelView {
	if v := m.folders.view; v != nil {
		return v
	}
	v := &labelView{byID: map[string]Label{}, edited: map[string]bool{}, gone: maps.Clone(m.folders.gone)}
	if v.gone == nil {
		v.gone = map[string]bool{}
	}
	for _, l := range m.folders.labels {
		label := Label{ID: l.ID, Name: l.Name}
		if l.Color != nil {
			label.Color = l.Color.BackgroundColor
		}
		v.byID[l.ID] = label
	}
	for _, c := range m.changes {
		switch {
		case !c.open():
		case c.Change.Kind == ChangeLabelEdit:
			l := v.byID[c.Change.Add[0].ID]
			if now, was := c.Change.Add[0], c.Change.Remove[0]; l.ID != "" {
				if now.Name != was.Name {
					l.Name = now.Name
				}
				if now.Color != was.Color {
					l.Color = now.Color
				}
				v.byID[l.ID], v.edited[l.ID] = l, true
			}
		case c.Change.Kind == ChangeLabelDelete:
			v.gone[c.Change.Remove[0].ID] = true
		}
	}
	for id := range v.gone {
		delete(v.byID, id)
	}
	m.folders.view = v
	return v
}

// labelsNow are the labels of a thread, known since seq, by the names and colours that they have now.
func (m *Mail) labelsNow(labels []Label, seq uint64) []Label {
	if len(labels) == 0 {
		return labels
	}
	v := m.labels()
	out := make([]Label, 0, len(labels))
	for _, l := range labels {
		known, ok := v.byID[l.ID]
		switch {
		case v.gone[l.ID]:
			continue
		case ok && (v.edited[l.ID] || m.folders.labelsSeq >= seq):
			l = known
		}
		out = append(out, l)
	}
	return out
}
