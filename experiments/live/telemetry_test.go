//go:build linux

package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// bringUpFrom brings a fabric up from a scenario.
func bringUpFrom(t testing.TB, yaml, controller string, o Options) *Fabric {
	t.Helper()
	testenv.NeedRoot(t)
	o.Reread = func(sets []string) (*scenario.Scenario, error) {
		return scenario.Reading{Live: true, Sets: sets}.Parse("lab.yaml", []byte(yaml))
	}
	s, err := o.Reread(nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := NewSetup(s, controller)
	if err != nil {
		t.Fatal(err)
	}
	o.Seed = 1
	f, err := BringUp(made, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// timeout limits how long tests wait for something certain, on a machine that is busy with other work. It only prevents
// hanging.
const timeout = testenv.Hung

// until waits for something that must come.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, f *Fabric) *Snapshot {
	t.Helper()
	s, err := f.Snapshot()
	must(t, err)
	return s
}

// compareCounters compares the counters of a fabric with a snapshot of the same time.
func compareCounters(t testing.TB, f *Fabric) {
	t.Helper()
	s := snapshot(t, f)
	c, err := f.Counters()
	must(t, err)
	for i := range s.Ports {
		want := &s.Ports[i]
		p := c.Node(want.Node).Ports[f.Plan.Ports[i].Number-1]
		var pauses, sent uint64
		for k := range p.Class {
			pauses, sent = pauses+p.Class[k].RxPause, sent+p.Class[k].TxPause
		}
		for k := range want.Classes {
			if class := &want.Classes[k]; int64(p.Class[class.Priority].RxPauseNS) < class.PausedNS {
				t.Errorf("%s: priority %d paused for %d ns, in the earlier snapshot %d", want.Port, class.Priority,
					p.Class[class.Priority].RxPauseNS, class.PausedNS)
			}
		}
		if p.Name != want.Port || pauses < want.PausesReceived || sent < want.PausesSent || p.ECNMarks < want.ECNMarks {
			t.Errorf("%s: got %+v, want at least the snapshot's %+v", want.Port, p, want)
		}
	}
}

func portOf(t testing.TB, s *Snapshot, node, peer string) *PortSnapshot {
	t.Helper()
	for i := range s.Ports {
		if p := &s.Ports[i]; p.Node == node && p.Peer == peer {
			return p
		}
	}
	t.Fatalf("no port of %s to %s", node, peer)
	return nil
}

// data returns the class of a port that data uses by default.
func data(p *PortSnapshot) *ClassSnapshot {
	for i := range p.Classes {
		if p.Classes[i].Priority == 3 {
			return &p.Classes[i]
		}
	}
	return &ClassSnapshot{}
}

// fourEnd runs an incast of four flows to its end, and then starts a fifth flow that does not end.
func fourEnd(t testing.TB, f *Fabric) {
	t.Helper()
	requests, err := f.Incast(4, "h0", 256_000, "")
	must(t, err)
	ended := make(chan FlowResult, 4)
	must(t, f.StartFlows(requests, func(r FlowResult) { ended <- r }))
	must(t, f.StartFlows([]FlowRequest{{From: "h1", To: "h2", Size: 1 << 40}}, func(FlowResult) {}))
	for range 4 {
		<-ended
	}
}

// TestMetrics checks that the metrics are valid for Prometheus, and equal the engine's counters.
func TestMetrics(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\n", "dcqcn", Options{Slowdown: 200, Metrics: "127.0.0.1:0"})
	defer down(t, f)
	fourEnd(t, f)
	response, err := http.Get("http://" + f.MetricsAddress() + "/metrics")
	must(t, err)
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	problems, err := promlint.New(bytes.NewReader(body)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var marked, cnps uint64
	must(t, f.Do(func(e *engine.Engine) error {
		marked, cnps = e.State().Ports[f.Plan.PortsBetween(f.Plan.NodeByName("leaf0").ID,
			f.Plan.NodeByName("h0").ID)[0]].EcnMarked, uint64(e.NIC(0).CNPsSent)
		return nil
	}))
	if marked == 0 || cnps == 0 {
		t.Errorf("an incast of 4 had %d marks and %d CNPs", marked, cnps)
	}
	lines := strings.Split(string(body), "\n")
	seen := map[string]bool{}
	for _, l := range lines[:len(lines)-1] {
		if key := l[:strings.LastIndexByte(l, ' ')]; l[0] != '#' && seen[key] {
			t.Errorf("two samples of %s", key)
		} else {
			seen[key] = true
		}
	}
	for _, want := range []string{
		`pausenet_ecn_marks_total{fabric="",node="leaf0",port="leaf0-eth1",priority="3"} ` + number(marked),
		`pausenet_cnps_sent_total{fabric="",node="h0"} ` + number(cnps),
		`pausenet_open_flows{fabric=""} 1`,
		`pausenet_ended_flows_total{fabric=""} 4`,
		`pausenet_ended_flows_bytes_total{fabric=""} 1.024e+06`,
		`pausenet_flow_slowdown_ratio_count{fabric=""} 4`,
		`pausenet_slowdown_ratio{fabric=""} 200`,
		`pausenet_link_up{fabric="",node="leaf0",port="leaf0-eth1"} 1`,
		`pausenet_deadlock{fabric=""} 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	for _, begin := range []string{
		`pausenet_flow_rate_bytes_per_second{destination="h2",fabric="",flow="4",source="h1"} `,
		`pausenet_queue_bytes{fabric="",node="leaf0",port="leaf0-eth3",priority="3"} `,
		`pausenet_event_lateness_seconds{fabric="",quantile="0.99"} `,
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, begin) }) {
			t.Errorf("no line begins with %s:\n%s", begin, body)
		}
	}
	t.Logf("%d lines; the engine stood still for %d ns", len(lines), snapshot(t, f).TookNS)
}

// TestCountsOfPriorities checks that marks, CNMs and drops are counted by the priority of their frames, and add up to
// the counters of the pipelines and the traffic managers by port.
func TestCountsOfPriorities(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\n", "dcon", Options{Slowdown: 200})
	defer down(t, f)
	set(t, f, "leaf1.lossy_limit=500B")
	// Of what h0 sends to h5, leaf1 drops all that is lossy and longer.
	for tos, count := range map[string]string{"0x40": "3", "0xa0": "2"} {
		// no answer comes
		_ = f.Run("h0", exec.Command("ping", "-q", "-c", count, "-i", "0.01", "-W", "1", "-s", "900", "-Q", tos, "h5"))
	}
	requests, err := f.Incast(7, "h0", 1_000_000, "")
	must(t, err)
	ended := make(chan FlowResult, 7)
	must(t, f.StartFlows(requests, func(r FlowResult) { ended <- r }))
	must(t, f.StartFlows([]FlowRequest{{From: "h6", To: "h7", Size: 1 << 40}}, func(FlowResult) {}))
	for range 7 {
		<-ended
	}
	must(t, inject(f, "link h7 leaf1 loss=100%"))
	until(t, "ACKs are lost", func() bool { return len(portOf(t, snapshot(t, f), "h7", "leaf1").Drops) > 0 })
	s := snapshot(t, f)
	for i := range s.Ports {
		p := &s.Ports[i]
		var ce, ue, cnms uint64
		for _, c := range p.Classes {
			ce, ue, cnms = ce+c.ECNMarks, ue+c.UEMarks, cnms+c.CNMs
			if c.Priority != 3 && c.ECNMarks+c.CNMs > 0 {
				t.Errorf("%s: of priority %d: %+v", p.Port, c.Priority, c)
			}
		}
		if ce != p.ECNMarks || ue != p.UEMarks || cnms != p.CNMs {
			t.Errorf("%s has %d, %d marks and %d CNMs, its priorities %d, %d and %d", p.Port, p.ECNMarks, p.UEMarks, p.CNMs, ce,
				ue, cnms)
		}
	}
	if p := portOf(t, s, "leaf0", "h0"); data(p).ECNMarks == 0 || data(p).CNMs == 0 {
		t.Errorf("an incast of 7 had %+v", data(p))
	}
	if got, want := portOf(t, s, "leaf1", "h5").Drops, []PortDrop{
		{"lossy_queue", 2, 3},
		{"lossy_queue", 5, 2},
	}; !slices.Equal(got, want) {
		t.Errorf("dropped on the way to h5: %+v, want %+v", got, want)
	}
	lost := portOf(t, s, "h7", "leaf1").Drops
	if len(lost) != 1 || lost[0].Cause != "wire" || lost[0].Priority != uint8(f.Made.Scenario.Host.ControlPriority) {
		t.Errorf("lost from h7: %+v", lost)
	}
	compareCounters(t, f)
	// Sums over priorities in the snapshot, and the engine's counts by port.
	var totals, classes int64
	must(t, f.Do(func(e *engine.Engine) error {
		for i := range f.Plan.Ports {
			for _, d := range portDrops(e, i, &f.Plan.Nodes[f.Plan.Ports[i].Node]) {
				totals += d.Frames
			}
			for _, d := range classDrops(e, i) {
				classes += d.Frames
			}
		}
		return nil
	}))
	if totals != classes {
		t.Errorf("%d frames dropped, %d of all priorities", totals, classes)
	}
}

// TestMarksAtEnqueue checks that a mark made when a packet joins a queue is counted for the packet's priority, at once.
func TestMarksAtEnqueue(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\nswitch: {ecn: {mode: step, kmax: 5KB}, lossy_limit: 1MB}\n", "dctcp",
		Options{Slowdown: 200})
	defer down(t, f)
	requests, err := f.Incast(4, "h0", 1<<40, "")
	must(t, err)
	must(t, f.StartFlows(requests, func(FlowResult) {}))
	until(t, "packets are marked", func() bool { return data(portOf(t, snapshot(t, f), "leaf0", "h0")).ECNMarks > 100 })
	for range 20 { // frames of another priority leave the queue between those marked
		_ = f.Run("h1", exec.Command("ping", "-q", "-c", "5", "-i", "0.002", "-W", "1", "-Q", "0xa0", "h0"))
		p := portOf(t, snapshot(t, f), "leaf0", "h0")
		var marks uint64
		for _, c := range p.Classes {
			if marks += c.ECNMarks; c.Priority != 3 && c.ECNMarks > 0 {
				t.Fatalf("%d marks of priority %d", c.ECNMarks, c.Priority)
			}
		}
		if marks != p.ECNMarks {
			t.Fatalf("%d marks, of all priorities %d", p.ECNMarks, marks)
		}
	}
}

func number(n uint64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// closing adds Close to a buffer.
type closing struct{ *bytes.Buffer }

func (closing) Close() error { return nil }

// TestEventsOfLaterFlows checks that a flow of a scenario that starts later than others has its event at its start,
// which is its FCT before its end.
func TestEventsOfLaterFlows(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	f := bringUpFrom(t, `
topology: small
flows:
  - {from: h0, to: h5, size: 20KB}
  - {from: h1, to: h6, size: 20KB, start: 500us}
`, "none", Options{Slowdown: 200, Events: func() (io.WriteCloser, error) { return closing{&file}, nil }})
	requests, err := f.ScenarioFlows("")
	must(t, err)
	ended := make(chan FlowResult, 2)
	must(t, f.StartFlows(requests, func(r FlowResult) { ended <- r }))
	for range 2 {
		<-ended
	}
	down(t, f)
	started := map[int]int64{}
	for lines := bufio.NewScanner(&file); lines.Scan(); {
		var e Event
		must(t, json.Unmarshal(lines.Bytes(), &e))
		switch e.Kind {
		case EventFlowStart:
			started[*e.Flow] = e.TimeNS
		case EventFlowEnd:
			// rounded to ns
			if start, known := started[*e.Flow]; !known || e.TimeNS-start < e.FCTNS-1 || e.TimeNS-start > e.FCTNS+1 {
				t.Errorf("flow %d started at %d and ended at %d ns, with an FCT of %d", *e.Flow, start, e.TimeNS, e.FCTNS)
			}
		}
	}
	if len(started) != 2 {
		t.Errorf("%d flows started, of 2", len(started))
	}
}

// TestEventsPipe checks that a full pipe without a reader does not prevent a fabric's end.
func TestEventsPipe(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	f := bringUpFrom(t, "topology: small\n", "none", Options{
		Slowdown: 200,
		Events:   func() (io.WriteCloser, error) { return write, nil },
	})
	raw, err := write.SyscallConn()
	must(t, err)
	var size int
	must(t, raw.Control(func(fd uintptr) { size, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0) }))
	must(t, err)
	_, err = write.Write(make([]byte, size))
	must(t, err)
	if _, err := f.Close(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the events were written: %v", err)
	}
}

// TestEventsFile checks that events are written from time 0 on, a line of JSON each, in order of time, with the verdict
// last.
func TestEventsFile(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	f := bringUpFrom(t, "topology: small\n", "none", Options{
		Slowdown: 200,
		Events:   func() (io.WriteCloser, error) { return closing{&file}, nil },
	})
	ended := make(chan FlowResult, 4)
	requests, err := f.Incast(4, "h0", 512_000, "")
	must(t, err)
	must(t, f.StartFlows(requests, func(r FlowResult) { ended <- r }))
	fct := map[string]int64{}
	for range 4 {
		r := <-ended
		fct[r.From] = r.FCT.Nanoseconds()
	}
	must(t, inject(f, "link leaf0 spine0 down reroute=never"))
	must(t, f.StartFlows([]FlowRequest{
		{From: "h1", To: "h5", Size: 100_000},
		{From: "h1", To: "h6", Size: 100_000},
		{From: "h1", To: "h7", Size: 100_000},
	}, func(FlowResult) {}))
	until(t, "frames are lost at the link", func() bool { return len(portOf(t, snapshot(t, f), "leaf0", "spine0").Drops) > 0 })
	var pauses uint64
	for _, p := range snapshot(t, f).Ports {
		pauses += p.PausesSent
	}
	down(t, f)
	count := map[string]int{}
	dropped, last := int64(0), Event{}
	lines := bufio.NewScanner(&file)
	for lines.Scan() {
		var e Event
		must(t, json.Unmarshal(lines.Bytes(), &e))
		if e.TimeNS < last.TimeNS {
			t.Errorf("%+v comes after %+v", e, last)
		}
		count[e.Kind]++
		switch e.Kind {
		case EventFlowEnd:
			if e.Peer == "h0" && e.FCTNS != fct[e.Node] {
				t.Errorf("%s's FCT is %d, was %d", e.Node, e.FCTNS, fct[e.Node])
			}
		case EventDrops:
			dropped += e.Count
		case EventPause:
			if e.Priority == nil || *e.Priority != 3 || e.Port == "" || e.Peer == "" {
				t.Errorf("a PAUSE is reported as %s", lines.Text())
			}
		}
		last = e
	}
	if count[EventFlowStart] != 7 || count[EventFlowEnd] < 4 || count[EventPause] == 0 ||
		count[EventPause] < int(pauses) || count[engine.EventLinkDown] != 1 {
		t.Errorf("%v, %d PAUSEs were sent", count, pauses)
	}
	if dropped == 0 || last.Kind != EventVerdict || last.Verdict == nil || len(last.Verdict.Status) == 0 {
		t.Errorf("%d frames dropped, the last event is %+v", dropped, last)
	}
}

// TestStorm checks that two commands create a storm, that it is reported, and that it ends as documented: by its own
// end, or by a watchdog that is switched on.
func TestStorm(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\n", "none", Options{Slowdown: 200})
	defer down(t, f)
	troubles, err := f.Troubles()
	must(t, err)
	defer troubles.Close()
	requests, err := f.Incast(4, "h7", 20_000_000, "")
	must(t, err)
	must(t, f.StartFlows(requests, func(FlowResult) {}))
	must(t, inject(f, "host h7 pfc-storm on"))
	until(t, "the storm has paused a queue two switches away", func() bool {
		p := portOf(t, snapshot(t, f), "spine0", "leaf1")
		return p.PausesReceived > 0 && p.Classes[0].Paused && p.Classes[0].PausedNS > 300_000
	})
	s := snapshot(t, f)
	if h := portOf(t, s, "h7", "leaf1"); data(h).PausesSent == 0 || data(h).PausesSent != h.PausesSent {
		t.Errorf("the storm is of priority 3: %+v", h)
	}
	for i := range s.Ports {
		var sent, received uint64
		for _, c := range s.Ports[i].Classes {
			sent, received = sent+c.PausesSent, received+c.PausesReceived
		}
		if p := &s.Ports[i]; sent != p.PausesSent || received != p.PausesReceived {
			t.Errorf("%s: %d PAUSEs sent, %d received, by priority %d and %d", p.Port, p.PausesSent, p.PausesReceived, sent,
				received)
		}
	}
	out := &exposition{samples: map[*metric]*bytes.Buffer{}}
	s.metrics(out)
	for _, m := range []*metric{metricPausesTx, metricPausesRx, metricPausedS} {
		if n := bytes.Count(out.samples[m].Bytes(), []byte("\n")); n < len(s.Ports) {
			t.Errorf("%s has %d values", m.name, n)
		}
	}
	set(t, f, "switch.pfc.watchdog={detect: 200us, restore: 500us}")
	if e := <-troubles.C; e.Kind != engine.EventStorm {
		t.Errorf("got %+v, want a storm", e)
	}
	until(t, "the queue to h7 is in a storm, the spine's no longer paused", func() bool {
		s := snapshot(t, f)
		return portOf(t, s, "leaf1", "h7").Classes[0].Storm && !portOf(t, s, "spine0", "leaf1").Classes[0].Paused
	})
	must(t, inject(f, "host h7 pfc-storm off"))
	until(t, "the storm is over", func() bool { return !portOf(t, snapshot(t, f), "leaf1", "h7").Classes[0].Storm })
	set(t, f, "switch.pfc.watchdog=off")
}

// TestStalls checks that under credits the paused time of a queue is the time for which frames waited for credits.
func TestStalls(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\nswitch: {flow_control: cbfc, cbfc: {period: 40us, buffer: 64KB}}\n", "none",
		Options{Slowdown: 200})
	defer down(t, f)
	before := snapshot(t, f)
	requests, err := f.Incast(4, "h7", 20_000_000, "")
	must(t, err)
	must(t, f.StartFlows(requests, func(FlowResult) {}))
	until(t, "queues have been stopped at a switch and at a host", func() bool {
		s := snapshot(t, f)
		return data(portOf(t, s, "leaf0", "spine0")).PausedNS > 300_000 &&
			data(portOf(t, s, "h0", "leaf0")).PausedNS > 300_000
	})
	s := snapshot(t, f)
	if p := portOf(t, s, "leaf1", "h7"); data(p).PausedNS != 0 || p.PausesSent+p.PausesReceived != 0 {
		t.Errorf("the last port waits for no credits: %+v", p)
	}
	shares := 0
	for _, p := range NewTop(before, s).ports {
		if p.pausedShare > 0 {
			shares++
		}
	}
	if shares < 2 {
		t.Errorf("%d ports have a share of the time", shares)
	}
}

// TestDeadlock starts the scenario's flows late, by one command. Its links fail 100 us later, PAUSE closes a cycle, and
// the cycle is named. Taking a link of the cycle down ends it. Depending on the time, the remaining routes may close
// another cycle; then that one is named.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	source, err := scenario.BuiltinSource("deadlock")
	must(t, err)
	f := bringUpFrom(t, string(source), "none", Options{Slowdown: 500})
	again := false
	defer func() {
		if !again {
			down(t, f)
		} else if v, err := f.Close(); err != nil || v.Status != measure.Fail {
			t.Errorf("%+v, %v", v, err)
		}
	}()
	troubles, err := f.Troubles()
	must(t, err)
	defer troubles.Close()
	requests, err := f.ScenarioFlows("")
	must(t, err)
	for now := vtime.Time(0); now < 300*vtime.Microsecond; time.Sleep(10 * time.Millisecond) {
		must(t, f.Do(func(e *engine.Engine) error { now = e.Now(); return nil }))
	}
	ended := make(chan FlowResult, len(requests))
	must(t, f.StartFlows(requests, func(r FlowResult) { ended <- r }))
	e := <-troubles.C
	for _, name := range []string{
		"leaf2-eth5 (to spine0)", "spine0-eth4 (to leaf3)", "leaf3-eth6 (to spine1)",
		"spine1-eth3 (to leaf2)",
	} {
		if e.Kind != engine.EventDeadlock || !strings.Contains(e.Detail, name) {
			t.Errorf("%s does not name %s", e.Detail, name)
		}
	}
	most := len(requests) - len(ended) // a flow may still end between the deadlock and the snapshot
	s := snapshot(t, f)
	if least := len(requests) - len(ended); !strings.HasSuffix(e.Detail, s.Deadlock) || s.Deadlock == "" ||
		s.OpenFlows < least || s.OpenFlows > most {
		t.Errorf("%q, %d flows open, want %d to %d", s.Deadlock, s.OpenFlows, least, most)
	}
	must(t, inject(f, "link leaf2 spine0 down"))
	if e := <-troubles.C; e.Kind != engine.EventDeadlockEnd {
		t.Errorf("got %+v, want the deadlock's end", e)
	}
	for open := len(requests); open > 0 && !again; {
		select {
		case <-ended:
			open--
		case e := <-troubles.C:
			again = e.Kind == engine.EventDeadlock
		}
	}
	if _, err := f.ScenarioFlows("nothing"); err == nil || !strings.Contains(err.Error(), "bouncing, straight") {
		t.Errorf("flows of no tag: %v", err)
	}
}

// set changes a setting.
func set(t testing.TB, f *Fabric, setting string) {
	t.Helper()
	_, err := f.Set(setting)
	must(t, err)
}
