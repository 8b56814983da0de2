package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/files"
)

// TestSources checks that recorded files can be read when the originals no longer exist, that files too large to record
// must exist unchanged, and that no others are read.
func TestSources(t *testing.T) {
	folder := t.TempDir()
	kind := files.Kind{Name: "a test's file", Most: 4 << 20}
	text, binary, large := filepath.Join(folder, "text"), filepath.Join(folder, "binary"), filepath.Join(folder, "large")
	content := map[string]string{
		text: "a: é\n", binary: "\x00\xff\xfe", large: strings.Repeat("x", 2<<20),
		filepath.Join(folder, "empty"): "",
	}
	var sources files.Sources
	for path, c := range content {
		if err := os.WriteFile(path, []byte(c), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 { // twice, and listed once
			if got, err := sources.Read(path, kind); err != nil || string(got) != c {
				t.Fatalf("%s: %q, %v", path, got, err)
			}
		}
	}
	if n := len(sources.List()); n != len(content) {
		t.Errorf("%d sources of %d files", n, len(content))
	}
	again := files.Recorded(sources.List())
	other := filepath.Join(folder, "other")
	for _, path := range []string{text, binary, filepath.Join(folder, "empty")} {
		if err := os.Rename(path, other); err != nil { // other is there, and was not read
			t.Fatal(err)
		}
	}
	for path, c := range content {
		if got, err := again.Read(path, kind); err != nil || string(got) != c {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
		if !again.IsFile(path, func(string) bool { return false }) {
			t.Errorf("%s is none", path)
		}
	}
	if _, err := again.Read(other, kind); err == nil || again.IsFile(other, func(string) bool { return true }) {
		t.Errorf("what was not read is: %v", err)
	}
	if err := os.WriteFile(large, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Read(large, kind); !errors.Is(err, files.ErrChanged) {
		t.Errorf("%v", err)
	}
	var none *files.Sources
	if got, err := none.Read(large, kind); err != nil || string(got) != "changed" {
		t.Errorf("%q, %v", got, err)
	}
}
