package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
)

// TimesFile says of each point how long it took, and who made it. It is the one file of a sweep's folder that is not the same, byte for byte,
// wherever and however the sweep is made.
const TimesFile = "times.csv"

var timesHeader = []string{"point", "controller", "wall_seconds", "made_by"}

// made is a row of it.
type made struct {
	wall time.Duration
	by   string
}

// readTimes are a folder's, by the points' names; none if it has none.
func readTimes(directory string) (map[string]made, error) {
	path := filepath.Join(directory, TimesFile)
	data, err := files.Read(path, rundir.CSVFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, &rundir.FileError{Path: path, Err: err}
	}
	times := map[string]made{}
	for i, row := range rows {
		if i == 0 || len(row) != len(timesHeader) {
			continue
		}
		seconds, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return nil, &rundir.FileError{Path: path, Line: i + 1, Err: fmt.Errorf("wall_seconds is %q, not a number", row[2])}
		}
		times[row[0]+" "+row[1]] = made{time.Duration(seconds * float64(time.Second)), row[3]}
	}
	return times, nil
}

// writeTimes writes the points' times; those of points that were kept stay as they were.
func writeTimes(folder *files.Folder, points []Point, outcomes []Outcome) error {
	before, err := readTimes(folder.Path())
	if err != nil {
		before = nil // a file that is damaged is replaced
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(timesHeader) // into a buffer; Flush would tell
	for i := range points {
		t, known := before[points[i].Name()]
		if outcomes[i].State == Done {
			t, known = made{outcomes[i].Wall, outcomes[i].MadeBy}, true
		}
		if known && outcomes[i].Complete() {
			_ = w.Write([]string{points[i].Folder, points[i].Controller, strconv.FormatFloat(t.wall.Seconds(), 'f', 3, 64), escape.Cell(t.by)})
		}
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	return folder.Write(TimesFile, b.Bytes())
}
