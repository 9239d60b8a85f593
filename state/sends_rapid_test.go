package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/faults"
	"codeberg.org/teapost/teapost/local"
)

// process is one teapost of several on the same mailbox, which can die at any write.
type process struct {
	mail  *Mail
	dead  atomic.Bool
	full  atomic.Bool
	left  atomic.Int64 // writes until it dies; 0: it lives on
	wrote atomic.Int64 // writes that were tried
	net   http.RoundTripper
}

var errDead = errors.New("dead")

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.dead.Load() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errDead
	}
	return p.net.RoundTrip(r)
}

func (p *process) gate() error {
	p.wrote.Add(1)
	if p.left.Load() > 0 && p.left.Add(-1) == 0 {
		p.dead.Store(true)
	}
	switch {
	case p.dead.Load():
		return errDead
	case p.full.Load():
		return errors.New("database or disk is full (13)")
	}
	return nil
}

// clock is wall time that can jump, as over a sleep of the computer.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) jump(d time.Duration) { c.ahead.Add(int64(d)) }

// process starts one more teapost.
func (w *world) process(o Options) *process {
	w.t.Helper()
	p := &process{net: w.off}
	c, err := api.New(api.Options{BaseURL: "http://localhost", APIKey: "oe_test_state", Transport: p})
	if err != nil {
		w.t.Fatal(err)
	}
	o.Client, o.gate = c, p.gate
	o.StateDir, o.CacheDir = filepath.Join(w.dir, "state"), filepath.Join(w.dir, "cache")
	if p.mail, err = Open(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// die ends a process as kill -9 does: nothing leaves it any more, neither to the disk nor to the net.
func (w *world) die(p *process) {
	w.t.Helper()
	p.dead.Store(true)
	if err := errors.Join(p.mail.lock.release(), p.mail.claim.release()); err != nil {
		w.t.Fatal(err)
	}
	w.end(p)
}

func (w *world) end(p *process) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.mail.Close(ctx); err != nil {
		w.t.Error(err)
	}
}

// sendOp is one thing that happens.
type sendOp struct {
	What  string
	Proc  int
	Entry int
	Wait  time.Duration
	Undo  int
	Step  [3]string
	N     int
}

func (o sendOp) String() string {
	return fmt.Sprintf("%s p%d e%d wait %v undo %d %v n%d", o.What, o.Proc, o.Entry, o.Wait, o.Undo, o.Step, o.N)
}

func drawSendOp(t *rapid.T) sendOp {
	steps := []string{"ok", "ok", "ok", "reset:after", "reset:after", "reset:read", "reset", "503", "429", "401", "422", "409", "stall:40s", "delay:2s", "garbage", "200:empty", "cut", "503:retry-after=90"}
	return sendOp{
		What: rapid.SampledFrom([]string{
			"send", "send", "send", "later", "script", "script", "script", "net", "refuse", "refuse", "now", "hold", "drop", "back", "back", "edit", "edit", "new", "undo", "again",
			"esc", "die", "die at", "close", "open", "open", "full", "pass", "pass", "pass",
		}).Draw(t, "what"),
		Proc:  rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "process"),
		Entry: rapid.IntRange(0, 2).Draw(t, "entry"),
		Wait:  time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 20, 300, 600, 2500, 11_000, 40_000, 900_000, 26 * 3_600_000}).Draw(t, "wait ms")) * time.Millisecond,
		Undo:  rapid.SampledFrom([]int{-1, 10, 10, 60}).Draw(t, "undo"),
		Step:  [3]string{rapid.SampledFrom(steps).Draw(t, "step 1"), rapid.SampledFrom(steps).Draw(t, "step 2"), rapid.SampledFrom(steps).Draw(t, "step 3")},
		N:     rapid.IntRange(1, 4).Draw(t, "n"),
	}
}

// sentThing is what the person did with one message.
type sentThing struct {
	id      EntryID
	subject string
	draft   DraftID
	dropped bool // free of doubt, as the screen said
	doubt   bool // dropped or edited after the warning, or cancelled when it was sent
	edited  bool // its text was opened again, free of doubt
	back    bool // was to be taken back last
	kept    bool // it was on the disk
}

// sendWorld runs operations and says what is wrong in the end.
type sendWorld struct {
	*world
	clock  clock
	procs  [2]*process
	things []*sentThing
	log    []string
}

func (s *sendWorld) tell(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *sendWorld) start(i int) {
	if s.procs[i] == nil {
		s.procs[i] = s.process(s.options)
	}
}

func (s *sendWorld) reap() {
	for i, p := range s.procs {
		if p != nil && p.dead.Load() {
			s.stop(i, s.die)
		}
	}
}

// stop ends a process. A wish that did not reach the disk before is gone with it.
func (s *sendWorld) stop(i int, how func(*process)) {
	p := s.procs[i]
	how(p)
	s.procs[i] = nil
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "state", "state.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	shared, err := readShared(db)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range shared.entries {
		for _, th := range s.things {
			if th.id == e.ID && !e.CancelWanted && !e.TooLate && e.State != EntryCancelled {
				th.back = false
			}
		}
	}
}

func (s *sendWorld) do(n int, o sendOp) {
	s.reap()
	p := s.procs[o.Proc]
	var th *sentThing
	var e Entry
	if p != nil && o.Entry < len(s.things) {
		th = s.things[len(s.things)-1-o.Entry]
		e, _ = p.mail.Entry(th.id)
	}
	free := e.CanDrop && e.State != EntryUnknown
	switch o.What {
	case "send", "later":
		if p == nil {
			break
		}
		d := p.mail.NewDraft("")
		d.To, d.Subject, d.Body = "grace@example.org", fmt.Sprintf("m%d", n), "text"
		opt := SendOptions{Undo: time.Duration(o.Undo) * time.Second}
		if o.What == "later" {
			opt.At = s.clock.now().Add(time.Duration(o.N*o.N*o.N) * 30 * time.Second)
		}
		th = &sentThing{subject: d.Subject, draft: d.ID, id: p.mail.Send(d, opt)}
		s.things = append(s.things, th)
	case "script":
		if err := s.player.Set(fmt.Sprintf("POST /emails: %s, %s, %s, ok; /emails*: %s, %s, ok", o.Step[0], o.Step[1], o.Step[2], o.Step[2], o.Step[0])); err != nil {
			s.t.Fatal(err)
		}
	case "net":
		s.off.set(o.N > 2)
	case "refuse":
		s.off.refuse(o.N * o.N)
	case "die":
		if p != nil {
			s.stop(o.Proc, s.die)
		}
	case "die at":
		if p != nil {
			p.left.Store(int64(o.N))
		}
	case "close":
		if p != nil {
			if p.full.Load() {
				s.stop(o.Proc, s.end)
				break
			}
			s.end(p)
			s.procs[o.Proc] = nil
		}
	case "open":
		s.start(o.Proc)
	case "full":
		if p != nil {
			p.full.Store(o.N > 1)
		}
	case "esc":
		if p != nil {
			p.mail.esc()
		}
	case "undo":
		if p != nil {
			s.undone(p)
			p.mail.Undo()
		}
	}
	if th != nil && e.ID != "" {
		s.act(o.What, p, th, e, free)
	}
	for _, p := range s.procs {
		if p == nil {
			continue
		}
		for _, th := range s.things {
			if now, ok := p.mail.Entry(th.id); ok && now.State != EntrySaving && (now.State != EntryFailed || now.Attempts > 0) {
				th.kept = true
			}
		}
	}
	s.tell("%2d %v: %v", n, o, e.State)
	if o.Wait > time.Minute {
		s.clock.jump(o.Wait - time.Second)
		time.Sleep(time.Second)
	} else if o.Wait > 0 {
		time.Sleep(o.Wait)
	}
	if o.N != 4 { // else the next comes before anything can move
		synctest.Wait()
	}
}

// undone notes which message an undo takes back.
func (s *sendWorld) undone(p *process) {
	p.mail.mu.Lock()
	defer p.mail.mu.Unlock()
	for i := len(p.mail.undo) - 1; i >= 0; i-- {
		e := p.mail.entry(p.mail.undo[i].entry)
		if e == nil || !e.canTakeBack(p.mail.now()) {
			continue
		}
		for _, th := range s.things {
			th.back = th.back || th.id == e.ID
		}
		return
	}
}

func (s *sendWorld) act(what string, p *process, th *sentThing, e Entry, free bool) {
	switch what {
	case "now":
		if e.CanSend && !e.TakingBack {
			th.back = false
		}
		p.mail.SendNow(e.ID)
		s.resent(p, th)
	case "hold":
		p.mail.Hold(e.ID)
	case "drop":
		switch {
		case e.State == EntrySent, e.Ask == AskEditAsNew, e.State == EntryFailed, e.State == EntryCancelled:
			th.doubt = th.doubt || e.CanDrop
		default:
			th.dropped = th.dropped || free
		}
		p.mail.Drop(e.ID)
	case "back":
		if e.CanTakeBack {
			th.back = true
		}
		p.mail.TakeBack(e.ID)
	case "edit":
		if _, ok := p.mail.EditEntry(e.ID); ok {
			th.edited = true
		}
	case "new":
		if _, ok := p.mail.EditAsNew(e.ID); ok {
			th.doubt = true
		}
	case "again":
		m := p.mail
		m.mu.Lock()
		d := m.entry(th.id).Draft
		m.mu.Unlock()
		if e.State != EntryFailed && e.State != EntryCancelled {
			if id := m.Send(d, SendOptions{}); id != th.id {
				s.tell("!! sending the same again made %s beside %s (%s)", id, th.id, e.State)
				s.t.Errorf("sending the same draft again made another entry")
			}
		}
	}
}

// resent follows a message whose time had passed and that goes as a new one.
func (s *sendWorld) resent(p *process, th *sentThing) {
	for _, e := range p.mail.Outbox() {
		if e.Subject == th.subject && e.ID != th.id && e.State != EntryFailed {
			th.id = e.ID
		}
	}
}

// settle makes everything good again and answers what is asked, until nothing is open.
func (s *sendWorld) settle() {
	s.reap()
	for i, p := range s.procs {
		switch {
		case p == nil:
		case p.full.Load():
			s.stop(i, s.end)
		default:
			s.end(p)
			s.procs[i] = nil
		}
	}
	if err := s.player.Set("ok"); err != nil {
		s.t.Fatal(err)
	}
	s.off.set(false)
	s.off.refuse(0)
	s.start(0)
	m := s.procs[0].mail
	for range 300 {
		s.clock.jump(time.Minute)
		s.pass(2 * time.Second)
		open := false
		for _, e := range m.Outbox() {
			switch e.State {
			case EntrySent, EntryCancelled, EntryFailed:
				continue
			case EntryHeld, EntryUnknown:
				for _, th := range s.things {
					th.back = th.back && (th.id != e.ID || e.TakingBack)
				}
				m.SendNow(e.ID)
			case EntryQueued, EntryWaiting:
				if e.Ask != AskNothing {
					m.SendNow(e.ID)
				}
			}
			open = true
		}
		if !open {
			break
		}
	}
	s.clock.jump(5 * time.Minute)
	s.pass(10 * time.Second)
}

func (s *sendWorld) check() (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	m := s.procs[0].mail
	drafts := map[string]int{}
	for _, d := range m.Drafts() {
		drafts[d.Subject]++
	}
	for _, th := range s.things {
		n := s.copies(th.subject)
		var in []*entry
		m.mu.Lock()
		for _, e := range m.outbox {
			if e.Subject == th.subject {
				in = append(in, e)
			}
		}
		m.mu.Unlock()
		if n > 1 {
			bad("%s: %d copies", th.subject, n)
		}
		final, tooLate := EntryState(""), false
		for _, e := range in {
			final, tooLate = e.State, tooLate || e.TooLate
		}
		switch final {
		case EntrySent:
			if n == 0 {
				bad("%s: said to be sent, not in the mailbox", th.subject)
			}
		case EntryCancelled, EntryFailed:
			if n != 0 {
				bad("%s: said to be %s, %d copies in the mailbox", th.subject, final, n)
			}
		case "":
			switch {
			case n == 0 && th.kept && !th.dropped && !th.doubt && drafts[th.subject] == 0:
				bad("%s: gone", th.subject)
			case n > 0 && !th.doubt && (th.dropped || th.edited || drafts[th.subject] > 0):
				bad("%s: taken out of the outbox (dropped %v, edited %v, drafts %d), and sent", th.subject, th.dropped, th.edited, drafts[th.subject])
			}
		default:
			bad("%s: still %s (%s)", th.subject, final, in[len(in)-1].Why)
		}
		if th.back && final == EntrySent && !tooLate {
			bad("%s: was to be taken back, sent without a word", th.subject)
		}
	}
	type sent struct{ key, body string }
	by := map[string]sent{}
	for _, r := range s.sends() {
		if len(r.Body) == 0 {
			continue // cut before it was read
		}
		tags, _ := bodyOf(r)["tags"].(map[string]any)
		id, _ := tags[tagName].(string)
		now := sent{r.Key, string(r.Body)}
		if before, ok := by[id]; ok && before != now || id == "" || r.Key == "" {
			bad("%q: sent as %v and as %v", id, before, now)
		}
		by[id] = now
	}
	return wrong
}

// runSends plays operations in a bubble of its own and gives what is wrong, with the story.
func runSends(t *testing.T, ops []sendOp) string {
	var out string
	synctest.Test(t, func(t *testing.T) {
		dir, err := os.MkdirTemp("", "sends") // an own one: t's fills up
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		w := &world{t: t, dir: dir, player: faults.MustParse("ok")}
		s := &sendWorld{world: w}
		server, err := local.Open(context.Background(), local.Options{Now: s.clock.now, Dir: filepath.Join(dir, "mail"), Addresses: []string{"ada@example.com"}, Name: "Ada", Schedules: true})
		if err != nil {
			t.Fatal(err)
		}
		w.server = server
		w.off = &switchedNet{next: w.player.Transport(server.Transport())}
		w.options = Options{Origin: "test", From: []Address{{Name: "Ada", Email: "ada@example.com"}}, Passive: true, Now: s.clock.now}
		s.start(0)
		time.Sleep(200 * time.Millisecond)
		s.start(1)
		for i, o := range ops {
			s.do(i, o)
		}
		s.settle()
		if wrong := s.check(); len(wrong) > 0 {
			out = strings.Join(wrong, "\n") + "\n" + strings.Join(s.log, "\n")
		}
		w.player.Close()
		for _, p := range s.procs {
			if p != nil {
				s.end(p)
			}
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

// deep is how many times more than usual the random tests run: TEAPOST_DEEP.
func deep(t *testing.T, n int) int {
	t.Helper()
	if v, err := strconv.Atoi(os.Getenv("TEAPOST_DEEP")); err == nil && v > 0 {
		return n * v
	}
	return n / slower
}

// ways lead a message into each of its states.
var ways = map[EntryState][]sendOp{
	EntrySaving:   {{What: "send", Undo: 10, N: 4}},
	EntryQueued:   {{What: "send", Proc: 1, Undo: 10, N: 1}},
	EntrySending:  {script("stall:40s", "ok"), {What: "send", Undo: 10, Wait: 700 * time.Millisecond}},
	"unsent":      {{What: "net", N: 4}, {What: "send", Undo: 10, Wait: 9 * time.Second}},
	"unsent once": {script("reset:after", "reset:after"), {What: "refuse", N: 1}, {What: "send", Undo: 10, Wait: 9 * time.Second}},
	"arrived":     {script("reset:after", "reset:after"), {What: "send", Undo: 10, Wait: 700 * time.Millisecond}, {What: "net", N: 4, Wait: 40 * time.Second}},
	EntryWaiting:  {script("reset:after", "503"), {What: "send", Undo: 10, Wait: 9 * time.Second}},
	EntryHeld:     {script("401", "ok"), {What: "send", Undo: 10, Wait: 700 * time.Millisecond}},
	EntryUnknown:  {script("reset:after", "ok"), {What: "send", Undo: 10}, {What: "esc", Wait: 700 * time.Millisecond}},
	EntryAccepted: {{What: "send", Undo: 60, Wait: 700 * time.Millisecond}},
	"scheduled":   {{What: "later", N: 3, Wait: 700 * time.Millisecond}},
	EntrySent:     {{What: "send", Undo: -1, Wait: 2500 * time.Millisecond}},
	EntryFailed:   {script("422", "ok"), {What: "send", Undo: 10, Wait: 700 * time.Millisecond}},
	EntryCancelled: {
		{What: "send", Undo: 60, Wait: 700 * time.Millisecond}, {What: "back", Wait: 700 * time.Millisecond},
	},
	EntryState(AskEditAsNew): {
		script("stall:40s", "ok"), {What: "send", Undo: 10, Wait: 20 * time.Millisecond}, {What: "esc"}, {What: "edit", Wait: 700 * time.Millisecond},
	},
	EntryState(AskTryAgain): {
		script("reset:read", "reset:read"), {What: "send", Undo: 10, Wait: 9 * time.Second}, {What: "pass", Wait: 26 * time.Hour},
	},
}

func script(first, then string) sendOp {
	return sendOp{What: "script", Step: [3]string{first, then, then}}
}

// everyWay is each state with each thing that can be done, by the owner and by another process.
func everyWay() (all [][]sendOp) {
	states := slices.Sorted(maps.Keys(ways))
	for _, what := range []string{"now", "hold", "drop", "back", "edit", "new", "undo", "again", "esc", "close", "die"} {
		for _, by := range []int{0, 1} {
			for _, state := range states {
				all = append(all, append(slices.Clone(ways[state]), sendOp{What: what, Proc: by, Wait: 20 * time.Millisecond}))
			}
		}
	}
	return all
}

// Whatever the server, the net, the disk, the person and another process do, and wherever a process dies: each message
// arrives once, or the screen says why not. A usual run takes every seventh way into a state and out of it.
func TestSendsHoldWhateverHappens(t *testing.T) {
	random := rapid.SliceOfN(rapid.Custom(drawSendOp), 0, 10)
	all := everyWay()
	for seed := range deep(t, len(all)/7) {
		ops := append(slices.Clone(all[(seed*7+seed*7/len(all))%len(all)]), random.Example(seed+1)...)
		if wrong := runSends(t, ops); wrong != "" {
			t.Fatalf("seed %d:\n%s", seed, wrong)
		}
	}
}
