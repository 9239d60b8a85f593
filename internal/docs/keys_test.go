package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/keymap"
)

// keyTables are the contexts in the order and with the words of the README.
var keyTables = []struct {
	context keymap.Context
	title   string
}{
	{keymap.InGlobal, "Everywhere, except where you type text"},
	{keymap.InThreads, "In the list of threads"},
	{keymap.InReader, "In a conversation"},
	{keymap.InCompose, "While you write"},
	{keymap.InFolders, "In the list of folders"},
	{keymap.InDrafts, "In the drafts"},
	{keymap.InOutbox, "In the outbox"},
	{keymap.InSnooze, "In the snooze picker"},
	{keymap.InLabels, "In the label picker"},
	{keymap.InSearch, "In the search line"},
	{keymap.InPalette, "In the list of commands"},
	{keymap.InActivity, "In the activity screen"},
	{keymap.InHelp, "In the help"},
}

// keysInWords writes the keys of the default preset as tables. What a screen shares with the ones before it is left out:
// the keys of everywhere, the moves of the list of threads, and in a conversation all that the list has.
func keysInWords(t *testing.T) string {
	t.Helper()
	keys, err := keymap.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(keyTables) != len(keymap.Contexts()) {
		t.Errorf("there are %d screens with keys, %d are listed", len(keymap.Contexts()), len(keyTables))
	}
	shared := func(ctx keymap.Context, item keymap.Item, moving bool) bool {
		if ctx.Text() || ctx == keymap.InGlobal {
			return false
		}
		if slices.Equal(item.Keys, keys.Keys(keymap.InGlobal, item.Action)) {
			return true
		}
		return ctx != keymap.InThreads && (moving || ctx == keymap.InReader) && slices.Equal(item.Keys, keys.Keys(keymap.InThreads, item.Action))
	}
	var b strings.Builder
	for _, table := range keyTables {
		var rows []string
		for i, s := range keys.Help(table.context) {
			for _, item := range s.Items {
				if len(item.Keys) == 0 || shared(table.context, item, i == 0) {
					continue
				}
				var cells []string
				for _, k := range item.Keys {
					cells = append(cells, "`"+strings.ReplaceAll(k, "|", `\|`)+"`")
				}
				rows = append(rows, "| "+strings.Join(cells, " ")+" | "+item.Long+" |\n")
			}
		}
		if len(rows) == 0 {
			continue
		}
		b.WriteString("\n**" + table.title + "**\n\n| keys | what they do |\n| --- | --- |\n" + strings.Join(rows, ""))
	}
	b.WriteString("\n")
	return b.String()
}

func TestKeysInReadme(t *testing.T) {
	page := read(t, "README.md")
	want, err := replaceBetween(page, "keys", keysInWords(t))
	if err != nil {
		t.Fatalf("README.md: %v", err)
	}
	if want == page {
		return
	}
	if !*update {
		t.Fatal("the keys in README.md are not those of the program: go test ./internal/docs -update")
	}
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestActionsAndScreensInConfigurationPage(t *testing.T) {
	page := read(t, "docs/configuration.md")
	var contexts, actions []string
	for _, c := range keymap.Contexts() {
		contexts = append(contexts, string(c))
	}
	for _, a := range keymap.Actions() {
		actions = append(actions, string(a.Action))
	}
	same(t, "docs/configuration.md, screens", codes(section(t, page, "### Screens")), contexts)
	same(t, "docs/configuration.md, presets", codes(section(t, page, "### Presets")), keymap.Presets())
	same(t, "docs/configuration.md, actions", codes(section(t, page, "### Actions")), actions)
}
