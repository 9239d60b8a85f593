//go:build race

package local

// underRace says that the race detector is on, which makes programs many times slower.
const underRace = true
