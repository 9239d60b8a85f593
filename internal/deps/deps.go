// Package deps pins the modules while the packages that use them are being written.
package deps

import (
	_ "github.com/adrg/xdg"
	_ "github.com/charmbracelet/bubbles/textinput"
	_ "github.com/charmbracelet/bubbletea"
	_ "github.com/charmbracelet/lipgloss"
	_ "github.com/charmbracelet/x/ansi"
	_ "github.com/clipperhouse/displaywidth"
	_ "github.com/creack/pty"
	_ "github.com/emersion/go-message"
	_ "github.com/emersion/go-smtp"
	_ "github.com/gofrs/flock"
	_ "github.com/google/uuid"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/sahilm/fuzzy"
	_ "github.com/spf13/cobra"
	_ "github.com/zalando/go-keyring"
	_ "go.uber.org/goleak"
	_ "golang.org/x/net/html"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/text/encoding/htmlindex"
	_ "golang.org/x/tools/go/packages"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
