package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var note = Kind{Name: "a note", Most: 1 << 10}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "note")
	for _, size := range []int{0, 1, 1 << 10} {
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, note); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes were read as %d: %v", size, len(got), err)
		}
	}
	if _, err := Read(path+"s", note); !errors.Is(err, fs.ErrNotExist) || IsRefused(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestTooLarge checks that a file is refused by its size, before it is read. This one, a terabyte of nothing, would not
// fit into memory.
func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "note")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(f.Truncate(1<<40), f.Close())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Read(path, note)
	if want := path + " has 1099511627776 bytes, but a note may have at most 1 KiB"; err == nil || err.Error() != want ||
		!IsRefused(err) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err = Open(path, note); !IsRefused(err) {
		t.Errorf("it is opened: %v", err)
	}
}

func TestLinks(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "note"), filepath.Join(folder, "link")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if got, err := Read(link, note); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	plain := note
	plain.Plain = true
	if _, err := Read(link, plain); err == nil || err.Error() != link+" is a link, not a file" {
		t.Errorf("a link that is to be none: %v", err)
	}
	if _, err := Read(folder, note); err == nil || err.Error() != folder+" is a folder, not a file" {
		t.Errorf("a folder: %v", err)
	}
}

func TestIsStream(t *testing.T) {
	for name, want := range map[string]bool{
		"-": true, "/dev/stdin": true, "/dev/fd/63": true, "/proc/self/fd/0": true, "/dev//stdin": true,
		"/dev/fd/../zero": false,
		"/dev/zero":       false, "stdin": false, "": false, "--": false,
	} {
		if IsStream(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

// TestInput checks that piped input is read up to its limit, and no further.
func TestInput(t *testing.T) {
	for _, c := range []struct {
		size int
		want string
	}{{1 << 10, ""}, {1<<10 + 1, "standard input is longer than 1 KiB, the limit of a note"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		stdin := os.Stdin
		os.Stdin = r
		go func() {
			_, _ = w.WriteString(strings.Repeat("x", c.size))
			w.Close()
		}()
		got, err := Input(StandardInput, note)
		os.Stdin = stdin
		r.Close()
		switch {
		case c.want == "" && (err != nil || len(got) != c.size):
			t.Errorf("%d bytes of %d, %v", len(got), c.size, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
