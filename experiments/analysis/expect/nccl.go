package expect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// programs names the programs of nccl-tests, by the collective that each measures.
var programs = map[string]string{
	collective.AllReduce: "all_reduce_perf", collective.AllGather: "all_gather_perf",
	collective.ReduceScatter: "reduce_scatter_perf", collective.AllToAll: "alltoall_perf",
	collective.Broadcast: "broadcast_perf",
}

// Log holds the output of a program of nccl-tests.
type Log struct {
	Collective string // empty: the log does not name its program
	Ranks      int    // 0: the log does not list them
	Hosts      int    // distinct hosts of the ranks
	Rows       []Row
}

// Row represents one line of a log: an operation out of place.
type Row struct {
	Line int     // in the file
	Size int64   // bytes
	Time float64 // microseconds
	Alg  float64 // algorithm bandwidth in GB/s (10^9 bytes per second)
	Bus  float64 // bus bandwidth in GB/s
}

// most limits what a log may hold.
const (
	mostRows  = 1000
	mostSize  = 1 << 50
	mostRanks = 1 << 20
)

var (
	// prefixed matches what mpirun --tag-output and srun --label put before a line.
	prefixed = regexp.MustCompile(`^(\[\d+,\d+\]<std(out|err)>:|\d+: )\s*`)
	rankLine = regexp.MustCompile(`^#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device`)
	program  = regexp.MustCompile(`\b([a-z_]+_perf)(_mpi)?\b`)
)

// ReadLog reads the output of a program of nccl-tests, version 2.0 or later, as a person sees it: lines of mpirun around
// it do not matter. The error names the line.
func ReadLog(data []byte) (*Log, error) {
	l := &Log{}
	hosts := map[string]bool{}
	var columns []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(prefixed.ReplaceAllString(lines.Text(), ""))
		if m := rankLine.FindStringSubmatch(line); m != nil {
			rank, err := strconv.Atoi(m[1])
			if err != nil || rank >= mostRanks {
				return nil, fmt.Errorf("line %d: rank %s: expected less than %d", n, m[1], mostRanks)
			}
			l.Ranks = max(l.Ranks, rank+1)
			hosts[m[2]] = true
			continue
		}
		if m := program.FindStringSubmatch(line); m != nil {
			if err := l.name(m[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		fields := strings.Fields(strings.TrimPrefix(line, "#"))
		switch {
		case strings.HasPrefix(line, "#") && slices.Contains(fields, "busbw"):
			columns = fields
		case columns == nil || strings.HasPrefix(line, "#") || len(fields) < 6:
		default:
			row, ok, err := rowOf(columns, fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if !ok {
				continue
			}
			if row.Line = n; len(l.Rows) == mostRows {
				return nil, fmt.Errorf("line %d: more than %d sizes", n, mostRows)
			}
			l.Rows = append(l.Rows, row)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	l.Hosts = len(hosts)
	switch {
	case columns == nil:
		return nil, errors.New(`no table of nccl-tests: no line has the columns "size" and "busbw"`)
	case len(l.Rows) == 0:
		return nil, errors.New("the table of nccl-tests has no line with results")
	}
	return l, nil
}

// name notes the program that a line names.
func (l *Log) name(program string) error {
	for kind, name := range programs {
		if name != program {
			continue
		}
		if l.Collective != "" && l.Collective != kind {
			return fmt.Errorf("this log is of %s and of %s: give one", programs[l.Collective], program)
		}
		l.Collective = kind
		return nil
	}
	if strings.HasSuffix(program, "_perf") && slices.Contains([]string{
		"reduce_perf", "gather_perf", "scatter_perf", "sendrecv_perf", "hypercube_perf", "alltoallv_perf",
	}, program) {
		return fmt.Errorf("a log of %s: expected one of all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, "+
			"broadcast_perf", program)
	}
	return nil
}

// rowOf reads a line of the table by its columns; ok is false if the line is another text.
func rowOf(columns, fields []string) (row Row, ok bool, err error) {
	size, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return row, false, nil
	}
	// The columns of the first operation are the first of their names. Columns without a value (redop, root of old
	// versions) are missing in lines too, so count from the count of fields.
	at := func(name string) int { return slices.Index(columns, name) }
	number := func(name string) float64 {
		i := at(name)
		if i < 0 || i >= len(fields) {
			err = errors.Join(err, fmt.Errorf("no value in the column %s", name))
			return 0
		}
		v, bad := strconv.ParseFloat(fields[i], 64)
		if bad != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			err = errors.Join(err, fmt.Errorf("column %s: %q is not a number", name, fields[i]))
		}
		return v
	}
	row = Row{Size: size, Time: number("time"), Alg: number("algbw"), Bus: number("busbw")}
	if err == nil && (size < 0 || size > mostSize) {
		err = fmt.Errorf("size %d: expected 0 to %d", size, int64(mostSize))
	}
	return row, true, err
}

// check refuses a log of another collective than stated, by the program that it names, or otherwise by the ratio of its
// bandwidths.
func (l *Log) check(kind string, ranks int) error {
	if l.Collective != "" && l.Collective != kind {
		return fmt.Errorf("the log is of %s, not of %s: state --collective %s", programs[l.Collective], programs[kind], l.Collective)
	}
	factor := (&collective.Spec{Kind: kind}).Factor(ranks)
	for _, row := range l.Rows {
		if row.Alg < 1 { // printed with two decimals
			continue
		}
		if got := row.Bus / row.Alg; math.Abs(got-factor) > 0.012*factor {
			return fmt.Errorf("line %d: busbw is %.3f times algbw, but for %s of %d ranks it is %.3f times: is the log of another "+
				"collective (--collective), or of another number of ranks (--ranks)?", row.Line, got, kind, ranks, factor)
		}
		if t := float64(row.Size) / 1e3 / row.Time; row.Time > 0 && math.Abs(t-row.Alg) > 0.02*row.Alg+0.01 {
			return fmt.Errorf("line %d: size divided by time is %.2f GB/s, but algbw is %.2f", row.Line, t, row.Alg)
		}
	}
	return nil
}

// Kinds returns the collectives whose logs can be read, for messages.
func Kinds() []string { return collective.Kinds }

// Algorithms returns the algorithms of collectives.
func Algorithms() []string { return collective.Algorithms }

// CheckKind returns an error for a name that is no collective.
func CheckKind(kind string) error {
	if slices.Contains(collective.Kinds, kind) {
		return nil
	}
	return fmt.Errorf("--collective %s%s: expected %s", kind, yamlspec.Suggest(kind, collective.Kinds),
		strings.Join(collective.Kinds, ", "))
}
