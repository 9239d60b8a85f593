//go:build !unix

package config

import (
	"io/fs"
	"os"
)

func openKeyFile(path string) (*os.File, error) { return os.Open(path) }

// onlyOwner leaves the question to the system's access lists, which a mode does not show.
func onlyOwner(string, fs.FileInfo) error { return nil }
