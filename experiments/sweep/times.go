package sweep

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// TimesFile names the file with the time and the machine of each point. It is the only file of a sweep's folder that
// differs between equal sweeps.
const TimesFile = "times.csv"

// timeRow holds the time of a point.
type timeRow struct {
	Point      string  `csv:"point"`
	Controller string  `csv:"controller"`
	Wall       float64 `csv:"wall_seconds,digits=3"`
	MadeBy     string  `csv:"made_by"`
}

var timesTable = table.Of[timeRow](TimesFile, "how long each point took, and who made it")

// made holds a row of the file.
type made struct {
	wall time.Duration
	by   string
}

// readTimes returns the times in a folder by the points' names; none without the file.
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

// writeTimes writes the points' times; those of kept points do not change.
func writeTimes(folder *files.Folder, points []Point, outcomes []Outcome) error {
	before, err := readTimes(folder.Path())
	if err != nil {
		before = nil // replace a damaged file
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
