package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestDir(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "below"), 0o700))
	must(t, os.WriteFile(filepath.Join(base, "below", "a"), []byte("1"), 0o600))
	d := Dir(base, note)
	if data, err := fs.ReadFile(d, "below/a"); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := fs.Stat(d, "below/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"../x", "below", "/etc/passwd"} {
		if _, err := fs.ReadFile(d, name); err == nil {
			t.Errorf("%s was read", name)
		}
		if _, err := d.Open(name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// TestNoLink checks that links below a folder are detected, and that those above it are accepted as the user's.
func TestNoLink(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "real", "a", "b"), 0o700))
	if err := os.Symlink(filepath.Join(base, "real"), filepath.Join(base, "link")); err != nil {
		t.Skip(err)
	}
	must(t, os.Symlink("a", filepath.Join(base, "real", "c")))
	link := filepath.Join(base, "link")
	for below, fine := range map[string]bool{
		"": true, "a/b": true, "a/none/x": true, "c": false, "c/b": false,
		"../x": false,
	} {
		if err := NoLink(link, filepath.Join(link, below)); (err == nil) != fine {
			t.Errorf("%s: %v", below, err)
		}
	}
}
