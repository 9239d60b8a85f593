package state

import (
	"encoding/base64"
	"html"
	"os"
	"strings"
	"testing"
)

func TestMessageAsAPage(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		page := "<html><head><meta http-equiv=\"refresh\" content=\"0;url=https://spy.example\"></head><body>" +
			"<h1>Sale</h1><img src=\"cid:logo%40shop\"><img src=\"https://spy.example/pixel\"><script>spy()</script>" +
			"<LINK rel=preconnect href=https://a1.spy.example><link/rel=dns-prefetch href=//a2.spy.example>" +
			"<iframe srcdoc='&lt;link rel=preconnect href=https://a3.spy.example&gt;'></iframe>\"></iframe></body></html>"
		id := w.arrive("Big <b> sale/../now", "--x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"+page+"\r\n--x\r\nContent-Type: image/png\r\nContent-ID: <logo@shop>\r\n"+
			"Content-Disposition: inline; filename=logo.png\r\nContent-Transfer-Encoding: base64\r\n\r\n"+base64.StdEncoding.EncodeToString([]byte("picture"))+"\r\n--x--",
			"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n")
		w.load()
		w.mail.OpenThread(id)
		w.until("the conversation", func() bool { return w.mail.Thread(id).Known })
		w.mail.ViewHTML(id, w.mail.Thread(id).Messages[0].ID)
		var path string
		w.until("the page", func() bool {
			p, ok := w.mail.Opened()
			path += p
			return ok
		})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || !strings.HasSuffix(path, ".html") {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok := strings.Cut(string(raw), `srcdoc="`)
		frame, after, closed := strings.Cut(rest, `"`)
		if !ok || !closed || !strings.HasPrefix(after, "></iframe>") || strings.Contains(before, "<h1>") {
			t.Fatalf("the message leaves its frame: %s", raw)
		}
		if !strings.Contains(before, `sandbox="allow-popups allow-popups-to-escape-sandbox"`) || !strings.Contains(before, "default-src 'none'") {
			t.Errorf("the frame is open: %s", before)
		}
		inside := html.UnescapeString(frame)
		if !strings.Contains(inside, "default-src 'none'") || strings.Index(inside, "default-src") > strings.Index(inside, "<html>") {
			t.Errorf("the policy does not stand before the message: %s", inside)
		}
		if low := strings.ToLower(inside); strings.Contains(low, "<link") || strings.Contains(low, "<iframe") {
			t.Errorf("the page has a browser look up names of its sender: %s", inside)
		}
		if want := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("picture")); !strings.Contains(inside, want) || strings.Contains(inside, "cid:") {
			t.Errorf("the picture is not in the page: %s", inside)
		}
	})
}
