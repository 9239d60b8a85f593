//go:build !race

package state

const slower = 1
