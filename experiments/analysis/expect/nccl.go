package expect

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/spelling"
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
	Nodes      []string // the host of each rank; empty: not listed
	Operations int      // of each row, out of place and in place, warm-ups included; 0: the log does not say
	Notes      []string // rows that are left out: line and reason

	rankLine int // the first line that lists a rank
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
	prefixed = lazy.Regexp(`^(\[\d+,\d+\]<std(out|err)>:|\d+: )\s*`)
	counts   = lazy.Regexp(`warmup iters: (\d{1,9}) iters: (\d{1,9})\b`)
	rankLine = lazy.Regexp(`^#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device`)
	program  = lazy.Regexp(`\b([a-z_]+_perf)(_mpi)?\b`)
)

// ReadLog reads the output of a program of nccl-tests, version 2.0 or later, as a person sees it: lines of mpirun
// around it do not matter. The error names the line.
func ReadLog(data []byte) (*Log, error) {
	l := &Log{}
	hosts := map[string]bool{}
	var columns []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(prefixed().ReplaceAllString(lines.Text(), ""))
		if m := rankLine().FindStringSubmatch(line); m != nil {
			rank, err := strconv.Atoi(m[1])
			if err != nil || rank >= mostRanks {
				return nil, fmt.Errorf("line %d: rank %s: expected less than %d", n, m[1], mostRanks)
			}
			l.Ranks = max(l.Ranks, rank+1)
			l.Nodes = append(l.Nodes, make([]string, l.Ranks-len(l.Nodes))...)
			l.Nodes[rank], hosts[m[2]] = m[2], true
			l.rankLine = cmp.Or(l.rankLine, n)
			continue
		}
		if m := counts().FindStringSubmatch(line); m != nil {
			warmups, _ := strconv.Atoi(m[1])
			iterations, _ := strconv.Atoi(m[2])
			l.Operations = 2 * (warmups + iterations)
		}
		if m := program().FindStringSubmatch(line); m != nil {
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
			row, why, err := rowOf(columns, fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if why != "" {
				l.Notes = append(l.Notes, fmt.Sprintf("line %d: left out: %s", n, why))
			}
			if row == nil {
				continue
			}
			if row.Line = n; len(l.Rows) == mostRows {
				return nil, fmt.Errorf("line %d: more than %d sizes", n, mostRows)
			}
			l.Rows = append(l.Rows, *row)
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
		return nil, errors.New("the table of nccl-tests has no line with results" + leftOut(l.Notes))
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
		return fmt.Errorf("a log of %s: expected one of all_reduce_perf, all_gather_perf, reduce_scatter_perf, "+
			"alltoall_perf, "+
			"broadcast_perf", program)
	}
	return nil
}

// rowOf reads a line of the table by its columns. It returns nil without a reason if the line is another text, and nil
// with the reason why it leaves a line of results out.
func rowOf(columns, fields []string) (row *Row, why string, err error) {
	// The columns of the first operation are the first of their names. Columns without a value (redop, root of old
	// versions) are missing in lines too, so count from the count of fields.
	number := func(name string) float64 {
		i := slices.Index(columns, name)
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
	row = &Row{Time: number("time"), Alg: number("algbw"), Bus: number("busbw")}
	size, bad := strconv.ParseInt(fields[0], 10, 64)
	_, numeric := strconv.ParseFloat(fields[0], 64)
	switch {
	case bad != nil && (err != nil || numeric != nil && !errors.Is(numeric, strconv.ErrRange)):
		return nil, "", nil
	case bad != nil:
		return nil, fmt.Sprintf("the size %.40q is not a whole number of bytes below 2^63", fields[0]), nil
	case err != nil:
		return nil, "", err
	case size < 0 || size > mostSize:
		return nil, "", fmt.Errorf("size %d: expected 0 to %d", size, int64(mostSize))
	case size == 0:
		return nil, "a size of 0 sends nothing", nil
	case row.Time == 0:
		return nil, fmt.Sprintf("the time of %d B is 0 (measure it with more iterations: -n)", size), nil
	}
	row.Size = size
	return row, "", nil
}

// Write writes the log of a program of nccl-tests, version 2.17, with one rank on each of Nodes. Both operations of a
// row have its times.
func (l *Log) Write(w io.Writer) error {
	var b strings.Builder
	least, most := l.Rows[0].Size, l.Rows[len(l.Rows)-1].Size
	fmt.Fprintf(&b, "# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803\n# Collective test starting: %s\n"+
		"# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 2(factor) warmup iters: %d iters: %d agg iters: 1 validation: "+
		"0 graph: 0\n"+
		"#\n# Using devices\n", programs[l.Collective], least, most, min(1, l.Operations/2), max(0, l.Operations/2-1))
	for i, node := range l.Nodes {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on %10s device  0 [0000:04:00] NVIDIA H100\n", i, 4000+i, node)
	}
	fmt.Fprintf(&b, "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "",
		"", "", "", "")
	const line = "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n"
	fmt.Fprintf(&b, line, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
		"busbw", "#wrong")
	fmt.Fprintf(&b, line, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")
	for _, r := range l.Rows {
		times := fmt.Sprintf("  %7.2f  %6.2f  %6.2f  %6s", r.Time, r.Alg, r.Bus, "N/A")
		fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6d%s%s\n", r.Size, r.Size/4, "float", "sum", -1, times, times)
	}
	b.WriteString("# Out of bounds values : 0 OK\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// check refuses a log of another collective than stated, by the program that it names, or otherwise by the ratio of its
// bandwidths.
func (l *Log) check(kind string, ranks int) error {
	if l.Collective != "" && l.Collective != kind {
		return fmt.Errorf("the log is of %s, not of %s: state --collective %s", programs[l.Collective], programs[kind],
			l.Collective)
	}
	factor := (&collective.Spec{Kind: kind}).Factor(ranks)
	for _, row := range l.Rows {
		if row.Alg < 1 { // printed with two decimals
			continue
		}
		if got := row.Bus / row.Alg; math.Abs(got-factor) > 0.012*factor {
			return fmt.Errorf("line %d: busbw is %.3f times algbw, but for %s of %d ranks it is %.3f times: is the log of "+
				"another "+
				"collective (--collective), or of another number of ranks (--ranks)?", row.Line, got, kind, ranks, factor)
		}
		if t := float64(row.Size) / 1e3 / row.Time; math.Abs(t-row.Alg) > 0.02*row.Alg+0.01 {
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
	return fmt.Errorf("--collective %s%s: expected %s", kind, spelling.Suggest(kind, collective.Kinds),
		strings.Join(collective.Kinds, ", "))
}
