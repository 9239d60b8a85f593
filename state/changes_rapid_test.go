package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/faults"
	"codeberg.org/teapost/teapost/local"
)

// changeOp is one thing that happens to a mailbox with a few threads.
type changeOp struct {
	What   string
	Proc   int
	Thread int
	Step   [3]string
	Wait   time.Duration
	N      int
}

func (o changeOp) String() string {
	return fmt.Sprintf("%s p%d t%d %v wait %v n%d", o.What, o.Proc, o.Thread, o.Step, o.Wait, o.N)
}

// kindsIn are what a screen offers in each list.
var kindsIn = map[Role][]ChangeKind{
	RoleInbox:   {ChangeArchive, ChangeStar, ChangeUnstar, ChangeRead, ChangeUnread, ChangeTrash, ChangeSpam, ChangeSnooze, ChangeMute, ChangeLabels},
	RoleArchive: {ChangeInbox, ChangeStar, ChangeUnstar, ChangeTrash, ChangeSnooze, ChangeLabels},
	RoleSpam:    {ChangeInbox, ChangeTrash, ChangeRead},
	RoleSnoozed: {ChangeUnsnooze, ChangeSnooze, ChangeTrash},
	RoleTrash:   {ChangeRestore, ChangeDelete, ChangeRead},
}

var changeViews = []View{{}, {Folder: "archive"}, {Folder: "spam"}, {Folder: "snoozed"}, {Folder: "bin"}}

func drawChangeOp(t *rapid.T) changeOp {
	steps := []string{"ok", "ok", "ok", "reset:after", "reset:read", "503", "429", "403", "stall:40s", "delay:2s", "delay:5s", "cut", "503:retry-after=90"}
	return changeOp{
		What: rapid.SampledFrom([]string{
			"do", "do", "do", "do", "do", "do", "do", "do", "undo", "undo", "undo", "view", "view", "refresh", "refresh", "script", "script", "net",
			"restart", "open", "die", "die at", "esc", "pass", "dismiss",
		}).Draw(t, "what"),
		Proc:   rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "process"),
		Thread: rapid.IntRange(0, 2).Draw(t, "thread"),
		Step:   [3]string{rapid.SampledFrom(steps).Draw(t, "step 1"), rapid.SampledFrom(steps).Draw(t, "step 2"), rapid.SampledFrom(steps).Draw(t, "step 3")},
		Wait:   time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 20, 600, 2500, 11_000, 40_000, 900_000}).Draw(t, "wait ms")) * time.Millisecond,
		N:      rapid.IntRange(0, 9).Draw(t, "n"),
	}
}

// changeWorld runs operations and compares what is shown with what was wished, at every step.
type changeWorld struct {
	*world
	clock   clock
	procs   [2]*process
	threads []ThreadID
	label   Label
	did     map[ThreadID][]done
	lags    map[ThreadID]bool // shown in its place once the server has said which that is
	by      map[ThreadID]int  // the process that had to do with it
	both    map[ThreadID]bool // two processes had to do with it: each screen shows it in its time
	unsure  map[ThreadID]bool // the person stopped something, or was told of a refusal: the server decides
	dying   [2][]ThreadID     // what was touched since a death was set
	mutes   map[ThreadID]int
	deletes map[ThreadID]int
	log     []string
	wrong   []string
}

func (c *changeWorld) bad(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	c.log = append(c.log, "!! "+fmt.Sprintf(format, args...))
}

func (c *changeWorld) wished(id ThreadID) wish {
	w := wish{inbox: true, unread: true}
	for _, d := range c.did[id] {
		w = w.with(d.kind)
	}
	return w
}

func (c *changeWorld) boot(i int) { c.procs[i] = c.process(c.options) }

// crash ends a process, and forgets what it did not get to the disk.
func (c *changeWorld) crash(i int) {
	m := c.procs[i].mail
	c.die(c.procs[i])
	m.mu.Lock()
	for _, ch := range m.changes {
		if ch.State == changeSaving || ch.dropped { // itself, or its undo, may not have reached the disk
			c.unsure[ch.Thread] = true
		}
	}
	m.mu.Unlock()
	for _, id := range c.dying[i] {
		c.unsure[id] = true
	}
	c.dying[i] = nil
	c.procs[i] = nil
	c.leave(i)
}

// leave notes that what process i had begun may be ended by the other one, and shown by its successor in its time.
func (c *changeWorld) leave(i int) {
	if c.procs[1-i] == nil {
		return
	}
	for _, id := range c.threads {
		c.both[id] = true
	}
}

func (c *changeWorld) reap() {
	for i, p := range c.procs {
		if p != nil && p.dead.Load() {
			c.crash(i)
		}
	}
	if c.procs[0] == nil {
		c.boot(0)
	}
}

func (c *changeWorld) do(n int, o changeOp) {
	c.reap()
	if o.What == "open" && c.procs[1] == nil {
		c.boot(1)
	}
	if c.procs[o.Proc] == nil {
		o.Proc = 0
	}
	p := c.procs[o.Proc]
	m := p.mail
	id := c.threads[o.Thread]
	if p.left.Load() > 0 {
		c.dying[o.Proc] = append(c.dying[o.Proc], id)
	}
	what := o.String()
	switch o.What {
	case "do":
		what += " " + c.act(o, id)
	case "undo":
		c.undo(o.Proc)
	case "view":
		m.OpenView(changeViews[o.N%len(changeViews)])
	case "refresh":
		m.Refresh()
	case "script":
		if err := c.player.Set(fmt.Sprintf("PATCH /threads/*: %s, %s, ok; POST /threads/*: %s, ok; DELETE /threads/*: %s, ok; GET /threads: %s, %s, ok; GET /threads/*: %s, ok",
			o.Step[0], o.Step[1], o.Step[2], o.Step[0], o.Step[1], o.Step[2], o.Step[0])); err != nil {
			c.t.Fatal(err)
		}
	case "net":
		c.off.set(o.N > 6)
	case "restart":
		c.end(p)
		c.leave(o.Proc)
		c.boot(o.Proc)
	case "die":
		p.dead.Store(true)
		c.reap()
	case "die at":
		p.left.Store(int64(o.N/2 + 1))
	case "esc":
		m.mu.Lock()
		for _, ch := range m.changes {
			if ch.call != "" {
				c.unsure[ch.Thread] = true
			}
		}
		m.mu.Unlock()
		if o.N < 3 {
			m.esc()
		} else {
			m.StopAll()
		}
	case "dismiss":
		for _, f := range m.Status().Failures {
			m.Dismiss(f.ID)
		}
	}
	c.log = append(c.log, fmt.Sprintf("%2d %s", n, what))
	if o.Wait > time.Minute {
		c.clock.jump(o.Wait - time.Second)
		c.watch(time.Second)
	} else {
		c.watch(o.Wait)
	}
}

// act does to a thread what the list offers in which the person sees it.
func (c *changeWorld) act(o changeOp, id ThreadID) string {
	m := c.procs[o.Proc].mail
	m.mu.Lock()
	view := m.current
	m.mu.Unlock()
	row, listed := Row{}, false
	for _, r := range m.List(view).Rows {
		if r.ID == id {
			row, listed = r, true
		}
	}
	kinds := kindsIn[roleOf(view.Folder)]
	if !listed || !row.Filled || len(kinds) == 0 {
		return "- not listed"
	}
	kind := kinds[o.N%len(kinds)]
	change, as := Change{Kind: kind}, kind
	switch kind {
	case ChangeSnooze:
		change.Until = c.clock.now().Add(60 * 24 * time.Hour).Truncate(time.Second)
	case ChangeLabels:
		if as = changeLabel; hasLabel(row.Labels, c.label.ID) {
			as = changeUnlabel
		}
		change.Add = []Label{c.label}
		if as == changeUnlabel {
			change.Add, change.Remove = nil, change.Add
		}
	}
	if by, touched := c.by[id]; touched && by != o.Proc {
		c.both[id] = true
	}
	c.by[id] = o.Proc
	m.mu.Lock()
	before := len(m.changes)
	m.mu.Unlock()
	m.Do([]ThreadID{id}, change)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.changes) == before {
		return string(as) + " - nothing to do"
	}
	ch := m.changes[len(m.changes)-1]
	c.did[id] = append(c.did[id], done{batch: ch.Batch, kind: as, proc: o.Proc})
	// A change in a list that shows it where it is no more, because the server had not been asked, or behind another's
	// back, is as the server takes it.
	if roleOf(view.Folder) != c.place(id, len(c.did[id])-1) {
		c.unsure[id] = true
	}
	switch kind {
	case ChangeRestore:
		c.lags[id] = true
	case ChangeMute:
		c.mutes[id]++
	case ChangeDelete:
		c.deletes[id]++
	}
	return string(as)
}

// place is the list in which a thread is after the first n things that were done to it.
func (c *changeWorld) place(id ThreadID, n int) Role {
	w := wish{inbox: true, unread: true}
	for _, d := range c.did[id][:n] {
		w = w.with(d.kind)
	}
	switch w = w.seen(); {
	case w.deleted:
		return RoleOther
	case w.trash:
		return RoleTrash
	case w.spam:
		return RoleSpam
	case w.snoozed:
		return RoleSnoozed
	case w.inbox:
		return RoleInbox
	}
	return RoleArchive
}

func (c *changeWorld) undo(i int) {
	m := c.procs[i].mail
	m.mu.Lock()
	batch := ""
	for j := len(m.undo) - 1; j >= 0 && batch == ""; j-- {
		for _, ch := range m.undo[j].changes {
			if !ch.dropped {
				batch = ch.Batch
			}
		}
	}
	m.mu.Unlock()
	if !m.Undo() {
		return
	}
	for id, all := range c.did {
		for n, d := range all {
			if d.batch != batch {
				continue
			}
			if p := c.procs[i]; p.left.Load() > 0 || p.dead.Load() {
				c.dying[i] = append(c.dying[i], id)
			}
			for _, later := range all[n+1:] {
				if later.proc != i { // its inverse comes after what another process did meanwhile
					c.unsure[id] = true
				}
			}
			if d.kind == ChangeSpam && c.place(id, n) != RoleInbox || d.kind == ChangeTrash && c.place(id, n) == RoleSnoozed {
				c.unsure[id] = true // it comes back into the inbox; the own list of snoozed threads does not know it any more
			}
			if d.kind == ChangeRestore || d.kind == ChangeTrash {
				c.lags[id] = true
			}
			c.did[id] = without(all, batch) // it is as if it had not been done
			break
		}
	}
}

func without(all []done, batch string) []done {
	var out []done
	for _, d := range all {
		if d.batch != batch {
			out = append(out, d)
		}
	}
	return out
}

// refusals notes the threads of which the screen said that something could not be done.
func (c *changeWorld) refusals() {
	for _, p := range c.procs {
		if p == nil {
			continue
		}
		for _, f := range p.mail.Status().Failures {
			if f.Thread != "" {
				c.unsure[f.Thread] = true
			}
		}
	}
}

// watch lets time pass and looks at the screens all the while.
func (c *changeWorld) watch(d time.Duration) {
	step := max(d/20, 10*time.Millisecond)
	for end := time.Now().Add(d); ; time.Sleep(min(step, max(time.Until(end), time.Millisecond))) {
		synctest.Wait()
		for _, p := range c.procs {
			if p != nil && p.dead.Load() {
				return
			}
		}
		c.refusals()
		for i := range c.procs {
			c.look(i)
		}
		if !time.Now().Before(end) {
			return
		}
	}
}

func (c *changeWorld) look(i int) {
	if c.procs[i] == nil {
		return
	}
	l := c.procs[i].mail.List(View{})
	if !l.Known {
		return
	}
	shown := map[ThreadID]Row{}
	for _, r := range l.Rows {
		shown[r.ID] = r
	}
	for t, id := range c.threads {
		if by, touched := c.by[id]; c.unsure[id] || c.both[id] || c.lags[id] || touched && by != i {
			continue
		}
		w := c.wished(id)
		row, in := shown[id]
		if in != (w.inbox && !w.hidden()) {
			c.bad("p%d shows t%d in the inbox: %v, wished %+v", i, t, in, w)
			c.unsure[id] = true
		} else if in && row.Filled && (row.Starred != w.starred || row.Unread != w.unread || hasLabel(row.Labels, c.label.ID) != w.label) {
			c.bad("p%d shows t%d starred %v, unread %v, labels %v, wished %+v", i, t, row.Starred, row.Unread, row.Labels, w)
			c.unsure[id] = true
		}
	}
}

// atServer is how the server has a thread.
func (c *changeWorld) atServer(id ThreadID) wish {
	th, err := c.client("oe_test_look").Threads.Get(context.Background(), string(id))
	if errors.Is(err, api.ErrNotFound) {
		return wish{deleted: true}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	got := wish{unread: th.HasUnread, snoozed: th.SnoozedUntil != nil}
	for _, l := range th.Labels {
		switch systemLabel(l) {
		case string(RoleInbox):
			got.inbox = true
		case string(RoleStarred):
			got.starred = true
		case string(RoleSpam):
			got.spam = true
		case string(RoleTrash):
			got.trash = true
		}
		got.label = got.label || l.ID == c.label.ID
	}
	return got.seen()
}

func (c *changeWorld) settle() {
	if err := c.player.Set("ok"); err != nil {
		c.t.Fatal(err)
	}
	c.off.set(false)
	c.reap()
	open := func() (all []*change) {
		for _, p := range c.procs {
			if p == nil {
				continue
			}
			p.mail.mu.Lock()
			for _, ch := range p.mail.changes {
				if ch.open() && ch.State != changeAsked {
					all = append(all, ch)
				}
			}
			p.mail.mu.Unlock()
		}
		return all
	}
	for range 60 {
		c.reap()
		for _, p := range c.procs {
			if p != nil {
				p.mail.OpenView(View{})
				p.mail.Refresh()
			}
		}
		c.clock.jump(20 * time.Second)
		c.watch(2 * time.Second)
		if len(open()) == 0 {
			break
		}
	}
	for _, p := range c.procs {
		if p != nil {
			p.mail.Refresh()
		}
	}
	c.watch(5 * time.Second)
	for _, ch := range open() {
		c.bad("%s of %s is still %s", ch.Change.Kind, ch.Thread, ch.State)
	}
	for i, id := range c.threads {
		got := c.atServer(id)
		if want := c.wished(id).seen(); !c.unsure[id] && got != want {
			c.bad("t%d is %+v at the server, wished %+v", i, got, want)
		}
		c.compare(i, id, got)
	}
	for _, id := range c.threads {
		if n := c.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute"); n > c.mutes[id] {
			c.bad("%d requests for %d mutes", n, c.mutes[id])
		}
		if n := c.player.Count(http.MethodDelete, "/threads/"+string(id)); n > c.deletes[id] {
			c.bad("%d requests for %d deletions", n, c.deletes[id])
		}
	}
}

// compare says where a screen does not show a thread as the server has it, though nothing is open any more.
func (c *changeWorld) compare(t int, id ThreadID, got wish) {
	for i, p := range c.procs {
		if p == nil {
			continue
		}
		p.mail.mu.Lock()
		asked := false
		for _, ch := range p.mail.changes {
			asked = asked || ch.Thread == id && ch.open()
		}
		p.mail.mu.Unlock()
		if asked {
			continue
		}
		in := false
		for _, r := range p.mail.List(View{}).Rows {
			if r.ID == id {
				in = true
				if r.Filled && (r.Starred != got.starred || r.Unread != got.unread || hasLabel(r.Labels, c.label.ID) != got.label) {
					c.bad("p%d shows t%d in the end as starred %v, unread %v, labels %v, the server has %+v", i, t, r.Starred, r.Unread, r.Labels, got)
				}
			}
		}
		if in != got.inbox {
			c.bad("p%d shows t%d in the inbox in the end: %v, the server has %+v", i, t, in, got)
		}
	}
}

func runChanges(t *testing.T, ops []changeOp) string {
	var out string
	synctest.Test(t, func(t *testing.T) {
		dir, err := os.MkdirTemp("", "changes")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		w := &world{t: t, dir: dir, player: faults.MustParse("ok")}
		c := &changeWorld{
			world: w, did: map[ThreadID][]done{}, unsure: map[ThreadID]bool{}, lags: map[ThreadID]bool{}, both: map[ThreadID]bool{}, by: map[ThreadID]int{},
			mutes: map[ThreadID]int{}, deletes: map[ThreadID]int{},
		}
		w.server, err = local.Open(context.Background(), local.Options{Now: c.clock.now, Dir: filepath.Join(dir, "mail"), Addresses: []string{"ada@example.com"}, Name: "Ada", Schedules: true})
		if err != nil {
			t.Fatal(err)
		}
		w.off = &switchedNet{next: w.player.Transport(w.server.Transport())}
		w.options = Options{Origin: "test", From: []Address{{Name: "Ada", Email: "ada@example.com"}}, Now: c.clock.now}
		made, err := w.client("oe_test_look").Labels.Create(context.Background(), api.LabelInput{Name: "work"})
		if err != nil {
			t.Fatal(err)
		}
		c.label = Label{ID: made.ID, Name: made.Name}
		for i := range 3 {
			c.threads = append(c.threads, w.arrive(fmt.Sprintf("t%d", i), "text"))
			time.Sleep(time.Second)
		}
		c.boot(0)
		w.mail = c.procs[0].mail
		w.load()
		for i, o := range ops {
			c.do(i, o)
		}
		c.settle()
		if len(c.wrong) > 0 {
			out = strings.Join(c.wrong, "\n") + "\n" + strings.Join(c.log, "\n")
		}
		w.player.Close()
		for _, p := range c.procs {
			if p != nil {
				w.end(p)
			}
		}
		w.mail = nil
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

// Whatever the server, the net and the person do in two processes, and wherever one dies: the screen shows what the person
// wished all the time, in the end the server has it too, and the screens what the server has.
func TestChangesHoldWhateverHappens(t *testing.T) {
	random := rapid.SliceOfN(rapid.Custom(drawChangeOp), 1, 20)
	for seed := range deep(t, 25) {
		if wrong := runChanges(t, random.Example(seed+1)); wrong != "" {
			t.Fatalf("seed %d:\n%s", seed, wrong)
		}
	}
}
