// Package docs holds tests only: what README.md and the pages in docs say about keys, options, commands, packages and
// states must be what the program has. "go test ./internal/docs -update" writes the table of keys anew.
package docs
