//go:build !unix

package files

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// Replace does the work of Write, with what write writes, but keeps the file open for later changes in place. It does
// without renameio, which exists only for Unix.
func (f *Folder) Replace(name string, write func(io.Writer) error) (*os.File, error) {
	shutdown.Alive()
	temporary := "." + filepath.Base(name) + strconv.FormatInt(rand.Int64(), 10)
	defer shutdown.Discard(func() { _ = f.root.Remove(temporary) })()
	file, err := f.exclusive(temporary)
	if err != nil {
		return nil, f.writing(name, err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		beforeRename()
		err = f.root.Rename(temporary, name)
	}
	if err != nil {
		_ = errors.Join(f.root.Remove(temporary), file.Close())
		return nil, f.writing(name, err)
	}
	return file, nil
}
