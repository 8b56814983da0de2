package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, within, path string) *Folder {
	t.Helper()
	f, err := OpenFolder(within, path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func TestFolder(t *testing.T) {
	base := t.TempDir()
	within := filepath.Join(base, "out")
	f := open(t, within, filepath.Join(within, "a", "b"))
	must(t, f.Write("one", []byte("1")))
	must(t, f.Write("one", []byte("2")))
	file, err := f.Create("two")
	must(t, err)
	_, err = file.WriteString("3")
	must(t, errors.Join(err, file.Close()))
	if got := names(t, f.Path()); !slices.Equal(got, []string{"one", "two"}) ||
		f.Path() != filepath.Join(within, "a", "b") {
		t.Errorf("%s has %q", f.Path(), got)
	}
	if got := content(t, filepath.Join(f.Path(), "one")) + content(t, filepath.Join(f.Path(), "two")); got != "23" {
		t.Errorf("content %q", got)
	}
	for _, name := range []string{".one.json0123", ".one.json", ".other.json12", "one.json5"} {
		must(t, os.WriteFile(filepath.Join(f.Path(), name), nil, 0o600))
	}
	must(t, f.Tidy("one.json"))
	must(t, f.Remove(".one.json", ".other.json12", "one.json5"))
	must(t, f.Remove("one", "three"))
	if got := names(t, f.Path()); !slices.Equal(got, []string{"two"}) {
		t.Errorf("left %q", got)
	}
	if _, err := OpenFolder(within, base); err == nil {
		t.Error("a folder above the one that was named")
	}
}

// TestFailedWrite checks that a failed write leaves the old file, and that the message has the user's names.
func TestFailedWrite(t *testing.T) {
	base := t.TempDir()
	f := open(t, base, base)
	must(t, os.MkdirAll(filepath.Join(base, "taken", "x"), 0o700))
	err := f.Write("taken", []byte("1"))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(base, "taken")+":") ||
		strings.Contains(err.Error(), "renameat") {
		t.Errorf("a folder with something in it was replaced: %v", err)
	}
	if _, err := f.Create("taken"); err == nil || !strings.Contains(err.Error(), filepath.Join(base, "taken")+":") {
		t.Errorf("%v", err)
	}
	if got := names(t, base); !slices.Equal(got, []string{"taken"}) {
		t.Errorf("left %q", got)
	}
}

// TestPlantedLinks checks that a link under the name of a file to write is replaced, and that its target does not
// change.
func TestPlantedLinks(t *testing.T) {
	base, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	f := open(t, base, base)
	for _, name := range []string{"a", "a.tmp", "b", "b.tmp"} {
		if err := os.Symlink(precious, filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	must(t, f.Write("a", []byte("new")))
	file, err := f.Create("b")
	must(t, err)
	_, err = file.WriteString("new")
	must(t, errors.Join(err, file.Close()))
	must(t, WriteWhole(filepath.Join(base, "b.tmp"), []byte("new")))
	if got := content(t, precious); got != "precious" {
		t.Errorf("somebody's file is %q now", got)
	}
	for _, name := range []string{"a", "b", "b.tmp"} {
		if info, err := os.Lstat(filepath.Join(base, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %v (%v)", name, info.Mode(), err)
		}
	}
}

// TestFolderThatLeadsOut checks that no link below the user's folder leads out of it.
func TestFolderThatLeadsOut(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(base, "scenario")); err != nil {
		t.Skip(err)
	}
	for _, below := range []string{"scenario", filepath.Join("scenario", "dcqcn")} {
		_, err := OpenFolder(base, filepath.Join(base, below))
		if want := filepath.Join(base, "scenario") + " is a link that leads out of " + base; err == nil ||
			err.Error() != want || !IsRefused(err) {
			t.Errorf("%s: %v, want %s", below, err, want)
		}
	}
	if got := names(t, elsewhere); len(got) != 0 {
		t.Errorf("%q were made elsewhere", got)
	}
	// What the user names may be a link, and so may be the way to it.
	must(t, open(t, filepath.Join(base, "scenario"), filepath.Join(base, "scenario", "dcqcn")).Write("x", nil))
	if got := names(t, filepath.Join(elsewhere, "dcqcn")); !slices.Equal(got, []string{"x"}) {
		t.Errorf("%q", got)
	}
}

// TestFolderStays checks that an open folder stays the same, whatever its name refers to later.
func TestFolderStays(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	f := open(t, base, filepath.Join(base, "run"))
	must(t, os.Rename(filepath.Join(base, "run"), filepath.Join(base, "moved")))
	if err := os.Symlink(elsewhere, filepath.Join(base, "run")); err != nil {
		t.Skip(err)
	}
	must(t, f.Write("x", nil))
	if got := names(t, elsewhere); len(got) != 0 {
		t.Errorf("%q were made elsewhere", got)
	}
}

func TestLock(t *testing.T) {
	base := t.TempDir()
	f := open(t, base, base)
	lock, err := f.Lock()
	must(t, err)
	_, err = open(t, base, base).Lock()
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Path != base || locked.User != "" {
		t.Fatalf("a second lock: %v", err)
	}
	must(t, lock.Release())
	again, err := f.Lock()
	must(t, err)
	must(t, again.Release())
	must(t, os.MkdirAll(filepath.Join(base, LockName, "x"), 0o700))
	if _, err := f.Lock(); err == nil {
		t.Error("a folder in the lock's place was locked")
	}
}

func TestWriteWhole(t *testing.T) {
	base := t.TempDir()
	if err := WriteWhole(base, nil); err == nil || err.Error() != base+" is a folder, not a file" {
		t.Errorf("a folder: %v", err)
	}
	if err := WriteWhole(filepath.Join(base, "no", "x"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
