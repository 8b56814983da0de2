package expect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/internal/testenv"
)

// fabric is what the operator believes to have.
const fabric = `
topology: {delay: 1us, mtu: 4096, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, rate: 100Gbps}}
controllers: [dcqcn]
`

// all are the sizes of the logs, as by all_reduce_perf -b 16K -e 256K -f 4.
var all = []int64{16 << 10, 64 << 10, 256 << 10}

// nccl formats results as nccl-tests 2.17 do (src/common.cu and src/util.cu: the header, the line of a rank, and a line
// of the table).
func nccl(program string, ranks int, factor float64, sizes []int64, microseconds []float64) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803\n# Collective test starting: %s\n", program)
	b.WriteString("# nThread 1 nGpus 1 minBytes 16384 maxBytes 262144 step: 4(factor) warmup iters: 1 iters: 20 agg iters: 1 " +
		"validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n")
	for r := range ranks {
		fmt.Fprintf(&b, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n", r, 0, 4000+r, fmt.Sprintf("node%02d", r), 0,
			0, 4, 0, "NVIDIA H100 80GB HBM3")
	}
	fmt.Fprintf(&b, "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "", "", "", "", "")
	line := "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n"
	fmt.Fprintf(&b, line, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
	fmt.Fprintf(&b, line, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")
	for i, size := range sizes {
		alg := float64(size) / microseconds[i] / 1e3
		fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6d", size, size/4, "float", "sum", -1)
		fmt.Fprintf(&b, "  %7.2f  %6.2f  %6.2f  %6g  %7.2f  %6.2f  %6.2f  %6g\n", microseconds[i], alg, alg*factor, 0.0,
			microseconds[i]*1.01, alg/1.01, alg*factor/1.01, 0.0)
	}
	b.WriteString("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 5.4321 \n#\n# Collective test concluded: " + program + "\n")
	return []byte(b.String())
}

// measured returns the log of a fabric under a fault: what a run took, with the time of software and the noise of a
// measurement.
func measured(t *testing.T, fault *resimulate.Fault, seed uint64) *Log {
	t.Helper()
	q := &Question{File: "fabric.yaml", Text: []byte(fabric), Collective: "allreduce", Sets: []string{fmt.Sprintf("seed=%d", seed)}}
	x := &expectation{q: q, hosts: 8, ranks: 8, base: resimulate.Base{File: q.File, Text: q.Text}}
	results, _, err := x.run(context.Background(), fault, all, slices.Repeat([]string{"ring"}, len(all)), nil)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 6))
	var took []float64
	for _, size := range all {
		took = append(took, (results[size].Time.Mean/1e3+0.5)*(1+0.02*(2*random.Float64()-1)))
	}
	l, err := ReadLog(nccl("all_reduce_perf", 8, 1.75, all, took))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ask(t *testing.T, l *Log, suspects bool) *Answer {
	t.Helper()
	a, err := Ask(context.Background(), &Question{
		File: "fabric.yaml", Text: []byte(fabric), Collective: "allreduce", Log: l, Most: 512 << 10, Suspects: suspects,
		Algorithms: []string{"ring"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSuspects makes logs of a fabric with one fault, with values that no candidate has, over three seeds: the fault is
// among the first three suspects, at its place or one that the traffic cannot tell from it.
func TestSuspects(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct {
		kind  resimulate.Kind
		place string
		entry string
	}{
		{resimulate.SlowLink, "leaf1:h5", `{at: 0s, link: "leaf1:h5", rate: 35Gbps}`},
		{resimulate.LongCable, "leaf0:h2", `{at: 0s, link: "leaf0:h2", delay: 31us}`},
		{resimulate.SlowNIC, "h3", `{at: 0s, host: h3, receiver: {rate: 17Gbps}}`},
		{resimulate.Storm, "h6", `{at: 0s, for: 1us, every: 700us, host: h6, pause: [3]}`},
	} {
		first := 0
		for seed := range uint64(3) {
			a := ask(t, measured(t, &resimulate.Fault{Entries: []string{c.entry}}, seed+1), true)
			at := slices.IndexFunc(a.Suspects, func(s Suspect) bool {
				return s.Kind == c.kind && (s.Place == c.place || slices.Contains(s.Alike, c.place))
			})
			if at == 0 {
				first++
			}
			if at < 0 || at > 2 {
				t.Errorf("%s, seed %d: suspect %d of %+v", c.entry, seed+1, at, a.Suspects)
			}
			if a.Healthy < 0.1 {
				t.Errorf("%s, seed %d: a gap of %v without the fault", c.entry, seed+1, a.Healthy)
			}
		}
		t.Logf("%s: first of the suspects in %d of 3", c.entry, first)
	}
}

// TestHealthy finds nothing to suspect on the fabric as planned. Limit, bandwidths and gap are those of the definitions
// in nccl-tests' doc/PERFORMANCE.md.
func TestHealthy(t *testing.T) {
	a := ask(t, measured(t, &resimulate.Fault{}, 4), true)
	if len(a.Suspects) > 0 || a.Healthy > closeEnough || a.Runs != 1 {
		t.Errorf("error %v, %d runs, suspects %+v", a.Healthy, a.Runs, a.Suspects)
	}
	for _, s := range a.Sizes {
		if bus := float64(s.Size) / (s.Time / 1e9) * 2 * 7 / 8; math.Abs(s.Bus-bus) > 1 || math.Abs(s.Alg*7/4-bus) > 1 {
			t.Errorf("%d B: busbw %v, want %v", s.Size, s.Bus, bus)
		}
		if s.Bus > s.Limit || s.Limit > 12.5e9 || math.Abs(s.Gap) > 0.06 {
			t.Errorf("%d B: busbw %v, limit %v, gap %v", s.Size, s.Bus, s.Limit, s.Gap)
		}
	}
}

// TestRanksOfHosts scales eight ranks on each of two hosts: a ring crosses each host's edge with 15/16 of the data twice.
func TestRanksOfHosts(t *testing.T) {
	x := &expectation{q: &Question{Collective: "allreduce"}, hosts: 2, ranks: 16}
	// 2(n-1)/n of the scaled size for two hosts must be 2(N-1)/N of the size for 16 ranks.
	if got := x.scaled(1 << 20); got != (1<<20)*2*15/16 {
		t.Errorf("%d bytes", got)
	}
	x.q.Collective = "alltoall" // each of 8 ranks sends 8/16 of its data to the other host
	if got := x.scaled(1 << 20); got/2 != 8*(1<<20)/2 {
		t.Errorf("%d bytes", got)
	}
}

func TestReadLog(t *testing.T) {
	good := string(nccl("all_reduce_perf", 8, 1.75, all, []float64{15, 30, 60}))
	l, err := ReadLog([]byte(good))
	if err != nil || l.Collective != "allreduce" || l.Ranks != 8 || l.Hosts != 8 || len(l.Rows) != 3 ||
		l.Rows[1] != (Row{Line: 19, Size: 64 << 10, Time: 30, Alg: 2.18, Bus: 3.82}) {
		t.Errorf("%+v, %v", l, err)
	}
	if err := l.check("allreduce", 8); err != nil {
		t.Error(err)
	}
	// Version 2.0 had no root and an error in place of #wrong; mpirun tags lines; -c 0 prints N/A.
	old := `[1,0]<stdout>:#
[1,0]<stdout>:#                                                     out-of-place                       in-place
[1,0]<stdout>:#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
[1,0]<stdout>:#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
[1,0]<stdout>:    16777216       4194304   float     sum   3000.0    5.59    9.79    N/A   3000.0    5.59    9.79    N/A
`
	if l, err := ReadLog([]byte(old)); err != nil || len(l.Rows) != 1 || l.Rows[0].Time != 3000 || l.Rows[0].Bus != 9.79 {
		t.Errorf("%+v, %v", l, err)
	}
	times := []float64{1, 2, 3}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no table of nccl-tests"},
		{"no lines", strings.Split(good, "\n       16384")[0], "no line with results"},
		{
			"two programs", good + string(nccl("all_gather_perf", 8, 0.875, all, times)),
			"line 26: this log is of all_reduce_perf and of all_gather_perf",
		},
		{"other program", strings.ReplaceAll(good, "all_reduce_perf", "sendrecv_perf"), "a log of sendrecv_perf"},
		{"word", strings.Replace(good, "  15.00", "  thirty", 1), `line 18: column time: "thirty" is not a number`},
	} {
		if _, err := ReadLog([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLeftOut names each row of results that has no part in the comparison, with its line and the reason, and no other
// line.
func TestLeftOut(t *testing.T) {
	text := string(nccl("all_reduce_perf", 8, 1.75, []int64{1 << 10, 2 << 10, 16 << 10, 64 << 10}, []float64{15, 30, 60, 90}))
	for _, c := range []struct{ old, new, want string }{
		{"   15.00", "    0.00", "line 18: left out: the time of 1024 B is 0"},
		{"        1024", "           0", "line 18: left out: a size of 0 sends nothing"},
		{"        1024", "9223372036854775808", `line 18: left out: the size "9223372036854775808" is not a whole number`},
		{"        1024", "      1024.5", `line 18: left out: the size "1024.5" is not a whole number`},
		{"        1024", "      1024:1", ""}, // another text
		{"        1024", "       [1,0]", ""},
	} {
		l, err := ReadLog([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err != nil || len(l.Rows) != 3 || len(l.Notes) > 1 || c.want != "" && (len(l.Notes) == 0 || !strings.HasPrefix(l.Notes[0], c.want)) {
			t.Errorf("%s: %+v, %v, want %q", c.new, l, err, c.want)
		}
	}
}

// TestWrite reads what Write has written.
func TestWrite(t *testing.T) {
	want := &Log{
		Collective: "allgather", Ranks: 2, Hosts: 2, Nodes: []string{"h0", "h1"}, Operations: 42, rankLine: 6,
		Rows: []Row{{12, 1024, 10.5, 0.1, 0.05}, {13, 4096, 20.25, 0.2, 0.1}},
	}
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadLog(b.Bytes()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v in\n%s", got, err, want, b.String())
	}
	own := strings.Split(b.String(), "\n")
	for i, line := range strings.Split(string(nccl("all_gather_perf", 2, 0.5, []int64{1024}, []float64{10.5})), "\n")[8:11] {
		if own[8+i] != line {
			t.Errorf("got  %q\nwant %q", own[8+i], line)
		}
	}
}

// TestOtherCollective refuses logs of another collective, whether they name it or not, and of other ranks.
func TestOtherCollective(t *testing.T) {
	gather := string(nccl("all_gather_perf", 8, 0.875, all, []float64{5, 20, 40}))
	unnamed := strings.ReplaceAll(gather, "all_gather_perf", "a.out")
	lying := strings.Replace(gather, "   40.00", "   20.00", 1)
	for _, c := range []struct {
		text, kind string
		ranks      int
		want       string
	}{
		{gather, "allreduce", 8, "the log is of all_gather_perf, not of all_reduce_perf: state --collective allgather"},
		{gather, "allgather", 8, ""},
		{unnamed, "allreduce", 8, "line 18: busbw is 0.875 times algbw, but for allreduce of 8 ranks it is 1.750 times"},
		{unnamed, "allgather", 8, ""},
		{unnamed, "allgather", 2, "for allgather of 2 ranks it is 0.500 times"},
		{lying, "allgather", 8, "size divided by time is 13.11 GB/s, but algbw is 6.55"},
	} {
		l, err := ReadLog([]byte(c.text))
		if err == nil {
			err = l.check(c.kind, c.ranks)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %d: %v, want %q", c.kind, c.ranks, err, c.want)
		}
	}
}

// TestInterrupted keeps the comparison if the search for suspects is interrupted.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l := measured(t, &resimulate.Fault{Entries: []string{`{at: 0s, link: "leaf1:h5", rate: 35Gbps}`}}, 1)
	a, err := Ask(ctx, &Question{
		File: "fabric.yaml", Text: []byte(fabric), Collective: "allreduce", Log: l, Most: 64 << 10, Suspects: true,
		Algorithms: []string{"ring"}, Progress: func(done, _ int) {
			if done == 2 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || a == nil || !a.Interrupted || len(a.Sizes) != 3 || !a.Sizes[2].Extrapolated {
		t.Errorf("%+v, %v", a, err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(nccl("all_reduce_perf", 2, 1, all, []float64{1, 2, 3}))
	f.Add([]byte("#  size busbw\n1 2 3 4 5 6\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ReadLog(data)
		if err == nil {
			_ = l.check("allreduce", max(2, l.Ranks))
		}
	})
}
