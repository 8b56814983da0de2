//go:build linux

package kernel

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestReadOnlySysctls writes a file of /proc/sys where that is read-only, as in a container.
func TestReadOnlySysctls(t *testing.T) {
	testenv.NeedRoot(t)
	const path = "/proc/sys/net/ipv4/ip_default_ttl"
	var before, after []byte
	err := onOwnThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
			return err
		}
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, ""),
			unix.Mount("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("7"), 0); !errors.Is(err, unix.EROFS) {
			t.Errorf("a plain write: %v, want EROFS", err)
		}
		before, _ = os.ReadFile(path)
		if err := writeExisting(path, "7"); err != nil {
			return err
		}
		after, err = os.ReadFile(path)
		return errors.Join(err, writeExisting("/proc/sys/net/none", "1")) // ignored
	})
	if err != nil || string(before) == string(after) || string(after) != "7\n" {
		t.Errorf("%v: %q, then %q", err, before, after)
	}
}

// TestMissing: a process's capabilities are compared with those needed.
func TestMissing(t *testing.T) {
	testenv.NeedRoot(t)
	if lacks := missing([]capability{{unix.CAP_NET_ADMIN, "a"}, {63, "b"}}); len(lacks) != 1 || lacks[0] != "b" {
		t.Errorf("missing: %q", lacks)
	}
}
