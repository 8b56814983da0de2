//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// Replace does the work of Write, with what write writes, but keeps the file open for later changes in place.
func (f *Folder) Replace(name string, write func(io.Writer) error) (*os.File, error) {
	file, err := f.replace(name, write)
	if err != nil {
		return nil, f.writing(name, err)
	}
	return file, nil
}

// replace writes a file next to the named one with renameio, syncs it to the disk, and renames it. In addition, it
// removes the unfinished file if the process is forced to end, and keeps the file open.
func (f *Folder) replace(name string, write func(io.Writer) error) (file *os.File, err error) {
	shutdown.Alive()
	pending, err := renameio.NewPendingFile(name, renameio.WithRoot(f.root), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, err
	}
	temporary := filepath.Base(pending.Name())
	defer shutdown.Discard(func() { _ = f.root.Remove(temporary) })()
	defer func() {
		if err != nil {
			_ = errors.Join(pending.Cleanup(), file.Close()) // a Close of none is an error, too
		}
	}()
	if err := write(pending); err != nil {
		return nil, err
	}
	again, err := unix.FcntlInt(pending.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file = os.NewFile(uintptr(again), filepath.Join(f.path, name))
	beforeRename()
	return file, pending.CloseAtomicallyReplace()
}
