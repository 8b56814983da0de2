//go:build linux

package nodefiles

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Lines of Arch, Fedora and Debian, and what is none.
func TestFilesFirst(t *testing.T) {
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{
			"passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n",
			"passwd: files systemd\nhosts: files mymachines resolve [!UNAVAIL=return] files myhostname dns\n", true,
		},
		{"hosts:\tresolve", "hosts: files resolve\n", true},
		{"hosts:      files myhostname resolve [!UNAVAIL=return] dns\n", "", false},
		{"hosts: files\n", "", false},
		{"# hosts: dns\npasswd: files\n", "", false},
		{"", "", false},
	} {
		if c.want == "" {
			c.want = c.have
		}
		if got, ok := filesFirst(c.have); got != c.want || ok != c.ok {
			t.Errorf("%q: %q, %t, want %q, %t", c.have, got, ok, c.want, c.ok)
		}
	}
}

// An image's file may be of any kind, and lead anywhere.
func TestLookupsOfImages(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	const line = "hosts: dns\n"
	for name, c := range map[string]struct {
		make func(path string) error
		ok   bool
	}{
		"file":    {func(path string) error { return os.WriteFile(path, []byte(line), 0o600) }, true},
		"missing": {func(string) error { return nil }, false},
		"pipe":    {func(path string) error { return unix.Mkfifo(path, 0o600) }, false},
		"folder":  {func(path string) error { return os.Mkdir(path, 0o700) }, false},
		"outside": {func(path string) error {
			if err := os.WriteFile(outside, []byte(line), 0o600); err != nil {
				return err
			}
			return os.Symlink(outside, path)
		}, false},
	} {
		image := t.TempDir()
		if err := os.Mkdir(filepath.Join(image, "etc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.make(filepath.Join(image, "etc", "nsswitch.conf")); err != nil {
			t.Fatal(err)
		}
		text, ok := Lookups(image)
		if ok != c.ok || ok && text != "hosts: files dns\n" {
			t.Errorf("%s: %q, %t", name, text, ok)
		}
	}
}
