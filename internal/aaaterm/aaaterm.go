// Package aaaterm answers Lip Gloss's question for the terminal's background before Bubble Tea asks it.
//
// Bubble Tea's package init asks the terminal and waits up to five seconds where none answers. Packages that do
// not depend on each other are initialized in the order of their import paths, so this one must sort before
// github.com/charmbracelet/bubbletea. It is imported for its effect alone, by main and by ui.
package aaaterm

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
