package aaaterm

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/lipgloss"
)

type here struct{}

func TestSortsBeforeBubbleTea(t *testing.T) {
	if path := reflect.TypeFor[here]().PkgPath(); path >= "github.com/charmbracelet/bubbletea" {
		t.Errorf("%s is initialized too late", path)
	}
	if !lipgloss.HasDarkBackground() {
		t.Error("the answer is not set")
	}
}
