package command

import (
	"os"
	"path/filepath"
	"testing"
)

// program returns the path of this test's program under the name by which testscript.Main runs pausenet, in a folder of
// its own.
func program(t *testing.T) (folder, path string) {
	t.Helper()
	folder = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(folder, "pausenet")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return folder, path
}
