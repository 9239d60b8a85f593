// Package units writes quantities as a person reads them, the same in every place.
package units

import "fmt"

// Bytes writes a number of bytes, rounded to the nearest and with decimal units: "48 kB", "4.8 MB", "1.63 GB".
// A negative number is a size that nobody knows. It is safe for concurrent use.
func Bytes(n int64) string {
	// The limits lie where the smaller unit would be rounded up to a thousand.
	switch {
	case n < 0:
		return "size unknown"
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 999_500:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	case n < 999_950_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}
