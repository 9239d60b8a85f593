package local

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// sampleFile makes one of the files that the sample attaches.
func sampleFile(name string) (mailparse.File, error) {
	switch name {
	case "notes.pdf":
		return mailparse.File{Filename: name, ContentType: "application/pdf", Data: samplePDF("Compiler notes",
			"1. Order of the passes: read, declare, type, fold, emit.",
			"2. Lin's numbers: 4.1 s before, 2.6 s after.",
			"3. Why the fourth row is slower: it asks for names that nobody has.",
			"", "Questions for Thursday:", "a) Who owns the error messages?", "b) Is 7 / 2 still two things?", "c) Cake or biscuits?")}, nil
	case "tickets-KX7Q2M.pdf":
		return mailparse.File{Filename: name, ContentType: "application/pdf", Data: samplePDF("Slow Trains  -  booking KX7Q2M",
			"Outward   8th   06:52   Central, platform 4", "Back     14th   09:20   Lisbon Santa Apolonia",
			"Seats 41, 42, 43, 44, at the window, with a table", "", "Drums travel free.")}, nil
	case "tax-copy.pdf":
		return mailparse.File{Filename: name, ContentType: "application/pdf", Data: samplePDF("Copy for your folder",
			"Income: enough.", "Tea: not deductible, we tried.", "You get back: 214.")}, nil
	case "tables.csv":
		return mailparse.File{Filename: name, ContentType: "text/csv", Data: []byte(
			"input,lines,seconds before,seconds after\nsmall,1200,0.2,0.1\nmiddle,48000,1.1,0.7\nlarge,310000,4.1,2.6\nnames,9000,0.6,0.9\n")}, nil
	case "lisbon-budget.csv":
		return mailparse.File{Filename: name, ContentType: "text/csv", Data: []byte(
			"what,each,times,sum\nhouse,95,4,380\ntrain,148,3,444\ntram,3,24,72\npastéis,1.40,60,84\numbrella,12,1,12\n")}, nil
	case "nightly-1188.log":
		return mailparse.File{Filename: name, ContentType: "text/plain", Data: []byte(sampleLog())}, nil
	case "timer.log":
		return mailparse.File{Filename: name, ContentType: "text/plain", Data: []byte(
			"02:58:10 start, 4 minutes\n02:59:59 1 min 49 s gone\n02:00:00 the clock goes back\n02:01:10 ring\n02:01:11 tea is weak\n")}, nil
	case "Глава 7.txt":
		return mailparse.File{Filename: name, ContentType: "text/plain", Data: []byte(
			"Глава 7. Терпение\n\nКто над чайником стоит, у того он не кипит.\nОтойдите, откройте окно, ответьте на письмо.\n")}, nil
	case "cat.png":
		return mailparse.File{Filename: name, ContentType: "image/png", Data: samplePicture(catPicture)}, nil
	case "試作品と猫.png":
		return mailparse.File{Filename: name, ContentType: "image/png", Data: samplePicture(teapotPicture)}, nil
	}
	return mailparse.File{}, fmt.Errorf("the sample has no file %q", name)
}

func sampleLog() string {
	var b strings.Builder
	b.WriteString("teapot/main nightly 1188\n")
	for i, pkg := range []string{"spout", "lid", "handle", "brew", "kettle", "kettle/whistle", "leaf", "cosy", "cup", "saucer", "biscuit"} {
		fmt.Fprintf(&b, "=== %-16s %3d tests  %5.1f s\n", pkg, 20+7*i, 0.8+1.7*float64(i))
	}
	b.WriteString("--- FAIL: spout/TestPourUphill\n    pour_test.go:41: 40 ml on the table, want 0 ml\n" +
		"--- FAIL: lid/TestRattle\n    panic: test timed out after 30s\n" +
		"--- FAIL: handle/TestTooHotToHold (1 of 3)\n    handle_test.go:12: 71 degrees, want at most 45\nFAIL\n")
	return b.String()
}

// samplePDF writes a page of text as a minimal PDF file. The text must be ASCII.
func samplePDF(title string, lines ...string) []byte {
	escape := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace
	var page strings.Builder
	fmt.Fprintf(&page, "BT /F1 20 Tf 72 770 Td (%s) Tj /F1 12 Tf 0 -14 Td\n", escape(title))
	for _, l := range lines {
		fmt.Fprintf(&page, "0 -20 Td (%s) Tj\n", escape(l))
	}
	page.WriteString("ET\n")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", page.Len(), page.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return out.Bytes()
}

// The pictures of the sample, a letter a square.
const (
	catPicture = `
................................
......k......k..................
.....kok....kok.................
.....kook..kook.................
....koooookoooook...............
....koooooooooook......kk.......
...kooogkoookgooook...kook......
...koookkoookkoook...kook.......
...kooooookooooook...kook.......
..wkwooookkkooowkw..kook........
...kooooooooooook...kook........
....kooooooooook..kkook.........
.....kkoooooookkkkoook..........
.....koooooooooooooook..........
.rrrrkoowwoooooooooookrrrr......
.rssrkowwwwooowooooookssrr......
bbbbbbbbbbbbbbbbbbbbbbbbbbbb....
byyyyyyyyyyyyyyyyyyyyyyyyyyb....
byyybbbyyyyyyyyyyyyyyybbbyyb....
byyyyyyyyyyyyyyyyyyyyyyyyyyb....
byyyyyyyyyyyyyyyyyyyyyyyyyyb....
byyyyyyyyyyyyyyyyyyyyyyyyyyb....
bbbbbbbbbbbbbbbbbbbbbbbbbbbb....
`
	teapotPicture = `
................................
..............tt................
.............tttt...............
...........tttttttt.............
.........kkkkkkkkkkkk...........
........tttttttttttttt....tt....
..kk...tttsstttttttttttt.ttt....
.k..k.ttsssttttttttttttttttt....
k...kttsstttttttttttttttttt.....
k...ktttstttttttttttttttt.......
.k..ktttttttttttttttttttt.......
..kkkttttttttttttttttttt........
......ttttttttttttttttt.........
.......ttttttttttttttt..........
.........kkkkkkkkkkk............
................................
`
)

// samplePicture draws the squares at eight pixels each.
func samplePicture(squares string) []byte {
	colours := map[rune]color.RGBA{
		'k': {40, 36, 34, 255}, 'o': {224, 142, 70, 255}, 'g': {96, 160, 92, 255}, 'w': {250, 244, 232, 255}, 'r': {176, 58, 60, 255},
		's': {214, 120, 110, 255}, 'b': {120, 84, 52, 255}, 'y': {206, 168, 116, 255}, 't': {62, 118, 140, 255},
	}
	const size = 8
	rows := strings.Split(strings.Trim(squares, "\n"), "\n")
	img := image.NewRGBA(image.Rect(0, 0, 32*size, len(rows)*size))
	for y, row := range rows {
		for x, r := range row {
			c, ok := colours[r]
			if !ok {
				c = color.RGBA{236, 230, 218, 255}
			}
			for i := range size * size {
				img.SetRGBA(x*size+i%size, y*size+i/size, c)
			}
		}
	}
	var out bytes.Buffer
	// Encoding into memory cannot fail.
	_ = png.Encode(&out, img)
	return out.Bytes()
}
