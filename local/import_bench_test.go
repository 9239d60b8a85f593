package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkImport imports the mail that TEAPOST_BENCH_MAIL names, for example what bench/make_maildir.py writes.
func BenchmarkImport(b *testing.B) {
	path := os.Getenv("TEAPOST_BENCH_MAIL")
	if path == "" {
		b.Skip("TEAPOST_BENCH_MAIL names no mail")
	}
	for b.Loop() {
		dir := b.TempDir()
		s, err := Open(context.Background(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		r, err := s.Import(context.Background(), []string{path}, ImportOptions{})
		if err != nil || r.Failed > 0 {
			b.Fatal(err, r)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		fi, err := os.Stat(filepath.Join(dir, FileName))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Imported), "messages")
		b.ReportMetric(float64(fi.Size())/1e6, "file-MB")
	}
}
