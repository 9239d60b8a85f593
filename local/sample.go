package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// SampleOwner is the person whose mailbox the sample is, unless the mailbox has addresses already.
const SampleOwner = "Ada <ada@example.com>"

//go:embed sample
var sampleFiles embed.FS

// sampleThread is one thread of sample/mail.txt.
type sampleThread struct {
	slug     string
	folder   string
	labels   []string
	starred  bool
	snooze   string // "+1 09:00": tomorrow at nine
	messages []sampleMessage
}

type sampleMessage struct {
	from, to, cc string
	ago          string // "3h20m" before now, or
	at           string // "-3 18:30": three days ago at half past six
	subject      string
	unread       bool
	flowed       bool
	list         string // the mailing list that it came through
	html         string // file
	raw          string // file
	calendar     string
	attach       []string
	headers      []mailparse.Field
	thread       string // of a draft: the thread that it answers
	text         string
}

// sampleLabels are the labels of the sample with their colours.
var sampleLabels = []struct{ name, background, foreground string }{
	{"home", "#2f7d4f", "#ffffff"},
	{"work", "#2c5f9e", "#ffffff"},
	{"travel", "#b5651d", "#ffffff"},
}

// sampleEverybody is who gets the long thread of the sample.
var sampleEverybody = []string{
	"Noor Haddad <noor@example.com>", "Grace Hall <grace@example.org>", "Lin Okafor <lin@example.org>",
	"Samuel Osei <samuel@example.com>", "Ingrid Vik <ingrid@example.com>",
}

// AddSample fills the mailbox with invented mail, dated relative to now. It does so once: called again it
// changes nothing. A mailbox without addresses of its own becomes that of SampleOwner. Call it before the
// mailbox answers requests.
func (s *Server) AddSample(ctx context.Context) error {
	const done = "sample"
	var have bool
	if err := s.reader.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM meta WHERE key = ?)", done).Scan(&have); err != nil {
		return s.storeError(err)
	}
	if have {
		return nil
	}
	if s.unrestricted {
		owner := mailparse.ParseAddressList(SampleOwner)[0]
		if err := s.loadIdentity(ctx, []string{owner.Email}, owner.Name); err != nil {
			return err
		}
		s.unrestricted = false
	}
	threads, drafts, err := readSample()
	if err != nil {
		return err
	}
	b := &sampleBuilder{now: s.now(), owner: mailparse.Address{Name: s.name, Email: s.addresses[0]}}
	type ready struct {
		*parsed
		IngestOptions
		slug string
	}
	var all []ready
	for _, th := range threads {
		items, err := b.thread(th)
		if err != nil {
			return fmt.Errorf("sample thread %s: %w", th.slug, err)
		}
		for _, it := range items {
			p, err := prepare(ctx, it.Raw)
			if err != nil {
				return fmt.Errorf("sample thread %s: %w", th.slug, err)
			}
			all = append(all, ready{p, it.IngestOptions, th.slug})
		}
	}
	err = s.write(ctx, func(t *tx) error {
		if err := t.exec("INSERT INTO meta(key, value) VALUES(?, ?)", done, instant(t.now)); err != nil {
			return err
		}
		for _, l := range sampleLabels {
			id, err := t.labelByName(l.name)
			if err != nil {
				return err
			}
			if err := t.exec("UPDATE labels SET background = ?, foreground = ? WHERE id = ? AND background IS NULL", l.background, l.foreground, id); err != nil {
				return err
			}
		}
		ids := map[string]int64{}
		for _, r := range all {
			in, err := s.ingest(t, r.parsed, r.IngestOptions)
			if err != nil {
				return err
			}
			ids[r.slug], _ = parseID("thr", in.ThreadID)
		}
		for _, m := range drafts {
			d := &draft{to: []string{m.to}, cc: []string{}, bcc: []string{}, subject: m.subject, html: paragraphs(b.fill(m.text))}
			if id, ok := ids[m.thread]; ok {
				d.threadID = sql.NullInt64{Int64: id, Valid: true}
			}
			recipients, err := d.recipients()
			if err != nil {
				return err
			}
			at, err := b.when(m)
			if err != nil {
				return err
			}
			if _, err := t.insert(`INSERT INTO drafts(recipients, subject, html, from_address, thread_id, forward_of, folded, created_at, updated_at)
				VALUES(?,?,?,?,?,?,?,?,?)`, recipients, d.subject, d.html, d.from, d.threadID, d.forwardOf, d.folded(), at.UnixMilli(), at.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	return s.storeError(err)
}

// readSample parses sample/mail.txt: blocks that begin with "%%thread", "%%message" or "%%draft", each
// with lines "Name: value" and, for the latter two, a blank line and a text.
func readSample() (threads []sampleThread, drafts []sampleMessage, err error) {
	src, err := sampleFiles.ReadFile("sample/mail.txt")
	if err != nil {
		return nil, nil, err
	}
	for _, chunk := range strings.Split("\n"+string(src), "\n%%")[1:] {
		head, text, _ := strings.Cut(chunk, "\n\n")
		lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
		kind, slug, _ := strings.Cut(lines[0], " ")
		var th sampleThread
		m := sampleMessage{text: text}
		for _, line := range lines[1:] {
			name, value, ok := strings.Cut(line, ": ")
			if !ok {
				return nil, nil, fmt.Errorf("sample: line %q", line)
			}
			if err := th.set(name, value); err == nil {
				continue
			}
			if err := m.set(name, value); err != nil {
				return nil, nil, err
			}
		}
		// Attachments are named behind the text, where they are to be seen.
		for {
			rest, last, ok := cutLast(m.text)
			if !ok {
				break
			}
			m.attach = append([]string{last}, m.attach...)
			m.text = rest
		}
		switch {
		case kind == "thread":
			th.slug = slug
			threads = append(threads, th)
		case kind == "draft":
			drafts = append(drafts, m)
		case kind == "message" && len(threads) > 0:
			last := &threads[len(threads)-1]
			last.messages = append(last.messages, m)
		default:
			return nil, nil, fmt.Errorf("sample: block %q", lines[0])
		}
	}
	return threads, drafts, nil
}

func cutLast(text string) (rest, file string, ok bool) {
	text = strings.TrimRight(text, "\n")
	i := strings.LastIndexByte(text, '\n') + 1
	file, ok = strings.CutPrefix(text[i:], "Attach: ")
	return text[:i], file, ok
}

var errSampleField = errors.New("sample: unknown field")

func (th *sampleThread) set(name, value string) error {
	switch name {
	case "Labels":
		th.labels = strings.Split(value, ", ")
	case "Starred":
		th.starred = true
	case "Folder":
		th.folder = value
	case "Snooze":
		th.snooze = value
	default:
		return errSampleField
	}
	return nil
}

func (m *sampleMessage) set(name, value string) error {
	switch name {
	case "From":
		m.from = value
	case "To":
		m.to = value
	case "Cc":
		m.cc = value
	case "Ago":
		m.ago = value
	case "At":
		m.at = value
	case "Subject":
		m.subject = value
	case "Unread":
		m.unread = true
	case "Flowed":
		m.flowed = true
	case "List":
		m.list = value
	case "Html":
		m.html = value
	case "Raw":
		m.raw = value
	case "Calendar":
		m.calendar = value
	case "Attach":
		m.attach = append(m.attach, value)
	case "Thread":
		m.thread = value
	case "Header":
		n, v, _ := strings.Cut(value, ": ")
		m.headers = append(m.headers, mailparse.Field{Name: n, Value: v})
	default:
		return fmt.Errorf("%w %q", errSampleField, name)
	}
	return nil
}

// sampleBuilder writes the messages of the sample for one moment and one owner.
type sampleBuilder struct {
	now   time.Time
	owner mailparse.Address
}

// fill puts the owner into a text.
func (b *sampleBuilder) fill(text string) string {
	first, _, _ := strings.Cut(b.owner.Name, " ")
	if first == "" {
		first, _, _ = strings.Cut(b.owner.Email, "@")
	}
	return strings.NewReplacer("{me}", first, "{email}", b.owner.Email, "{owner}", b.owner.String()).Replace(text)
}

func (b *sampleBuilder) addresses(list string, sender mailparse.Address) []mailparse.Address {
	if list == "" {
		return nil
	}
	var out []mailparse.Address
	if list == "everybody" {
		list = strings.Join(append([]string{"me"}, sampleEverybody...), ", ")
	}
	for _, a := range mailparse.ParseAddressList(list) {
		if a.Email == "me" {
			a = b.owner
		}
		if a.Email != sender.Email {
			out = append(out, a)
		}
	}
	return out
}

// clock reads "-3 18:30" or "+1 09:00" as days from today and a time of day.
func (b *sampleBuilder) clock(s string) (time.Time, error) {
	days, hm, ok := strings.Cut(s, " ")
	n, err := strconv.Atoi(days)
	t, err2 := time.Parse("15:04", hm)
	if !ok || err != nil || err2 != nil {
		return time.Time{}, fmt.Errorf("the time %q is not valid", s)
	}
	y, m, d := b.now.Date()
	return time.Date(y, m, d+n, t.Hour(), t.Minute(), 0, 0, b.now.Location()), nil
}

func (b *sampleBuilder) when(m sampleMessage) (time.Time, error) {
	if m.at != "" {
		return b.clock(m.at)
	}
	d, err := time.ParseDuration(m.ago)
	return b.now.Add(-d).Truncate(time.Second), err
}

func (b *sampleBuilder) thread(th sampleThread) ([]Item, error) {
	var items []Item
	var ids []string
	subject := ""
	for i, m := range th.messages {
		at, err := b.when(m)
		if err != nil {
			return nil, err
		}
		if m.subject != "" {
			subject = m.subject
		}
		id := fmt.Sprintf("<%s.%d.%d@sample.teapost.example>", th.slug, i+1, b.now.Unix())
		var raw []byte
		if m.raw != "" {
			raw, err = b.rawMessage(m, id, at)
		} else {
			raw, err = b.message(m, b.fill(subject), id, ids, at)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		o := IngestOptions{ReceivedAt: at, Folder: th.folder, Labels: th.labels, Unread: m.unread, Starred: th.starred}
		if m.from == "me" {
			o.Folder = "sent"
		}
		if th.snooze != "" && i == len(th.messages)-1 {
			if o.SnoozedUntil, err = b.clock(th.snooze); err != nil {
				return nil, err
			}
		}
		items = append(items, Item{Raw: raw, IngestOptions: o})
	}
	return items, nil
}

func (b *sampleBuilder) rawMessage(m sampleMessage, id string, at time.Time) ([]byte, error) {
	src, err := sampleFiles.ReadFile("sample/" + m.raw)
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer("{date}", at.Format("Mon, 02 Jan 2006 15:04:05 -0700"), "{id}", id).Replace(b.fill(string(src)))
	return []byte(strings.ReplaceAll(text, "\n", "\r\n")), nil
}

func (b *sampleBuilder) message(m sampleMessage, subject, id string, ids []string, at time.Time) ([]byte, error) {
	o := mailparse.Outgoing{
		From: b.owner, Subject: subject, Date: at, MessageID: id, References: ids,
		Text: b.fill(m.text), Headers: append([]mailparse.Field{{Name: "X-Teapost-Sample", Value: "yes"}}, m.headers...),
	}
	if len(ids) > 0 {
		o.InReplyTo = ids[len(ids)-1]
	}
	if m.from != "me" {
		o.From = mailparse.ParseAddressList(m.from)[0]
	}
	to := m.to
	if to == "" {
		to = "me"
	}
	o.To, o.Cc = b.addresses(to, o.From), b.addresses(m.cc, o.From)
	if m.list != "" {
		o.Headers = append(o.Headers,
			mailparse.Field{Name: "List-Id", Value: "<" + m.list + ".lists.example.org>"},
			mailparse.Field{Name: "List-Post", Value: "<mailto:" + m.list + "@lists.example.org>"},
			mailparse.Field{Name: "List-Unsubscribe", Value: "<mailto:" + m.list + "-leave@lists.example.org?subject=leave>"})
	}
	if m.html != "" {
		src, err := sampleFiles.ReadFile("sample/" + m.html)
		if err != nil {
			return nil, err
		}
		o.HTML = b.fill(string(src))
	}
	if m.calendar != "" {
		o.Calendar, o.CalendarMethod = b.invite(id), "REQUEST"
	}
	for _, name := range m.attach {
		name, inline := strings.CutSuffix(name, " inline")
		f, err := sampleFile(name)
		if err != nil {
			return nil, err
		}
		if inline {
			f.Inline, f.ContentID = true, "cat@example.net"
		}
		o.Attachments = append(o.Attachments, f)
	}
	raw, err := mailparse.Build(o)
	if m.flowed {
		raw = bytes.Replace(raw, []byte("text/plain; charset=utf-8"), []byte("text/plain; charset=utf-8; format=flowed"), 1)
	}
	return raw, err
}

// invite is the calendar object of the offsite, on the next Thursday that is at least two days away.
func (b *sampleBuilder) invite(id string) []byte {
	y, m, d := b.now.Date()
	day := time.Date(y, m, d+2, 10, 0, 0, 0, b.now.Location())
	for day.Weekday() != time.Thursday {
		day = day.AddDate(0, 0, 1)
	}
	const form = "20060102T150405Z"
	var out strings.Builder
	for _, line := range []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//teapost//sample//EN", "METHOD:REQUEST", "BEGIN:VEVENT",
		"UID:" + strings.Trim(id, "<>"), "SEQUENCE:0", "DTSTAMP:" + b.now.UTC().Format(form),
		"DTSTART:" + day.UTC().Format(form), "DTEND:" + day.Add(6*time.Hour).UTC().Format(form),
		"SUMMARY:Offsite: what we build next", "LOCATION:The boathouse\\, Quay Street 4",
		"DESCRIPTION:Noor brings cake. Bring a pullover\\, the boathouse is\n  honest about the season.",
		"ORGANIZER;CN=Team Calendar:mailto:calendar@example.com",
		"ATTENDEE;CN=Noor Haddad;PARTSTAT=ACCEPTED:mailto:noor@example.com",
		"ATTENDEE;CN=Grace Hall;PARTSTAT=ACCEPTED:mailto:grace@example.org",
		"ATTENDEE;CN=Lin Okafor;PARTSTAT=TENTATIVE:mailto:lin@example.org",
		"ATTENDEE;CN=" + icsParam(b.owner.Name) + ";RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:" + b.owner.Email,
		"BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT30M", "END:VALARM", "END:VEVENT", "END:VCALENDAR",
	} {
		out.WriteString(strings.ReplaceAll(line, "\n", "\r\n") + "\r\n")
	}
	return []byte(out.String())
}

func icsParam(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == 0x7f {
			return -1
		}
		return r
	}, s) + `"`
}

// persona is somebody of the sample who answers.
type persona struct {
	address string
	lines   []string
	sign    string
}

var personas = []persona{
	{"Grace Hall <grace@example.org>", []string{
		"Thanks, that helps. I will try it on the big input tonight and tell you\nwhether it gets faster or only prettier.",
		"Yes. I had written the same on a napkin, but yours is legible.",
		"I am in the workshop and read this in the break. Short answer: agreed.\nLong answer: agreed, with a picture, tomorrow.",
	}, "Grace"},
	{"Ana Müller <ana@example.net>", []string{
		"Ha! I read this to Jonas and he laughed so much that the eggs burned. So:\nyes, and bring eggs.",
		"Good. 🍰 I tell the pan.",
		"You are the best. The small one too, she is louder about it.",
	}, "Ana"},
	{"Lin Okafor <lin@example.org>", []string{
		"Makes sense. I will send a new version and you may find the next mistake.",
		"Measured it just now: 2.4 s. I am going to have a green tea at 80 degrees.",
		"Can you put that into a test? Then I believe it for ever.",
	}, "Lin"},
	{"山田 太郎 <taro@tokyo.example>", []string{
		"ご返信ありがとうございます。承知いたしました。\n猫もよろしくと申しております。",
		"ありがとうございます。写真をもう一枚、近いうちにお送りします。",
	}, "山田 太郎"},
	{"Дмитрий Орлов <dmitri@example.org>", []string{
		"Спасибо за быстрый ответ! Так и сделаю.",
		"Отлично. Ставлю чайник и сажусь за главу восемь.",
	}, "Дмитрий"},
	{"ليلى حداد <leyla@example.net>", []string{
		"شكراً جزيلاً! سأرسل بقية الصور قريباً.",
		"أسعدتني رسالتك. إلى اللقاء في الربيع.",
	}, "ليلى"},
	{"נועה לביא <noa@example.org>", []string{
		"מעולה, תודה! נדבר ביום ראשון.",
		"אני בעד. אביא גם כבל נוסף, ליתר ביטחון.",
	}, "נועה"},
	{"Noor Haddad <noor@example.com>", []string{
		"Noted, thank you. There will be cake either way.",
		"Perfect, I put it on the list. The list is now two pages long.",
	}, "Noor"},
	{"Samuel Osei <samuel@example.com>", []string{
		"I heard it arrive. From my desk.",
		"Fine with me, if I may keep the bell.",
	}, "Samuel"},
	{"Ingrid Vik <ingrid@example.com>", []string{
		"Yes, and quietly.",
		"Agreed. The bell stays out of it.",
	}, "Ingrid"},
	{"Piet de Groot <piet@example.net>", []string{
		"Semikolon has read it and sat down on it, which means yes.",
		"True, and I would have said it in one line less. Semikolon disagrees.",
	}, "Piet"},
	{"Mum <rosa@example.net>", []string{
		"How nice that you write! The cat is in the box again. I have closed the\nlid halfway, that is how she likes it.",
		"I have read it twice. Call me on Sunday, not before ten.",
	}, "Love, Mum"},
	{"B. Okonkwo <office@okonkwo.example>", []string{
		"Thank you, I have put you down. Half an hour, not longer, I promise.",
	}, "B. Okonkwo"},
	{"Quay Street Library <loans@library.example>", []string{
		"Renewed for three weeks. Happy reading.",
	}, "Quay Street Library"},
	{"Marit Lund <post@clay.example>", []string{
		"It goes into the oven on Friday. The thumb sends regards.",
	}, "Marit"},
	{"teapost <welcome@teapost.example>", []string{
		"You have written to the welcome. It is glad, and it has nothing to add:\nreplying works.",
	}, "teapost"},
}

const maxSampleAnswers = 3

// SampleReply lets the people of the sample answer mail that was sent to them: once for each message, a
// few seconds later, in its thread. It is meant for Options.Reply of a mailbox that holds the sample.
// Automatic mail is not answered, so answers cannot go in circles.
func SampleReply(sent Sent) []Incoming {
	msg, err := mailparse.Parse(context.Background(), sent.Raw, mailparse.Limits{})
	if err != nil || msg.AutoSubmitted {
		return nil
	}
	sum := sha256.Sum256([]byte(sent.MessageID))
	pick := binary.LittleEndian.Uint32(sum[:])
	seen := map[string]bool{}
	var out []Incoming
	for _, to := range sent.To {
		email := strings.ToLower(to)
		if a := mailparse.ParseAddressList(to); len(a) > 0 {
			email = strings.ToLower(a[0].Email)
		}
		p, from, ok := findPersona(email)
		if !ok || seen[email] || len(out) == maxSampleAnswers {
			continue
		}
		seen[email] = true
		at := sent.SentAt.Add(time.Duration(6+9*len(out)) * time.Second)
		subject := msg.Subject
		if !strings.HasPrefix(strings.ToLower(subject), "re:") {
			subject = "Re: " + subject
		}
		raw, err := mailparse.Build(mailparse.Outgoing{
			From: from, To: []mailparse.Address{sent.From}, Subject: subject, Date: at,
			MessageID:  fmt.Sprintf("answer-%x-%d@sample.teapost.example", sum[:8], len(out)),
			InReplyTo:  sent.MessageID,
			References: append(append([]string{}, sent.References...), sent.MessageID),
			Text: p.lines[int(pick>>(4*len(out)))%len(p.lines)] + "\n\n" + p.sign + "\n\n" + quoteBriefly(readable(msg)) +
				"-- \n" + from.Name + " lives in the sample mailbox. This answer was made on your machine.\n",
			Headers: []mailparse.Field{{Name: "Auto-Submitted", Value: "auto-replied"}, {Name: "X-Teapost-Sample", Value: "answer"}},
		})
		if err != nil {
			continue
		}
		out = append(out, Incoming{From: from.Email, At: at, Raw: raw})
	}
	return out
}

func findPersona(email string) (persona, mailparse.Address, bool) {
	for _, p := range personas {
		if a := mailparse.ParseAddressList(p.address)[0]; a.Email == email {
			return p, a, true
		}
	}
	return persona{}, mailparse.Address{}, false
}

// quoteBriefly quotes the first lines that the sender wrote.
func quoteBriefly(text string) string {
	const lines = 4
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if strings.HasPrefix(line, ">") || line == "--" {
			break
		}
		if line == "" {
			continue
		}
		if n == lines {
			b.WriteString("> …\n")
			break
		}
		b.WriteString("> " + clip(line, 2000) + "\n")
		n++
	}
	if n > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}
