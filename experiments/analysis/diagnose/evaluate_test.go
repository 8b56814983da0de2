package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/topologies"
)

// visible reports whether a fault counts: the criterion of docs/diagnose.md, which was stated before the seeds from 3000
// on were drawn. A counter of the dumps must be outside of the range of the sound runs, by more than the floor of its
// group and a quarter of the range's nearer end. It returns the first such counter; empty: the right answer is that there
// is no fault. It shares no code with the distances by which diagnose ranks.
func visible(pairs []pair, sound []*counters.Fabric) string {
	for _, p := range pairs {
		host := p.node.Kind == topologies.Host
		for i, v := range p.given.Values(host) {
			if !v.Known {
				continue
			}
			low, high := math.Inf(1), 0.0
			for _, run := range sound {
				of := float64(run.Node(p.node.Name).Ports[p.index].Values(host)[i].Value)
				low, high = min(low, of), max(high, of)
			}
			_, floor := groupOf(v.Name)
			if is := float64(v.Value); is > high+floor+high/4 || is < low-floor-low/4 {
				return fmt.Sprintf("%s %s %.0f, sound %.0f to %.0f", p.given.Name, v.Name, is, low, high)
			}
		}
	}
	return ""
}

// TestVisible computes the criterion's edges by hand: the floor of PAUSE frames is 3.
func TestVisible(t *testing.T) {
	node := &topologies.Node{Name: "s0", Kind: topologies.Switch}
	run := func(pauses uint64) *counters.Fabric {
		p := &counters.Port{Name: "p"}
		p.Class[3].RxPause = pauses
		return &counters.Fabric{Nodes: []*counters.Node{{Name: "s0", Ports: []*counters.Port{p}}}}
	}
	for given, want := range map[uint64]bool{0: true, 11: true, 12: false, 20: false, 40: false, 53: false, 54: true} { // 20-5-3, 40+10+3
		is := visible([]pair{{run(given).Nodes[0].Ports[0], node, 0}}, []*counters.Fabric{run(40), run(20), run(30)})
		if (is != "") != want {
			t.Errorf("%d PAUSE frames: %q, want %v", given, is, want)
		}
	}
}

// evaluated lists the fabrics of random incidents: leaf-spines of two sizes, and a fat-tree.
var evaluated = []struct{ name, topology string }{
	{"leaf-spine 8", "leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}"},
	{"leaf-spine 16", "leafspine: {spines: 2, leaves: 4, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}"},
	{"fat-tree 16", "fattree: {k: 4, rate: 25Gbps}"},
}

// randomIncident draws the traffic, a kind, a place, and a value between the smallest and the largest that diagnose
// tries. The fabric and the kind of traffic follow from the seed.
func randomIncident(t *testing.T, seed uint64) (x *incident, name string) {
	r := rand.New(rand.NewPCG(seed, 0))
	of := evaluated[seed%3]
	x = &incident{fabric: strings.Replace(pod, "leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, "+
		"fabric_rate: 100Gbps}", of.topology, 1)}
	hosts := 16
	if seed%3 == 0 {
		hosts = 8
	}
	add := func(from, to int) {
		f := traffic{from: fmt.Sprintf("h%d", from), to: fmt.Sprintf("h%d", to)}
		if from != to && !slices.Contains(x.flows, f) {
			x.flows = append(x.flows, f)
		}
	}
	switch seed / 3 % 3 {
	case 0:
		name = "pairs"
		for len(x.flows) < hosts*3/4 {
			add(r.IntN(hosts), r.IntN(hosts))
		}
	case 1:
		name = "incast"
		for to := r.IntN(hosts); len(x.flows) < hosts/2; {
			add(r.IntN(hosts), to)
		}
		for n := len(x.flows) + 3; len(x.flows) < n; {
			add(r.IntN(hosts), r.IntN(hosts))
		}
	case 2:
		name, x.ring = "all-reduce", int64(64+r.IntN(192))<<10
	}
	slices.SortFunc(x.flows, func(a, b traffic) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	name = of.name + ", " + name
	x.kind = Healthy
	k := r.IntN(len(kinds) + 1)
	c := x.newCase(t, &Dumps{})
	if k == len(kinds) {
		return x, name
	}
	for len(kinds[k].places(c)) == 0 { // a collective has no sender of single flows
		k = (k + 1) % len(kinds)
	}
	places := kinds[k].places(c)
	low, high := slices.Min(kinds[k].values), slices.Max(kinds[k].values)
	x.kind, x.place = kinds[k].name, places[r.IntN(len(places))]
	if high > low {
		x.value = low * math.Pow(high/low, r.Float64())
	}
	return x, name
}

var numbers = regexp.MustCompile(`[ "]\d[\d,]*`)

// worsen makes dumps worse: each number 10 % more or less at random ("noise"), only `show pfc counters` of switches
// ("pfc"), or only the dumps of one switch ("switch"). Outputs of perftest and nccl-tests stay.
func worsen(files map[string][]byte, how string, r *rand.Rand) {
	names := make([]string, 0, len(files))
	for name := range files {
		if name != "fabric.yaml" && !strings.Contains(name, ".perftest.") && !strings.Contains(name, ".nccl.") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var switches []string
	for _, name := range names {
		if node, ok := strings.CutSuffix(name, ".pfc.txt"); ok {
			switches = append(switches, node)
		}
	}
	only := switches[r.IntN(len(switches))]
	for _, name := range names {
		switch {
		case how == "noise":
			files[name] = numbers.ReplaceAllFunc(files[name], func(text []byte) []byte {
				n, err := strconv.ParseFloat(strings.ReplaceAll(string(text[1:]), ",", ""), 64)
				if err != nil {
					return text
				}
				return fmt.Appendf(text[:1:1], "%.0f", n*(0.9+0.2*r.Float64()))
			})
		case how == "pfc" && !strings.HasSuffix(name, ".pfc.txt"), how == "switch" && !strings.HasPrefix(name, only+"."):
			delete(files, name)
		}
	}
}

// TestRandomIncidents diagnoses random incidents: -random=48 -seed=3000. -dumps makes their dumps worse. Where no
// counter tells (visible), the right answer is that there is no fault.
func TestRandomIncidents(t *testing.T) {
	kindsOf := map[string]map[string]int{}
	type score struct{ all, first, third, kind int }
	var seen, unseen score
	by := map[string]*score{}
	for n := range *random {
		seed := *firstSeed + *step*uint64(n)
		x, name := randomIncident(t, seed)
		files := x.files(t, seed)
		worsen(files, *worse, rand.New(rand.NewPCG(seed, 1)))
		d, rank := x.diagnosed(t, files)
		var dumps Dumps
		for name, data := range files {
			if name != "fabric.yaml" {
				if err := dumps.Read(name, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := x.newCase(t, &dumps)
		var sound []*counters.Fabric
		for i := range uint64(5) {
			r, err := c.run(t.Context(), &Fault{}, seed+10_000*i)
			if err != nil {
				t.Fatal(err)
			}
			sound = append(sound, r.fabric)
		}
		why := visible(c.pairs, sound)
		first := &d.Explanations[0]
		t.Logf("%d %s: %s %s %.3g: rank %d of %d runs; healthy %.3f, first: %s %s %.3f; %s", seed, name, x.kind, x.place, x.value, rank,
			d.Runs, d.Healthy, first.Kind, first.Place, first.Distance, cmp.Or(why, "no counter tells"))
		of, truth := &seen, string(x.kind)
		if why == "" {
			of, truth = &unseen, string(Healthy)
			rank = 1 + slices.IndexFunc(d.Explanations, func(e Explanation) bool { return e.Kind == Healthy })
		}
		if by[name] == nil {
			by[name] = &score{}
		}
		for _, s := range []*score{of, by[name]} {
			s.all++
			if rank == 1 {
				s.first++
			}
			if rank > 0 && rank <= 3 {
				s.third++
			}
			if string(first.Kind) == truth {
				s.kind++
			}
		}
		if kindsOf[truth] == nil {
			kindsOf[truth] = map[string]int{}
		}
		answer := string(first.Kind)
		if answer == truth && rank != 1 {
			answer += " elsewhere"
		}
		kindsOf[truth][answer]++
	}
	for name, s := range by {
		t.Logf("%s: %+v", name, *s)
	}
	for truth, answers := range kindsOf {
		t.Logf("%-16s %v", truth, answers)
	}
	t.Logf("visible: %+v; without: %+v", seen, unseen)
}
