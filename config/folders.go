package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adrg/xdg"
)

// checkHome makes sure that there is a place for every file. Without it the base directories
// would be those of the root of the disk.
func checkHome() error {
	home, err := os.UserHomeDir()
	if runtime.GOOS == "windows" || err == nil && filepath.IsAbs(home) {
		return nil
	}
	var missing []string
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		if !filepath.IsAbs(os.Getenv(name)) {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	what := "it is not set, so there is no folder for mail and settings"
	if err == nil {
		what = "it is not an absolute path, so there is no folder for mail and settings"
	}
	return &Error{Where: "HOME", What: what, Mend: "set HOME to your home folder, or set " + strings.Join(missing, ", ") + " to absolute paths"}
}

// path resolves a path that the file names: ~ is the home folder, and what is relative lies
// beside the file.
func (c *Config) path(p string) (string, error) {
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", fmt.Errorf("%s begins in the home folder, and HOME does not name one", p)
		}
		return filepath.Join(home, p[1:]), nil
	}
	if filepath.IsAbs(p) {
		return p, nil
	}
	return filepath.Join(filepath.Dir(c.File), p), nil
}

func findFile(flag string) (string, error) {
	if flag != "" {
		abs, err := filepath.Abs(flag)
		if err != nil {
			return "", &Error{Where: "--config", What: err.Error()}
		}
		if _, err := os.Stat(abs); err != nil {
			e := fileError(abs, err)
			return "", &Error{Where: "--config", What: e.Error()}
		}
		return abs, nil
	}
	for _, dir := range append([]string{xdg.ConfigHome}, xdg.ConfigDirs...) {
		p := filepath.Join(dir, "teapost", "config.toml")
		_, err := os.Stat(p)
		if err == nil {
			return p, nil
		}
		// A file of a person's own that cannot be reached is told; silence would open another mailbox.
		if dir == xdg.ConfigHome && errors.Is(err, os.ErrPermission) {
			return "", fileError(p, err)
		}
	}
	return "", nil
}

// StateDir is the folder of what must not be lost for the account: outbox, drafts, changes.
// It may not exist yet; make it with mode 0700.
func (c *Config) StateDir(account string) string {
	return filepath.Join(xdg.StateHome, "teapost", account)
}

// CacheDir is the folder of what may be deleted at any time for the account.
func (c *Config) CacheDir(account string) string {
	return filepath.Join(xdg.CacheHome, "teapost", account)
}

// DataDir is the folder of the local mailbox.
func (c *Config) DataDir() string { return c.Local.Dir }
