//go:build !unix

package files

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// Replace does the work of Write, but keeps the file open for later changes in place. It does without renameio,
// which exists only for Unix.
func (f *Folder) Replace(name string, data []byte) (*os.File, error) {
	shutdown.Alive()
	temporary := "." + filepath.Base(name) + strconv.FormatInt(rand.Int64(), 10)
	defer shutdown.Discard(func() { _ = f.root.Remove(temporary) })()
	file, err := f.exclusive(temporary)
	if err != nil {
		return nil, f.writing(name, err)
	}
	_, err = file.Write(data)
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
