package rundir

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/table"
)

// csvFile writes a table.
type csvFile[Row any] struct {
	*table.Writer[Row]
	file   *os.File // nil: rows are discarded
	behind *behind  // writes to file
	buffer *bufio.Writer
}

func create[Row any](folder *files.Folder, t *table.Table[Row]) (*csvFile[Row], error) {
	f, err := folder.Create(t.Name)
	if err != nil {
		return nil, err
	}
	c := &csvFile[Row]{file: f, behind: newBehind(keeper{f})}
	c.buffer = bufio.NewWriterSize(c.behind, 1<<16)
	c.Writer, err = t.NewWriter(c.buffer)
	return c, err
}

// Write writes a table into a run's folder.
func Write[Row any](folder *files.Folder, t *table.Table[Row], rows iter.Seq[*Row]) error {
	c, err := create(folder, t)
	if err != nil {
		return errors.Join(err, c.close())
	}
	for row := range rows {
		if err = c.Write(row); err != nil {
			break
		}
	}
	return errors.Join(err, c.close())
}

// keeper writes data that must not be lost. Each write postpones the forced end of a process that is shutting down.
type keeper struct{ to io.Writer }

func (k keeper) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	shutdown.Alive()
	return n, err
}

func (c *csvFile[Row]) close() error {
	if c == nil || c.file == nil {
		return nil
	}
	_ = c.buffer.Flush() // behind.close returns its error
	err := c.behind.close()
	if err != nil {
		err = errors.Join(err, c.trim())
	}
	err = errors.Join(err, c.file.Close())
	c.file = nil
	return err
}

// trim removes a partly written row from the file's end after the disk was full.
func (c *csvFile[Row]) trim() error {
	size, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tail := make([]byte, min(size, 1<<12))
	if _, err := c.file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	rest := len(tail) - 1 - bytes.LastIndexByte(tail, '\n')
	return c.file.Truncate(size - int64(rest))
}

// Read calls each with every row of a table of a run's folder. The row is valid only until each returns, but its
// strings stay valid. A mistake in the file, and an error that each returns, become a FileError with the line.
func Read[Row any](folder string, t *table.Table[Row], each func(*Row) error) error {
	return readTable(filepath.Join(folder, t.Name), CSVFile, func(from io.Reader) error { return t.Read(from, each) })
}

// ReadCells calls each with the values of every row of a table that the run has just written (table.Schema.ReadCells).
// The table may have any size.
func ReadCells(folder *files.Folder, t *table.Schema, each func(cells []any) error) error {
	return readTable(filepath.Join(folder.Path(), t.Name), AnyFile,
		func(from io.Reader) error { return t.ReadCells(from, each) })
}

func readTable(path string, kind files.Kind, read func(io.Reader) error) error {
	f, err := files.Open(path, kind)
	if err != nil {
		return err
	}
	defer f.Close()
	err = read(io.LimitReader(AliveReader{f}, kind.Most))
	var at *table.LineError
	if errors.As(err, &at) {
		return &FileError{path, at.Line, at.Err}
	}
	return err
}

// AliveReader reads data for output. Each read postpones the forced end of a process that is shutting down.
type AliveReader struct{ From io.Reader }

func (r AliveReader) Read(p []byte) (int, error) {
	shutdown.Alive()
	return r.From.Read(p)
}
