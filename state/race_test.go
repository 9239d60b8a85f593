//go:build race

package state

// slower is by how much the race detector slows the tests that play random scripts.
const slower = 4
