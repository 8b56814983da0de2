package runfolders

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
)

// byNature matches lines in which equal runs may differ: in the manifest those about the program and the machine, in
// the summary those about speed.
var byNature = map[string]*regexp.Regexp{
	rundir.ManifestFile: regexp.MustCompile(`^  "(version|build|command|plane|kernel|hooks|go|machine)": `),
	rundir.SummaryFile: regexp.MustCompile(`^(  "plane"|    "wall_seconds"|    "virtual_seconds_per_wall_second"|` +
		`    "packet_hops_per_second"|    "wall_ns_per_packet_hop"): `),
}

// notCompared lists files that may differ between equal runs, or that exist only if the run captures ports.
var notCompared = []string{rundir.SumsFile, rundir.PanicFile, "capture.pcapng", "figure.svg", "figure.png", "figure.pdf"}

// Difference describes the first difference between a run's folder and a repetition of the run.
type Difference struct {
	File string
	Line int // from 1; 0: the file is not text, or one folder lacks it
	// There and Now hold the lines, or a description, shortened for a message.
	There, Now string
}

// Position returns the file, and the line of it.
func (d *Difference) Position() string {
	if d.Line == 0 {
		return d.File
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

func (d *Difference) String() string {
	return fmt.Sprintf("%s differs from what the run writes now\n  there: %s\n  now:   %s", d.Position(), d.There, d.Now)
}

// Differ returns the first difference between a run's folder and a repetition's, and nil if there is none. It compares
// all files, except for values that may differ by nature.
func Differ(there, now string) (*Difference, error) {
	for _, name := range append([]string{rundir.ManifestFile, rundir.SummaryFile}, rundir.Files...) {
		if slices.Contains(notCompared, name) {
			continue
		}
		d, err := differ(filepath.Join(there, name), filepath.Join(now, name))
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func differ(there, now string) (*Difference, error) {
	name := filepath.Base(there)
	a, errA := files.Open(there, rundir.AnyFile)
	if errA == nil {
		defer a.Close()
	}
	b, errB := files.Open(now, rundir.AnyFile)
	if errB == nil {
		defer b.Close()
	}
	noA, noB := errors.Is(errA, fs.ErrNotExist), errors.Is(errB, fs.ErrNotExist)
	switch {
	case noA && noB:
		return nil, nil
	case errA != nil && !noA || errB != nil && !noB:
		return nil, errors.Join(errA, errB)
	case noA:
		return &Difference{File: name, There: "none", Now: "one"}, nil
	case noB:
		return &Difference{File: name, There: "one", Now: "none"}, nil
	}
	if !isText(name) {
		if same, err := sameBytes(a, b); same || err != nil {
			return nil, err
		}
		return &Difference{File: name, There: "other bytes", Now: "these"}, nil
	}
	one, other := newLineReader(a, name), newLineReader(b, name)
	for {
		x, errX := one.next()
		y, errY := other.next()
		switch {
		case errX == io.EOF && errY == io.EOF:
			return nil, nil
		case errX != nil && errX != io.EOF || errY != nil && errY != io.EOF:
			return nil, errors.Join(errX, errY)
		case errX != nil || errY != nil || !bytes.Equal(x, y):
			line := one.line
			if errX != nil { // after the last line
				line++
			}
			return &Difference{File: name, Line: line, There: shortened(x), Now: shortened(y)}, nil
		}
	}
}

func isText(name string) bool {
	return slices.Contains([]string{".csv", ".json", ".txt"}, filepath.Ext(name))
}

// shortened returns a line for a message.
func shortened(line []byte) string {
	const most = 120
	text := []rune(string(bytes.TrimSpace(line)))
	if len(text) > most {
		return escape.Line(string(text[:most])) + "..."
	}
	return escape.Line(string(text))
}

// lineReader reads the lines of a file that are the same for equal runs.
type lineReader struct {
	from   *bufio.Reader
	skip   *regexp.Regexp // nil: no line
	within bool           // inside the manifest's list of files, which contains files that may differ
	line   int
}

func newLineReader(from io.Reader, name string) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(rundir.AliveReader{From: from}, 1<<16), skip: byNature[name]}
}

// next returns the next line. It returns a line longer than the buffer in parts.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.from.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			err = nil
		}
		if len(line) == 0 {
			return nil, err
		}
		l.line++
		begins := bytes.HasPrefix(line, []byte(`  "files": {`))
		switch {
		case l.skip == nil:
			return line, nil
		case l.within:
			l.within = !bytes.HasPrefix(line, []byte("  }"))
		case begins:
			l.within = !bytes.Contains(line, []byte("}"))
		case !l.skip.Match(line):
			return line, nil
		}
	}
}

func sameBytes(a, b io.Reader) (bool, error) {
	one, other := bufio.NewReaderSize(rundir.AliveReader{From: a}, 1<<16), bufio.NewReaderSize(rundir.AliveReader{From: b}, 1<<16)
	for {
		x, errX := one.Peek(1 << 12)
		y, errY := other.Peek(1 << 12)
		if !bytes.Equal(x, y) {
			return false, nil
		}
		for _, err := range []error{errX, errY} {
			if err != nil && err != io.EOF {
				return false, err
			}
		}
		if errX == io.EOF || errY == io.EOF {
			return true, nil // the rest is the same
		}
		_, _ = one.Discard(len(x))
		_, _ = other.Discard(len(y))
	}
}
