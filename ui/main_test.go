package ui

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: none is ignored.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
