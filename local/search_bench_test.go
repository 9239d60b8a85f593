package local

import (
	"context"
	"net/url"
	"os"
	"testing"
)

// BenchmarkSearch measures queries on the mailbox of the folder that TEAPOST_BENCH names, for example one into which
// bench/make_maildir.py was imported.
func BenchmarkSearch(b *testing.B) {
	dir := os.Getenv("TEAPOST_BENCH")
	if dir == "" {
		b.Skip("TEAPOST_BENCH names no mailbox")
	}
	opened := func(b *testing.B) *Server {
		s, err := Open(context.Background(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	b.Run("open and close", func(b *testing.B) {
		for b.Loop() {
			if err := opened(b).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := opened(b)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	for _, q := range []string{
		"s", "se", "ser", "serv", "serve", "server", "q", "quok", "quokkasubject", "wombatb", "wombatbody", "server client latency", `"review deploy"`,
		"四", "四半", "報告", "から", "🎉", "from:ada", "from:me server", "to:me", "has:attachment", "has:attachment invoice", "filename:pdf", "is:unread", "is:unread server",
		"is:starred meeting", "in:spam server", "server -client", "-server", "before:2024-03-01", "older:2y server", "newer:3w", "larger:100k", "larger:100k server",
		"quokkasubject OR wombatbody", "server OR client", "zzzz", "subject:release", "in:anywhere x", "", "in:sent",
	} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				call := &call{ctx: context.Background(), query: url.Values{"query": {q}, "limit": {"50"}}}
				if _, err := s.listThreads(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
