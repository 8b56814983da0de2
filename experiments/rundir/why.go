package rundir

import (
	"errors"
	"strconv"

	"github.com/pausenet/pausenet/internal/files"
)

// Files of a run that was to record where each flow's time goes.
const (
	WhyFile    = "why.csv"
	CausesFile = "causes.csv"
)

// WhyHeader heads why.csv: a part of a flow's time a row. What does not apply is empty.
const WhyHeader = "flow,stage,again,what,way,port,behind,cause,signal,signal_port,signal_cause,time_ps"

// WhyRow is a row of why.csv. Ports are called as in links.csv, causes by their number in causes.csv; -1: none.
type WhyRow struct {
	Flow        int
	Stage       string
	Again       bool // what was sent again
	What        string
	Answer      bool // way: the ACK's, not the packet's
	Port        string
	Behind      string // tag
	Cause       int
	Signal      string
	SignalPort  string
	SignalCause int
	Picoseconds int64
}

// CausesHeader heads causes.csv: a row a cause, numbered from 0. Those that others are because of come before them.
const CausesHeader = "cause,kind,port,because,queue"

// CauseRow is a row of causes.csv. Because is another's number, -1 of a root.
type CauseRow struct {
	Kind, Port string
	Because    int
	Queue      string // of a congested port: tag=bytes in its queue at the PAUSEs of which it was the root, added up; by ;
}

// WriteWhy writes why.csv and causes.csv.
func WriteWhy(folder *files.Folder, causes []CauseRow, rows func(yield func(*WhyRow) bool)) error {
	var table csvFile
	if err := table.create(folder, CausesFile, CausesHeader); err != nil {
		return err
	}
	var failed error
	for i := range causes {
		x := &causes[i]
		table.row = strconv.AppendInt(table.row[:0], int64(i), 10)
		table.text(x.Kind)
		table.text(x.Port)
		table.optional(x.Because)
		table.text(x.Queue)
		failed = errors.Join(failed, table.end())
	}
	if err := errors.Join(failed, table.close()); err != nil {
		return err
	}
	if err := table.create(folder, WhyFile, WhyHeader); err != nil {
		return err
	}
	for x := range rows {
		table.row = strconv.AppendInt(table.row[:0], int64(x.Flow), 10)
		table.text(x.Stage)
		table.number(flag(x.Again))
		table.text(x.What)
		if x.Answer {
			table.text("ack")
		} else {
			table.text("data")
		}
		table.text(x.Port)
		table.text(x.Behind)
		table.optional(x.Cause)
		table.text(x.Signal)
		table.text(x.SignalPort)
		table.optional(x.SignalCause)
		table.number(x.Picoseconds)
		if failed = table.end(); failed != nil {
			break
		}
	}
	return errors.Join(failed, table.close())
}

// optional writes a number, or nothing for one below 0.
func (c *csvFile) optional(n int) {
	if n < 0 {
		c.row = append(c.row, ',')
		return
	}
	c.number(int64(n))
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ReadWhy reads why.csv of a run's folder.
func ReadWhy(path string, each func(*WhyRow) error) error {
	return ReadCSV(path, WhyHeader, func(r *Row) error {
		x := WhyRow{
			Flow: int(r.Whole(0)), Stage: r.Text(1), Again: r.Whole(2) != 0, What: r.Text(3), Answer: r.Text(4) == "ack", Port: r.Text(5),
			Behind: r.Text(6), Cause: r.orNone(7), Signal: r.Text(8), SignalPort: r.Text(9), SignalCause: r.orNone(10), Picoseconds: r.Whole(11),
		}
		if r.Err != nil {
			return nil
		}
		return each(&x)
	})
}

// ReadCauses reads causes.csv.
func ReadCauses(path string) (all []CauseRow, err error) {
	err = ReadCSV(path, CausesHeader, func(r *Row) error {
		x := CauseRow{Kind: r.Text(1), Port: r.Text(2), Because: r.orNone(3), Queue: r.Text(4)}
		if r.Err == nil && (r.Whole(0) != int64(len(all)) || x.Because >= len(all)) {
			return errors.New("causes are not numbered in order: the file is damaged")
		}
		all = append(all, x)
		return nil
	})
	return all, err
}

func (r *Row) orNone(column int) int {
	if r.Empty(column) {
		return -1
	}
	return int(r.Whole(column))
}
