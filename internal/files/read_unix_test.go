//go:build unix

package files

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestNoFile checks that anything but a file is refused at once. Opening a pipe without a writer would block for ever,
// and so would this test.
func TestNoFile(t *testing.T) {
	folder := testenv.ShortDir(t)
	pipe, socket := filepath.Join(folder, "pipe"), filepath.Join(folder, "socket")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		pipe: " is a named pipe, not a file", socket: " is a socket, not a file", "/dev/zero": " is a device, not a file",
	} {
		for _, plain := range []bool{false, true} {
			kind := note
			kind.Plain = plain
			if _, err := Read(path, kind); err == nil || err.Error() != path+want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
	}
}
