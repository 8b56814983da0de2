package internal

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// TestProfilePaths: the committed profile has no path of the machine that it was measured on. `make profile` gives the
// program a neutral one.
func TestProfilePaths(t *testing.T) {
	file, err := os.Open("../cmd/pausenet/default.pgo")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(profile, []byte(module)) {
		t.Error("the profile has no package of this module")
	}
	for _, path := range []string{"go-build", "/home/", "/root/", "/work/", "/Users/"} {
		if at := bytes.Index(profile, []byte(path)); at >= 0 {
			t.Errorf("the profile has a path of a machine: %q", profile[max(at-20, 0):min(at+60, len(profile))])
		}
	}
}
