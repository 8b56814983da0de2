package rundir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/vtime"
)

// csvFile writes rows without allocating.
type csvFile struct {
	file   *os.File
	behind *behind
	buffer *bufio.Writer
	row    []byte
}

func (c *csvFile) create(folder *files.Folder, name, header string) (err error) {
	c.file, err = folder.Create(name)
	if err != nil {
		return err
	}
	c.behind = newBehind(keeper{c.file})
	c.buffer = newCSVBuffer(c.behind)
	_, err = c.buffer.WriteString(header + "\n")
	return err
}

func newCSVBuffer(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 1<<16) }

// keeper writes what is to be kept: while it gets on, a process that is to end is not forced to.
type keeper struct{ to io.Writer }

func (k keeper) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	shutdown.Alive()
	return n, err
}

func (c *csvFile) begin(now vtime.Time) {
	c.row = strconv.AppendInt(c.row[:0], now.RoundNanoseconds(), 10)
}

func (c *csvFile) text(s string) { c.row = append(append(c.row, ','), s...) }

func (c *csvFile) number(v int64) { c.row = strconv.AppendInt(append(c.row, ','), v, 10) }

func (c *csvFile) end() error {
	c.row = append(c.row, '\n')
	_, err := c.buffer.Write(c.row)
	return err
}

func (c *csvFile) close() error {
	if c.file == nil {
		return nil
	}
	_ = c.buffer.Flush() // an error comes again as it ends
	err := c.behind.close()
	if err != nil {
		err = errors.Join(err, c.trim())
	}
	err = errors.Join(err, c.file.Close())
	c.file = nil
	return err
}

// trim takes a row that was written in part, as the disk was full, off the file's end.
func (c *csvFile) trim() error {
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

// Row is a row of a CSV file of results. Its fields are asked for by column; the first that is not what it should be is
// the row's error.
type Row struct {
	fields [][]byte
	names  [][]byte
	Err    error
}

// Text is a field as it stands there.
func (r *Row) Text(column int) string { return string(r.fields[column]) }

// Quoted is a text that is between quotes if a comma or a quote is in it. Only the last column may be such.
func (r *Row) Quoted(column int) string {
	text := r.Text(column)
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		return strings.ReplaceAll(text[1:n-1], `""`, `"`)
	}
	return text
}

// Empty says that a field has nothing in it.
func (r *Row) Empty(column int) bool { return len(r.fields[column]) == 0 }

// Whole is a number that is whole and not negative.
func (r *Row) Whole(column int) int64 {
	v, err := strconv.ParseInt(string(r.fields[column]), 10, 64)
	if (err != nil || v < 0) && r.Err == nil {
		r.Err = fmt.Errorf("%s is %q, not a whole number", r.names[column], r.fields[column])
	}
	return v
}

// Number is a number that is finite.
func (r *Row) Number(column int) float64 {
	v, err := strconv.ParseFloat(string(r.fields[column]), 64)
	if (err != nil || math.IsNaN(v) || math.IsInf(v, 0)) && r.Err == nil {
		r.Err = fmt.Errorf("%s is %q, not a number", r.names[column], r.fields[column])
	}
	return v
}

// ReadCSV reads a file of results with the given header, row by row.
func ReadCSV(path, header string, each func(*Row) error) error {
	f, err := files.Open(path, CSVFile)
	if err != nil {
		return err
	}
	defer f.Close()
	return parseCSV(path, io.LimitReader(reader{f}, CSVFile.Most), header, each)
}

// reader reads what is to be shown: while it gets on, a process that is to end is not forced to.
type reader struct{ from io.Reader }

func (r reader) Read(p []byte) (int, error) {
	shutdown.Alive()
	return r.from.Read(p)
}

// longestRow bounds a row of a file that is none of ours.
const longestRow = 1 << 20

func parseCSV(path string, from io.Reader, header string, each func(*Row) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 1<<16), longestRow)
	row := Row{names: bytes.Split([]byte(header), []byte{','})}
	row.fields = make([][]byte, len(row.names))
	at := func(n int, err error) error { return &FileError{path, n, err} }
	n := 0
	for lines.Scan() {
		n++
		if n == 1 {
			if got := lines.Text(); got != header {
				return at(n, fmt.Errorf("the columns are %.200q, not %q: the file is of another pausenet, or damaged", got, header))
			}
			continue
		}
		plain, _, _ := bytes.Cut(lines.Bytes(), []byte(`,"`)) // what is quoted is the last field
		got := bytes.Count(plain, []byte{','}) + 1
		if len(plain) < len(lines.Bytes()) {
			got++
		}
		if got != len(row.names) {
			return at(n, fmt.Errorf("%d fields of %d: the file is damaged", got, len(row.names)))
		}
		rest := lines.Bytes()
		last := len(row.fields) - 1
		for i := range last {
			row.fields[i], rest, _ = bytes.Cut(rest, []byte{','})
		}
		row.fields[last] = rest
		row.Err = nil
		if err := errors.Join(each(&row), row.Err); err != nil {
			return at(n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return at(n+1, err)
	}
	if n == 0 {
		return at(1, errors.New("the file is empty: the run was killed, or the disk was full"))
	}
	return nil
}
