package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
)

// WriteJSON writes v as a file of the folder, whole or not at all.
func WriteJSON(folder *files.Folder, name string, v any) error {
	file, err := replaceJSON(folder, name, v)
	if err != nil {
		return err
	}
	return file.Close()
}

func replaceJSON(folder *files.Folder, name string, v any) (*os.File, error) {
	return folder.Replace(name, func(w io.Writer) error {
		if err := jsonfile.Write(w, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// FileError describes an error in a file of results.
type FileError struct {
	Path string
	Line int // 0: no line
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Limits on files in a folder of results. Anyone who can write there may have put a link or a device.
var (
	// A summary of 4 MB of empty objects takes 1.3 GB of memory.
	summaryFile = files.Kind{Name: "a run's summary", Most: 4 << 20, Plain: true}
	sumsFile    = files.Kind{Name: "a list of sums", Most: 64 << 10, Plain: true}
	jsonFile    = files.Kind{Name: "a result in JSON", Most: 256 << 20, Plain: true}
	// CSVFile limits a table, which is read row by row: flows.csv of 33.5 million messages has 1.9 GB.
	CSVFile = files.Kind{Name: "a table of results", Most: 1 << 36, Plain: true}
)

// ReadJSON reads a JSON file. It returns a FileError for invalid contents.
func ReadJSON(path string, into any) error {
	kind := jsonFile
	if filepath.Base(path) == SummaryFile {
		kind = summaryFile
	}
	data, err := files.Read(path, kind)
	if err != nil {
		return err
	}
	if err := jsonfile.CheckSchema(data); err != nil {
		return &FileError{Path: path, Err: err}
	}
	return parseResult(path, data, into)
}

func parseResult(path string, data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	at := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at, err = kind.Offset, fmt.Errorf("%s is a %s, which is the wrong type: the file is damaged", kind.Field, kind.Value)
	}
	at = min(max(at-1, 0), int64(len(data))) // the offset is after the error
	return &FileError{path, 1 + bytes.Count(data[:at], []byte{'\n'}), err}
}
