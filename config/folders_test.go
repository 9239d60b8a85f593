package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNoHome: without a home folder nothing lands in the root of the disk.
func TestNoHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders of Windows do not hang on HOME")
	}
	all := []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
	for _, tt := range []struct {
		name string
		home string
		set  []string // the variables that have a folder
		text string
		want string // empty: it loads
	}{
		{"nothing is set", "", nil, "", "HOME: it is not set, so there is no folder for mail and settings; set HOME to your home folder, or set XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME to absolute paths"},
		{"one is missing", "", all[:3], "", "set XDG_CACHE_HOME to absolute paths"},
		{"a relative home", "home", nil, "", "HOME: it is not an absolute path"},
		{"all are set", "", all, "", ""},
		{"a path in the home", "", all, "[local]\ndir = \"~/mail\"\n", "local.dir: ~/mail begins in the home folder, and HOME does not name one; write the whole path"},
		{"a key file in the home", "", all, "[accounts.a]\napi_key_file = \"~/key\"\n", "accounts.a.api_key_file: ~/key begins in the home folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := home(t, tt.text)
			for _, name := range all {
				t.Setenv(name, "")
			}
			for _, name := range tt.set {
				t.Setenv(name, filepath.Join(t.TempDir(), name))
			}
			t.Setenv("HOME", tt.home)
			flags := Flags{}
			if tt.text != "" {
				flags.ConfigFile = path
			}
			c, err := Load(flags, os.Getenv)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				for _, dir := range []string{c.DataDir(), c.StateDir("a"), c.CacheDir("a")} {
					if !strings.HasPrefix(dir, os.TempDir()) {
						t.Errorf("%s is not below a folder that was given", dir)
					}
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}
