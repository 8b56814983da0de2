package pages

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVendored: the copies of uPlot are those of its package, uplot 1.6.32 of npm.
func TestVendored(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.esm.js":  "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
		"uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join("uplot", name)))); got != want {
			t.Errorf("%s has the hash %s", name, got)
		}
	}
}

// TestBundles: what is embedded is bundled of the sources beside it, and of uPlot.
func TestBundles(t *testing.T) {
	for folder, bundles := range map[string][]string{
		"../../experiments/pages/view":   {"view.js", "view.css"},
		"../../experiments/pages/report": {"page.js", "page.css"},
	} {
		sum := sha256.New()
		for _, pattern := range []string{folder + "/page/*.js", folder + "/page/*.css", "uplot/*"} {
			found, err := filepath.Glob(pattern) // in the order of LC_ALL=C
			if err != nil || len(found) == 0 {
				t.Fatal(pattern, err)
			}
			for _, name := range found {
				sum.Write(read(t, name))
			}
		}
		for _, name := range bundles {
			name = filepath.Join(folder, "bundle", name)
			if want := fmt.Sprintf("of %x */", sum.Sum(nil)); !strings.Contains(string(read(t, name)[:300]), want) {
				t.Errorf("%s is not made of the files below %s/page: make pages", name, folder)
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
