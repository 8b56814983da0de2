package sweep

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// TimesFile says of each point how long it took, and who made it. It is the one file of a sweep's folder that is not
// the same, byte for byte, wherever and however the sweep is made.
const TimesFile = "times.csv"

// timeRow is how long a point took.
type timeRow struct {
	Point      string  `csv:"point"`
	Controller string  `csv:"controller"`
	Wall       float64 `csv:"wall_seconds,digits=3"`
	MadeBy     string  `csv:"made_by"`
}

var timesTable = table.Of[timeRow](TimesFile, "how long each point took, and who made it")

// made is a row of it.
type made struct {
	wall time.Duration
	by   string
}

// readTimes are a folder's, by the points' names; none if it has none.
func readTimes(directory string) (map[string]made, error) {
	times := map[string]made{}
	err := rundir.Read(directory, timesTable, func(row *timeRow) error {
		times[row.Point+" "+row.Controller] = made{time.Duration(row.Wall * float64(time.Second)), row.MadeBy}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return times, err
}

// writeTimes writes the points' times; those of points that were kept stay as they were.
func writeTimes(folder *files.Folder, points []Point, outcomes []Outcome) error {
	before, err := readTimes(folder.Path())
	if err != nil {
		before = nil // a file that is damaged is replaced
	}
	var rows []timeRow
	for i := range points {
		t, known := before[points[i].Name()]
		if outcomes[i].State == Done {
			t, known = made{outcomes[i].Wall, outcomes[i].MadeBy}, true
		}
		if known && outcomes[i].Complete() {
			rows = append(rows, timeRow{points[i].Folder, points[i].Controller, t.wall.Seconds(), escape.Cell(t.by)})
		}
	}
	var b bytes.Buffer
	if err := timesTable.WriteAll(&b, table.Rows(rows)); err != nil {
		return err
	}
	return folder.Write(TimesFile, b.Bytes())
}
