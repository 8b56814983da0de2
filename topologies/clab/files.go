package clab

import (
	"os"
	"path/filepath"
)

// exists reports whether a file exists, relative to a folder.
func exists(folder, name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	_, err := os.Stat(name)
	return err == nil
}
