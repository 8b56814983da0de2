package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

const pausingFabric = `
topology: {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}}
controllers: [none]
duration: 2ms
drain: true
`

// runText runs scenario text, and returns its manifest, its points and its folder.
func runText(t *testing.T, text string) (*rundir.Manifest, *Result, string) {
	t.Helper()
	testenv.WholeScenario(t)
	s, err := scenario.Parse("t.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := Run(context.Background(), s, Options{
		Controller: s.Controllers[0], Plane: wasmplane.Open, Seed: 1,
		Directory: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := new(rundir.Manifest)
	if err := rundir.ReadJSON(filepath.Join(dir, rundir.ManifestFile), m); err != nil {
		t.Fatal(err)
	}
	return m, r, dir
}

// outline returns a line for each panel: "title: series; series".
func outline(panels []scenario.PanelView) (all []string) {
	for i := range panels {
		var labels []string
		for _, s := range panels[i].Series {
			labels = append(labels, s.Label)
		}
		all = append(all, panels[i].Title+": "+strings.Join(labels, "; "))
	}
	return all
}

func TestDefaultPanels(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an incast": {pausingFabric + `
flows:
  - {tag: incast, from: h1..h3, to: h4, size: 2MB}
  - {tag: victim, from: h0, to: h5, size: 1MB}
`, []string{
			"Goodput by tag: incast; victim", "Longest queues: leaf0 to spine0; spine0 to leaf1; leaf1 to h4",
			"Ingress against XOFF: leaf1 from spine0; spine0 from leaf0; leaf0 from h1; leaf0 from h2",
			"PAUSE frames: all ports; leaf1 to spine0; spine0 to leaf0; leaf0 to h1; leaf0 to h2",
		}},
		"two priorities": {pausingFabric + `
flows:
  - {tag: bulk, from: h1..h3, to: h4, size: 500KB}
  - {tag: bulk, from: [h0, h5], to: h4, size: 300KB, priority: 4}
`, []string{
			"Goodput by tag: bulk, priority 3; bulk, priority 4",
			"Longest queues: leaf1 to h4, priority 3; spine0 to leaf1, priority 3; leaf1 to h4, priority 4",
		}},
		"lossy": {pausingFabric + `
switch: {pfc: {priorities: []}}
flows: [{from: h0, to: h4, size: 100KB}]
`, []string{"Goodput by tag: flow", "Longest queues: leaf1 to h4"}},
		"credits": {pausingFabric + `
switch: {flow_control: cbfc}
flows: [{tag: incast, from: h1..h2, to: h4, size: 200KB}]
`, []string{"Goodput by tag: incast", "Longest queues: leaf1 to h4", "Ingress against the credits' buffer: leaf1 from spine0"}},
		"collectives": {pausingFabric + `
workloads: [{tag: train, job: {iterations: 3, steps: [{compute: 20us}, {collective: {kind: allreduce, algorithm: ring, size: 80KB}}]}}]
`, []string{"Goodput by tag: train", "Collective operations: train: allreduce"}},
		"parallel links": {`
topology:
  nodes: [{name: [a, b], kind: switch}, {name: [x, y, z], kind: host}]
  links: [{from: [x, y], to: a}, {from: a, to: b, count: 2}, {from: b, to: z}]
  rate: 40Gbps
  delay: 1us
controllers: [none]
flows: [{from: [x, y], to: z, size: 100KB}]
duration: 1ms
`, []string{"Longest queues: a to b (a-eth3)"}},
		"none": {pausingFabric + "report: []\nflows: [{from: h0, to: h4, size: 100KB}]\n", nil},
		"one priority of the file's": {pausingFabric + `
report:
  - title: Mine
    series: [{queue: "leaf1:h4", priority: 3}, {queue: "leaf1:h4", priority: 4}, {pause: all}, {goodput: bulk, priority: 4}]
flows: [{tag: bulk, from: h1..h3, to: h4, size: 500KB}, {tag: bulk, from: [h0, h5], to: h4, size: 300KB, priority: 4}]
`, []string{"Mine: queue leaf1:h4; queue leaf1:h4; pause all; goodput bulk"}},
		"the file's": {pausingFabric + `
report: [{title: Mine, series: [{queue: "leaf1:h4"}]}]
flows: [{from: h0, to: h4, size: 100KB}]
`, []string{"Mine: queue leaf1:h4"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, r, dir := runText(t, c.text)
			got := outline(m.Configuration.Report)
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("got\n%s\nwant among them\n%s", strings.Join(got, "\n"), want)
				}
			}
			byDefault := !strings.Contains(c.text, "report:")
			if len(c.want) == 0 && len(got) > 0 || m.Configuration.ReportDefault != byDefault {
				t.Errorf("got panels %q, by default %t", got, m.Configuration.ReportDefault)
			}
			if byDefault || strings.HasPrefix(name, "one priority") {
				checkQueues(t, m, r, dir)
			}
		})
	}
}

// checkQueues compares the points of queues and ingress with ports.csv.
func checkQueues(t *testing.T, m *rundir.Manifest, r *Result, dir string) {
	t.Helper()
	type sample struct {
		port     string
		priority int64
		at       int64
	}
	queues, ingress := map[sample]float64{}, map[sample]float64{}
	err := rundir.Read(dir, rundir.Ports, func(row *rundir.PortRow) error {
		at := sample{row.Node + ":" + row.Peer, int64(row.Priority), row.Time}
		queues[at], ingress[at] = queues[at]+float64(row.Queue), ingress[at]+float64(row.Ingress)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, p := range m.Configuration.Report {
		for k, s := range p.Series {
			from := map[scenario.Quantity]map[sample]float64{
				scenario.QueueBytes:   queues,
				scenario.IngressBytes: ingress,
			}[s.Quantity]
			if from == nil || strings.Contains(s.Label, "(") {
				continue
			}
			priority := int64(3)
			if s.Priority != nil {
				priority = int64(*s.Priority)
			}
			for n, at := range r.Panels[i][k].Time {
				want, known := from[sample{s.Subject, priority, at}]
				if got := r.Panels[i][k].Value[n]; !known || got != want {
					t.Fatalf("%s, %s at %d ns: got %v, ports.csv has %v (%t)", p.Title, s.Label, at, got, want, known)
				}
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("nothing to compare")
	}
}

// TestDefaultPauses compares the rates of PAUSE frames and of goodput with the run's counts.
func TestDefaultPauses(t *testing.T) {
	m, r, _ := runText(t, pausingFabric+"flows: [{tag: incast, from: h1..h3, to: h4, size: 2MB}, {tag: victim, from: h0, to: h5, "+
		"size: 1MB}]\n")
	sum := func(panel, series int) (total float64) {
		window := m.Configuration.Report[panel].Window / 1e9
		for _, v := range r.Panels[panel][series].Value {
			total += v * window
		}
		return total
	}
	at := func(title string) int {
		return slices.IndexFunc(m.Configuration.Report, func(p scenario.PanelView) bool { return p.Title == title })
	}
	if got, want := sum(at("PAUSE frames"), 0), float64(r.Summary.PFC.Pauses); want == 0 || got > want || got < 0.95*want {
		t.Errorf("got %v PAUSE frames, the run counted %v", got, want)
	}
	if got := sum(at("Goodput by tag"), 0) / 8; got > 6e6 || got < 0.95*6e6 {
		t.Errorf("incast delivered %v bytes, want nearly 6 MB", got)
	}
	if got := sum(at("Goodput by tag"), 1) / 8; got != 1e6 {
		t.Errorf("victim delivered %v bytes, want 1 MB", got)
	}
}

func TestTimelineOfOverlappingCollectives(t *testing.T) {
	row := func(tag string, start, time int64) collectiveRun {
		r := collectiveRun{tag: tag}
		r.Kind, r.Ended = "allreduce", true
		r.Start, r.Time = 1000*vtime.Time(start), 1000*vtime.Time(time)
		return r
	}
	o := &overview{}
	rows := []collectiveRun{row("a", 10, 10), row("a", 15, 10), row("b", 0, 5), row("a", 20, 5), {tag: "a"}}
	var got []string
	c := o.timeline(rows)
	for k := range c.Series {
		got = append(got, fmt.Sprint(c.Series[k].Label, c.points[k].Time, c.points[k].Value))
	}
	want := []string{
		"a: allreduce[0 10 20 20 25] [0 1 0 4 0]", "a: allreduce[0 15 25] [0 2 0]",
		"b: allreduce[0 0 5] [0 3 0]",
	}
	for i := range got {
		got[i] = strings.Replace(got[i], "][", "] [", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestForgetfulOverview checks that with long histories, the shortest queues lose their past, and that a queue that
// grows later has the rest.
func TestForgetfulOverview(t *testing.T) {
	o := &overview{queues: make([]history[uint32], 4), ingress: make([]history[uint32], 4)}
	for sample := range 10 {
		o.samples = sample
		for i := range o.queues {
			if o.queues[i].note(sample, uint32(1+100*i+sample)) {
				o.entries++
			}
		}
	}
	o.samples = 10
	o.forget()
	if o.entries != 2*10+2 {
		t.Errorf("%d entries left, want those of two queues and the last of each other", o.entries)
	}
	o.queues[0].note(10, 9999)
	if h := &o.queues[0]; h.from != 10 || h.peak != 9999 || len(h.changes) != 2 {
		t.Errorf("the shortest queue is %+v", *h)
	}
	if h := &o.queues[3]; h.from != 0 || len(h.changes) != 10 {
		t.Errorf("the longest queue is %+v", *h)
	}
}
