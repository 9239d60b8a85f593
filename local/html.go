package local

import "codeberg.org/teapost/teapost/internal/bodytext"

// htmlText gives the words of an HTML body for snippets, the search index and plain text alternatives. What the
// message hides from a person who reads it is left out. It follows nothing.
func htmlText(src string) string { return bodytext.FromHTML(src).Plain() }
