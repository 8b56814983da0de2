package scenario

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
)

// LooksLikePath reports whether a reference means a file: the file exists, or it is written like a path.
func LooksLikePath(s string) bool {
	return files.IsStream(s) || strings.ContainsRune(s, filepath.Separator) || strings.HasSuffix(s, ".yaml") ||
		strings.HasSuffix(s, ".yml") || IsFile(s)
}

// IsFile reports whether a path exists and is not a folder.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// asPath writes a file's name so that it cannot be mistaken for a built-in's.
func asPath(name string) string {
	if filepath.Base(name) == name {
		return "./" + name
	}
	return name
}
