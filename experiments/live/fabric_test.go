//go:build linux

package live

import (
	"bytes"
	"flag"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// TestMain runs tests in parallel, most of which wait for programs, except those that count the files of this process,
// change its environment or take few milliseconds for an answer.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	goleak.VerifyTestMain(m)
}

// bringUp brings the small leaf-spine up.
func bringUp(t testing.TB, name string, sets ...string) *Fabric {
	t.Helper()
	return bringUpAs(t, Options{Name: name}, sets...)
}

// onPlanes runs a test where the switches are the kernel's, and where they are this process'.
func onPlanes(t *testing.T, test func(t *testing.T, plane string)) {
	for _, planeName := range []string{plane.Kernel, plane.Wasm} {
		t.Run(planeName, func(t *testing.T) {
			t.Parallel()
			test(t, planeName)
		})
	}
}

// bringUpAs brings it up by some options.
func bringUpAs(t testing.TB, o Options, sets ...string) *Fabric {
	t.Helper()
	f, err := bringUpFile(t, o, "", "topology: small\n", sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// bringUpFile writes a scenario's text to a file, and brings its fabric up.
func bringUpFile(t testing.TB, o Options, file, text string, sets ...string) (*Fabric, error) {
	t.Helper()
	testenv.NeedRoot(t)
	reread := func(more []string) (*scenario.Scenario, error) {
		return scenario.Reading{Live: true, Sets: append(sets[:len(sets):len(sets)], more...)}.Parse(file, []byte(text))
	}
	s, err := reread(nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := NewSetup(s, "")
	if err != nil {
		t.Fatal(err)
	}
	o.Slowdown, o.Seed, o.Reread = 500, 1, reread
	return BringUp(made, o)
}

// down ends a fabric and checks its invariants. It does not check whether the machine followed the clock.
func down(t testing.TB, f *Fabric) {
	t.Helper()
	v, err := f.Close()
	if err != nil {
		t.Fatal(err)
	}
	var clock Verdict
	clock.judgeClock(f.live.Status(), shortestRTT(f.Plan), 0)
	if len(v.Reasons) > len(clock.Reasons) {
		t.Errorf("%+v", v)
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestCycles brings a fabric up and down again and again. Descriptors hold its namespaces, maps and programs: none may
// be left, and no memory.
func TestCycles(t *testing.T) {
	cycles := 4
	if s := os.Getenv("PAUSENET_CYCLES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		cycles = n
	}
	cycle := func() {
		f := bringUp(t, "test-cycles")
		ended := make(chan FlowResult, 1)
		if err := f.StartFlows([]FlowRequest{{From: "h0", To: "h5", Size: 10000}},
			func(r FlowResult) { ended <- r }); err != nil {
			t.Fatal(err)
		}
		if r := <-ended; r.Slowdown() < 1 || r.Slowdown() > 1.1 {
			t.Errorf("a flow alone has a slowdown of %v", r.Slowdown())
		}
		down(t, f)
	}
	cycle() // what is opened once and kept
	files := openFiles(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range cycles {
		cycle()
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open after %d cycles, %d before", n, cycles, files)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d cycles: descriptors %d, then %d; heap %d bytes, then %d", cycles, files, openFiles(t), before.HeapAlloc,
		after.HeapAlloc)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes in %d cycles", grown, cycles)
	}
}

// TestSet changes a switch while it works, and checks that impossible changes are refused.
func TestSet(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "switch.pfc.priorities=[3,4]")
	defer down(t, f)
	if _, err := f.Set("leaf1.pfc.xoff=160KB"); err != nil {
		t.Fatal(err)
	}
	err := f.Do(func(e *engine.Engine) error {
		own, other := &e.State().Switches[1], &e.State().Switches[0]
		if k := own.Profiles[0]; k.Xoff != 160_000 || k.Xon != 158_000 || own.Lossless != 1<<3|1<<4 ||
			other.Profiles[0].Xoff == k.Xoff {
			t.Errorf("leaf1: %+v, lossless %#x; leaf0: %+v", k, own.Lossless, other.Profiles[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"leaf1.pfc.priorities=[2]", "leaf1.pfc.xof=1KB", "leaf9.pfc.xoff=1KB", "h0.pfc.xoff=1KB",
		"leaf1", "leaf1.buffer=1MB",
	} {
		if _, err := f.Set(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	for misplaced, want := range map[string]string{
		"xoff=1KB":       `unknown key "xoff": did you mean "switch.pfc.xoff"?`,
		"pfc.xoff=1KB":   `unknown key "pfc.xoff": did you mean "switch.pfc.xoff"?`,
		"leaf9.xoff=1KB": `no node "leaf9"`,
		"xof=1.5KB":      "expected NODE.SETTING=VALUE",
	} {
		if _, err := f.Set(misplaced); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", misplaced, err, want)
		}
	}
}

// TestPing pings every host from the first.
func TestPing(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	from := &f.Plan.Nodes[f.Plan.Hosts[0]]
	var others []*topologies.Node
	for _, id := range f.Plan.Hosts[1:] {
		others = append(others, &f.Plan.Nodes[id])
	}
	took, err := f.Ping(from, others, 1e10, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range took {
		if d < 4*vtime.Microsecond { // 4us: there and back over two links of 1us
			t.Errorf("%s answered after %v", others[i].Name, d)
		}
	}
}

// TestPingOfOneThatStandsStill checks that a fabric that stops for longer than ping's timeout still answers it.
func TestPingOfOneThatStandsStill(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	stands := make(chan struct{})
	go func() {
		_ = f.Do(func(*engine.Engine) error {
			close(stands)
			time.Sleep(500 * time.Millisecond)
			return nil
		})
	}()
	<-stands
	took, err := f.Ping(&f.Plan.Nodes[f.Plan.Hosts[0]], []*topologies.Node{&f.Plan.Nodes[f.Plan.Hosts[5]]},
		100*time.Millisecond, nil)
	if err != nil || took[0] == 0 {
		t.Errorf("it took %v: %v", took, err)
	}
}

// FuzzRequest sends lines to a fabric's socket handler: it answers or refuses, and lives.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"verb":"inspect"}`))
	f.Add([]byte(`{"verb":"node","node":"h1"}`))
	f.Add([]byte(`{"verb":"capture","node":"h1","port":"9"}`))
	f.Add([]byte(`{"verb":1}`))
	f.Add([]byte(`{"verb":"program","node":"h1","command":["true"],"environment":["A=1"],"folder":"/"}`))
	f.Add([]byte(`{"verb":"events","kinds":["fault","flow"]}`))
	f.Add([]byte(`{"verb":"line","line":"links"}`))
	f.Add([]byte(`{"verb":"complete","line":"set switch.pfc."}`))
	f.Add([]byte(`{"verb":"way","flow":-1}`))
	f.Add([]byte(`{"verb":"snapshot"}`))
	fabric := bringUp(f, "")
	f.Cleanup(func() { down(f, fabric) })
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.Contains(line, []byte("down")) {
			return
		}
		fabric.handle(line, false)
	})
}
