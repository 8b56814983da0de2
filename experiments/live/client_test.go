//go:build linux

package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestNamesWhileOneEnds checks that a fabric that removes its socket between the listing and the connection counts as
// down, and that a request for another fabric does not fail because of it.
func TestNamesWhileOneEnds(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	if err := os.MkdirAll(Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const name = "test-just-ended"
	listed := filepath.Join(Folder, name+".sock") // what it leads to is gone
	if err := os.Symlink("gone", listed); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(listed)
	names, err := Names()
	if err != nil || slices.Contains(names, name) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := Dial(name); !errors.Is(err, ErrNone) {
		t.Errorf("%v, want %v", err, ErrNone)
	}
}
