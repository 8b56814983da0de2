//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, nil, 0o600))
	if err := CheckPrivate(path); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o602, 0o644} {
		must(t, os.Chmod(path, mode))
		if err := CheckPrivate(path); err == nil || !strings.Contains(err.Error(), "others may read it") {
			t.Errorf("mode %v: error %v", mode, err)
		}
	}
	if err := CheckPrivate(path + "-missing"); err == nil {
		t.Error("no error for a missing file")
	}
	if os.Geteuid() != 0 {
		return
	}
	must(t, os.Chmod(path, 0o600))
	must(t, os.Chown(path, 12345, 12345))
	if err := CheckPrivate(path); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("a file of another user: error %v", err)
	}
}
