package state

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"codeberg.org/teapost/teapost/internal/faults"
	"codeberg.org/teapost/teapost/local"
)

// changeOp is one thing that happens to a mailbox with a few threads.
type changeOp struct {
	What   string
	Thread int
	Step   [3]string
	Wait   time.Duration
	N      int
}

func (o changeOp) String() string {
	return fmt.Sprintf("%s t%d %v wait %v n%d", o.What, o.Thread, o.Step, o.Wait, o.N)
}

func drawChangeOp(t *rapid.T) changeOp {
	steps := []string{"ok", "ok", "ok", "reset:after", "reset:read", "503", "429", "403", "stall:40s", "delay:2s", "delay:5s", "cut", "503:retry-after=90"}
	return changeOp{
		What: rapid.SampledFrom([]string{
			"archive", "archive", "inbox", "star", "unstar", "read", "unread", "trash", "mute", "undo", "undo", "undo", "refresh", "refresh", "script", "script", "net",
			"restart", "die", "die at", "esc", "pass", "dismiss",
		}).Draw(t, "what"),
		Thread: rapid.IntRange(0, 2).Draw(t, "thread"),
		Step:   [3]string{rapid.SampledFrom(steps).Draw(t, "step 1"), rapid.SampledFrom(steps).Draw(t, "step 2"), rapid.SampledFrom(steps).Draw(t, "step 3")},
		Wait:   time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 20, 600, 2500, 11_000, 40_000, 900_000}).Draw(t, "wait ms")) * time.Millisecond,
		N:      rapid.IntRange(1, 5).Draw(t, "n"),
	}
}

// wish is how a person wants a thread to be.
type wish struct {
	inbox, starred, unread bool
	trash                  bool
}

func (w wish) with(k ChangeKind) wish {
	switch k {
	case ChangeArchive:
		w.inbox = false
	case ChangeInbox:
		w.inbox = true
	case ChangeStar:
		w.starred = true
	case ChangeUnstar:
		w.starred = false
	case ChangeRead:
		w.unread = false
	case ChangeUnread:
		w.unread = true
	case ChangeTrash:
		w.trash = true
	}
	return w
}

// done is one thing that the person did to a thread and did not take back.
type done struct {
	batch string
	ids   []string // of the change, and of its inverse
	kind  ChangeKind
}

// changeWorld runs operations and compares what is shown with what was wished, at every step.
type changeWorld struct {
	*world
	clock   clock
	proc    *process
	threads []ThreadID
	did     map[ThreadID][]done
	unsure  map[ThreadID]bool // the person stopped something, or was told of a refusal: the server decides
	dying   []ThreadID        // what was touched since a death was set
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

func (c *changeWorld) boot() {
	c.proc = c.process(c.options)
	c.mail = c.proc.mail
}

// crash ends the process, and forgets what it did not get to the disk.
func (c *changeWorld) crash() {
	m := c.mail
	c.die(c.proc)
	m.mu.Lock()
	for _, ch := range m.changes {
		if ch.State == changeSaving || ch.dropped { // itself, or its undo, may not have reached the disk
			c.unsure[ch.Thread] = true
		}
	}
	m.mu.Unlock()
	for _, id := range c.dying {
		c.unsure[id] = true
	}
	c.dying = nil
	c.boot()
}

func (c *changeWorld) do(n int, o changeOp) {
	if c.proc.dead.Load() {
		c.crash()
	}
	id := c.threads[o.Thread]
	kind := ChangeKind(o.What)
	if c.proc.left.Load() > 0 {
		c.dying = append(c.dying, id)
	}
	switch o.What {
	case "archive", "inbox", "star", "unstar", "read", "unread", "trash", "mute":
		if w := c.wished(id); w.trash || kind == ChangeArchive && !w.inbox || kind == ChangeInbox && w.inbox || !c.mail.Thread(id).Row.Filled {
			break // no screen offers it
		}
		before := len(c.mail.changes)
		c.mail.Do([]ThreadID{id}, Change{Kind: kind})
		c.mail.mu.Lock()
		if len(c.mail.changes) > before {
			ch := c.mail.changes[len(c.mail.changes)-1]
			c.did[id] = append(c.did[id], done{batch: ch.Batch, ids: []string{ch.ID}, kind: kind})
		}
		c.mail.mu.Unlock()
	case "undo":
		c.undo()
	case "refresh":
		c.mail.Refresh()
	case "script":
		if err := c.player.Set(fmt.Sprintf("PATCH /threads/*: %s, %s, ok; POST /threads/*: %s, ok; GET /threads: %s, %s, ok; GET /threads/*: %s, ok",
			o.Step[0], o.Step[1], o.Step[2], o.Step[1], o.Step[2], o.Step[0])); err != nil {
			c.t.Fatal(err)
		}
	case "net":
		c.off.set(o.N > 3)
	case "restart":
		c.end(c.proc)
		c.boot()
	case "die":
		c.proc.dead.Store(true)
		c.crash()
	case "die at":
		c.proc.left.Store(int64(o.N))
	case "esc":
		c.mail.mu.Lock()
		for _, ch := range c.mail.changes {
			if ch.call != "" {
				c.unsure[ch.Thread] = true
			}
		}
		c.mail.mu.Unlock()
		c.mail.StopForeground()
	case "dismiss":
		for _, f := range c.mail.Status().Failures {
			c.mail.Dismiss(f.ID)
		}
	}
	c.log = append(c.log, fmt.Sprintf("%2d %v", n, o))
	if o.Wait > time.Minute {
		c.clock.jump(o.Wait - time.Second)
		c.watch(time.Second)
	} else {
		c.watch(o.Wait)
	}
}

func (c *changeWorld) undo() {
	c.mail.mu.Lock()
	batch := ""
	for i := len(c.mail.undo) - 1; i >= 0 && batch == ""; i-- {
		for _, ch := range c.mail.undo[i].changes {
			if !ch.dropped {
				batch = ch.Batch
			}
		}
	}
	c.mail.mu.Unlock()
	if !c.mail.Undo() {
		return
	}
	for id, all := range c.did {
		for _, d := range all {
			if d.batch == batch {
				if c.proc.left.Load() > 0 || c.proc.dead.Load() {
					c.dying = append(c.dying, id)
				}
				// The inverse brings back what was before it was done, as a change of its own.
				back := map[ChangeKind]ChangeKind{
					ChangeArchive: ChangeInbox, ChangeInbox: ChangeArchive, ChangeStar: ChangeUnstar, ChangeUnstar: ChangeStar, ChangeRead: ChangeUnread, ChangeUnread: ChangeRead,
				}[d.kind]
				if d.kind == ChangeTrash || d.kind == ChangeArchive || d.kind == ChangeInbox {
					c.did[id] = without(c.did[id], batch) // it is as if it had not been done
					break
				}
				if back != "" {
					c.did[id] = without(c.did[id], batch)
				}
				break
			}
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
	for _, f := range c.mail.Status().Failures {
		if f.Thread != "" {
			c.unsure[f.Thread] = true
		}
	}
}

// watch lets time pass and looks at the screen all the while.
func (c *changeWorld) watch(d time.Duration) {
	step := max(d/20, 10*time.Millisecond)
	for end := time.Now().Add(d); ; time.Sleep(min(step, max(time.Until(end), time.Millisecond))) {
		synctest.Wait()
		if c.proc.dead.Load() {
			return
		}
		c.refusals()
		c.look()
		if !time.Now().Before(end) {
			return
		}
	}
}

func (c *changeWorld) look() {
	l := c.mail.List(View{})
	if !l.Known {
		return
	}
	shown := map[ThreadID]Row{}
	for _, r := range l.Rows {
		shown[r.ID] = r
	}
	for i, id := range c.threads {
		w := c.wished(id)
		row, in := shown[id]
		if c.unsure[id] {
			continue
		}
		if in != (w.inbox && !w.trash) {
			c.bad("t%d is shown in the inbox: %v, wished %+v", i, in, w)
			c.unsure[id] = true
		} else if in && row.Filled && (row.Starred != w.starred || row.Unread != w.unread) {
			c.bad("t%d is shown starred %v, unread %v, wished %+v", i, row.Starred, row.Unread, w)
			c.unsure[id] = true
		}
	}
}

func (c *changeWorld) settle() {
	if c.proc.dead.Load() {
		c.crash()
	}
	if err := c.player.Set("ok"); err != nil {
		c.t.Fatal(err)
	}
	c.off.set(false)
	c.mail.Refresh()
	for range 60 {
		c.clock.jump(20 * time.Second)
		c.watch(2 * time.Second)
		c.mail.mu.Lock()
		open := 0
		for _, ch := range c.mail.changes {
			if ch.open() && ch.State != changeAsked {
				open++
			}
		}
		c.mail.mu.Unlock()
		if open == 0 {
			break
		}
	}
	c.mail.Refresh()
	c.watch(5 * time.Second)
	if n := c.mail.Status().Unsent; n > 0 {
		for _, ch := range c.mail.changes {
			if ch.open() && ch.State != changeAsked {
				c.bad("%s of %s is still %s", ch.Change.Kind, ch.Thread, ch.State)
			}
		}
	}
	for i, id := range c.threads {
		if c.unsure[id] {
			continue
		}
		th, err := c.client("oe_test_look").Threads.Get(context.Background(), string(id))
		if err != nil {
			c.t.Fatal(err)
		}
		got := wish{unread: th.HasUnread}
		for _, l := range th.Labels {
			switch systemLabel(l) {
			case string(RoleInbox):
				got.inbox = true
			case string(RoleStarred):
				got.starred = true
			case string(RoleTrash):
				got.trash = true
			}
		}
		want := c.wished(id)
		if want.trash {
			want.inbox = got.inbox
		}
		if got != want {
			c.bad("t%d is %+v at the server, wished %+v", i, got, want)
		}
	}
	for _, id := range c.threads {
		n, wanted := c.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute"), 0
		for _, d := range c.did[id] {
			if d.kind == ChangeMute {
				wanted++
			}
		}
		if n > wanted {
			c.bad("%d requests for %d mutes", n, wanted)
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
		c := &changeWorld{world: w, did: map[ThreadID][]done{}, unsure: map[ThreadID]bool{}}
		w.server, err = local.Open(context.Background(), local.Options{Now: c.clock.now, Dir: filepath.Join(dir, "mail"), Addresses: []string{"ada@example.com"}, Name: "Ada", Schedules: true})
		if err != nil {
			t.Fatal(err)
		}
		w.off = &switchedNet{next: w.player.Transport(w.server.Transport())}
		w.options = Options{Origin: "test", From: []Address{{Name: "Ada", Email: "ada@example.com"}}, Now: c.clock.now}
		for i := range 3 {
			c.threads = append(c.threads, w.arrive(fmt.Sprintf("t%d", i), "text"))
			time.Sleep(time.Second)
		}
		c.boot()
		w.load()
		for i, o := range ops {
			c.do(i, o)
		}
		c.settle()
		if len(c.wrong) > 0 {
			out = strings.Join(c.wrong, "\n") + "\n" + strings.Join(c.log, "\n")
		}
		w.player.Close()
		w.end(c.proc)
		w.mail = nil
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

// Whatever the server, the net and the person do, and wherever the process dies: the screen shows what the person wished
// all the time, and in the end the server has it too.
func TestChangesHoldWhateverHappens(t *testing.T) {
	random := rapid.SliceOfN(rapid.Custom(drawChangeOp), 1, 16)
	for seed := range deep(t, 25) {
		if wrong := runChanges(t, random.Example(seed+1)); wrong != "" {
			t.Fatalf("seed %d:\n%s", seed, wrong)
		}
	}
}
