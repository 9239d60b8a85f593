package units

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "size unknown", 0: "0 B", 999: "999 B",
		1000: "1 kB", 1499: "1 kB", 1500: "2 kB", 48_000: "48 kB", 999_499: "999 kB",
		999_500: "1.0 MB", 2_340_000: "2.3 MB", 25_000_000: "25.0 MB", 999_949_999: "999.9 MB",
		999_950_000: "1.00 GB", 1_630_000_000: "1.63 GB", 5_000_000_000_000: "5000.00 GB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
