//go:build unix

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestPlantedPipes checks that a pipe under a file's name is replaced. Opening it would wait for a reader forever.
func TestPlantedPipes(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"a", "a.tmp", "b", LockName} {
		must(t, unix.Mkfifo(filepath.Join(base, name), 0o666))
	}
	f := open(t, base, base)
	must(t, f.Write("a", []byte("new")))
	file, err := f.Create("b")
	must(t, err)
	must(t, file.Close())
	lock, err := f.Lock()
	must(t, err)
	must(t, lock.Release())
	if err := WriteWhole(filepath.Join(base, "a.tmp"), nil); err == nil ||
		!strings.HasSuffix(err.Error(), "is a named pipe, not a file") {
		t.Errorf("a file that the user named: %v", err)
	}
}

// TestLockOfOthers checks that a lock on the folder itself, which any reader can take, blocks nobody, and that nobody
// else can open the lock file.
func TestLockOfOthers(t *testing.T) {
	testenv.NeedRoot(t)
	base, err := os.MkdirTemp("", "pausenet-open")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o777))
	must(t, asNobody("ls "+base).Run())
	folder, err := os.Open(base)
	must(t, err)
	defer folder.Close()
	must(t, unix.Flock(int(folder.Fd()), unix.LOCK_EX))
	f := open(t, base, base)
	lock, err := f.Lock()
	must(t, err)
	path := filepath.Join(base, LockName)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 || content(t, path) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("the lock has mode %v and says %q", info.Mode(), content(t, path))
	}
	if err := asNobody("exec 3< " + path).Run(); err == nil {
		t.Error("another user opened the lock")
	}
	must(t, lock.Release())
	if got := names(t, base); len(got) != 0 {
		t.Errorf("%q are left", got)
	}

	// One that another user has is that user's, who can write into the folder: it is said whose it is.
	other := asNobody(fmt.Sprintf("exec 3> %s && flock 3 && echo locked && read line", path))
	in, err := other.StdinPipe()
	must(t, err)
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	var line [8]byte
	_, err = out.Read(line[:])
	must(t, err)
	_, err = f.Lock()
	var locked *LockedError
	if !errors.As(err, &locked) || locked.User != "nobody" {
		t.Errorf("%v", err)
	}
	must(t, in.Close())
	_ = other.Wait()
	lock, err = f.Lock()
	must(t, err)
	must(t, lock.Release())
}

// asNobody returns a shell's command that runs as a user without any rights.
func asNobody(command string) *exec.Cmd {
	c := exec.Command("sh", "-c", command)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return c
}

// TestLinkOfAnother checks that root does not follow another user's link in the folder of results, but follows one of
// the user before sudo.
func TestLinkOfAnother(t *testing.T) {
	testenv.NeedRoot(t)
	base, elsewhere := t.TempDir(), t.TempDir()
	link := filepath.Join(base, "results")
	must(t, os.Symlink(elsewhere, link))
	open(t, link, link)
	must(t, os.Lchown(link, 65534, 65534))
	if _, err := OpenFolder(link, link); err == nil || err.Error() != link+" is a link that belongs to user nobody" {
		t.Errorf("%v", err)
	}
	t.Setenv("SUDO_UID", "65534")
	open(t, link, link)
}

// TestCreate checks that a file named by the user is created anew, and that a planted link is not followed.
func TestCreate(t *testing.T) {
	base, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	path := filepath.Join(base, "events.jsonl")
	must(t, os.Symlink(precious, path))
	for _, want := range []string{"new", "newer"} {
		file, err := Create(path)
		must(t, err)
		_, err = file.WriteString(want)
		must(t, errors.Join(err, file.Close()))
		if got := content(t, path); got != want || content(t, precious) != "precious" {
			t.Errorf("the file is %q, somebody's is %q", got, content(t, precious))
		}
	}
	if _, err := Create(base); err == nil || err.Error() != base+" is a folder, not a file" {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Create(filepath.Join(base, "no", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}

	pipe := filepath.Join(base, "pipe")
	must(t, unix.Mkfifo(pipe, 0o600))
	file, err := Create(pipe)
	must(t, err)
	_, err = file.WriteString("for a reader who comes later")
	must(t, err)
	reader, err := os.Open(pipe)
	must(t, err)
	must(t, file.Close())
	if got, err := io.ReadAll(reader); string(got) != "for a reader who comes later" {
		t.Errorf("read %q: %v", got, err)
	}
	must(t, reader.Close())
}

// TestPipeOfAnother checks that root writes neither into another user's pipe under a file's name, nor by another user's
// link.
func TestPipeOfAnother(t *testing.T) {
	testenv.NeedRoot(t)
	base := t.TempDir()
	pipe, link := filepath.Join(base, "pipe"), filepath.Join(base, "link")
	must(t, errors.Join(unix.Mkfifo(pipe, 0o666), os.Symlink(pipe, link), os.Lchown(link, 65534, 65534)))
	if _, err := Create(link); err == nil || err.Error() != link+" is a link that belongs to user nobody" {
		t.Errorf("%v", err)
	}
	must(t, os.Chown(pipe, 65534, 65534))
	if _, err := Create(pipe); err == nil || err.Error() != pipe+" is a named pipe that belongs to user nobody" {
		t.Errorf("%v", err)
	}
}

// TestOutput checks that a descriptor open at the program's start is written to, and that its name in /dev stays a
// link.
func TestOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	name := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	must(t, WriteWhole(name, []byte("one ")))
	stream, err := Create(name)
	must(t, err)
	_, err = stream.WriteString("two")
	must(t, errors.Join(err, stream.Close()))
	if got := content(t, path); got != "one two" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"/dev/stdout", "/dev/../dev/stderr", "/dev/fd/3"} {
		if !isOutput(name) {
			t.Errorf("%s would be replaced by a file", name)
		}
	}
}
