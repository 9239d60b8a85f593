// Package arch holds nothing but the tests of the import arrows; docs/architecture.md draws them.
package arch
