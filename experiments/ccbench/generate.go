package ccbench

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/splitmix"
)

// Family describes a generator of scenarios. Its scenarios differ in a parameter, and in details drawn by the seed.
type Family struct {
	Name string
	// About describes the scenarios in one sentence.
	About string
	// Parameter names what its scenarios vary, and Values holds the values, in order.
	Parameter string
	Values    []string

	draw func(d *draft, value int)
}

// PerFamily holds the number of scenarios of a family.
const PerFamily = 5

// Families returns the generators, in the order of all tables.
func Families() []Family { return families }

var families = []Family{
	{
		"incast", "Hosts of four racks send to one host at once.", "senders",
		[]string{"4", "8", "16", "32", "63"},
		drawIncast,
	},
	{
		"mix", "Random short flows share links with flows of several megabytes.", "sizes",
		[]string{"two of each", "websearch", "fbhadoop", "datamining", "websearch, high load"},
		drawMix,
	},
	{
		"burst", "Bursts hit random hosts beside long flows.", "random dimension",
		[]string{"arrival", "size", "fan-in", "clustering", "all four"},
		drawBurst,
	},
	{
		"victim", "Flows share uplinks, but not their receiver, with an incast.", "senders",
		[]string{"4", "8", "12", "16", "24"},
		drawVictim,
	},
	{
		"collective", "One collective operation of ranks in several racks.", "algorithm",
		[]string{"ring", "tree", "halving-doubling", "hierarchical", "all-to-all"},
		drawCollective,
	},
	{
		"job", "Training jobs compute and communicate in turn.", "jobs",
		[]string{"one", "two", "straggler", "beside storage", "beside an incast"},
		drawJob,
	},
	{
		"longhaul", "Two sites share a long link, and each has traffic of its own.", "one-way delay",
		[]string{"10us", "30us", "60us", "120us", "200us"},
		drawLongHaul,
	},
	{
		"failure", "Something fails under load.", "fault",
		[]string{"link down", "flapping link", "slow link", "lossy link", "slow receiver"},
		drawFailure,
	},
	{
		"rivals", "Half of the flows have another congestion control.", "rival",
		[]string{"none", "swift", "timely", "hpcc", "pid"},
		drawRivals,
	},
	{
		"rate", "A mix of long flows and an incast at one line rate.", "line rate",
		[]string{"25Gbps", "50Gbps", "200Gbps", "400Gbps", "800Gbps"},
		drawRate,
	},
	{
		"path", "A permutation between racks over four spines.", "load balancing",
		[]string{"ECMP", "flowlets", "spraying", "adaptive", "entropy"},
		drawPath,
	},
	{
		"packet", "A mix of long flows and an incast with packets of one size.", "MTU",
		[]string{"256", "512", "2048", "4096", "9000"},
		drawPacket,
	},
}

// Draft holds a generated scenario.
type Draft struct {
	Name   string // family and number: incast-1
	Family string
	Value  string // of the family's parameter
	// Weight holds the scenario's share of the score; the weights of all scenarios add up to 1.
	Weight float64
	// Text holds the scenario as YAML.
	Text string
}

// Generate returns the scenarios of a seed, PerFamily of each family. Equal seeds give equal scenarios.
func Generate(seed uint64) []Draft {
	var all []Draft
	for i := range families {
		for k := range PerFamily {
			all = append(all, families[i].generate(seed, k))
		}
	}
	return all
}

func (f *Family) generate(seed uint64, value int) Draft {
	d := &draft{name: fmt.Sprintf("%s-%d", f.Name, value+1)}
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.name))
	d.Rand = rand.New(rand.NewPCG(splitmix.At(seed, 0), splitmix.At(seed, h.Sum64())))
	d.drain = "10ms"
	f.draw(d, value)
	return Draft{
		Name: d.name, Family: f.Name, Value: f.Values[value], Weight: 1 / float64(len(families)*PerFamily),
		Text: d.text(fmt.Sprintf("%s %s: %s", f.About, f.Parameter, f.Values[value])),
	}
}

// draft collects the parts of a scenario.
type draft struct {
	*rand.Rand
	name      string
	topology  string
	lines     []string // further keys
	flows     []string
	workloads []string
	duration  string
	drain     string // limit
}

func (d *draft) text(about string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\ndescription: %q\ntopology: %s\nduration: %s\ndrain: true\ndrain_limit: %s\n", d.name, about,
		d.topology, d.duration, d.drain)
	fmt.Fprintf(&b, "sample: {interval: %s, flows: none}\nreport: []\n", d.duration)
	for _, line := range d.lines {
		b.WriteString(line + "\n")
	}
	for _, list := range []struct {
		key   string
		items []string
	}{{"flows", d.flows}, {"workloads", d.workloads}} {
		if len(list.items) > 0 {
			b.WriteString(list.key + ":\n")
		}
		for _, item := range list.items {
			b.WriteString("  - {" + item + "}\n")
		}
	}
	return b.String()
}

func (d *draft) line(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *draft) flow(format string, args ...any) {
	d.flows = append(d.flows, fmt.Sprintf(format, args...))
}

func (d *draft) workload(format string, args ...any) {
	d.workloads = append(d.workloads, fmt.Sprintf(format, args...))
}

// leafSpine sets a topology of leaf and spine switches with links of 1 us and one rate.
func (d *draft) leafSpine(leaves, hosts, spines int, rate string, mtu int) {
	d.topology = fmt.Sprintf("{mtu: %d, delay: 1us, leafspine: {spines: %d, leaves: %d, hosts_per_leaf: %d, rate: %s}}",
		mtu,
		spines, leaves, hosts, rate)
}

// between draws a whole number, from low to high, evenly on a logarithmic scale.
func (d *draft) between(low, high int) int {
	return int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), d.Float64())))
}

// hosts draws n different hosts with numbers from low to below high, except one.
func (d *draft) hosts(n, low, high, except int) []int {
	var all []int
	for _, h := range d.Perm(high - low) {
		if h+low != except && len(all) < n {
			all = append(all, h+low)
		}
	}
	return all
}

// names returns hosts as a list in YAML.
func names(hosts []int) string {
	return "[" + strings.Join(lists.Map(hosts, func(h int) string { return fmt.Sprintf("h%d", h) }), ", ") + "]"
}

func drawIncast(d *draft, value int) {
	d.leafSpine(4, 16, 4, "100Gbps", 1000)
	senders := []int{4, 8, 16, 32, 63}[value]
	to := d.IntN(64)
	total := d.between(8000, 30000) // KB
	d.flow("tag: incast, from: %s, to: h%d, size: %dKB, jitter: %dus", names(d.hosts(senders, 0, 64, to)), to,
		max(total/senders, 8), d.between(1, 20))
	d.duration = "2ms"
}

func drawMix(d *draft, value int) {
	d.leafSpine(3, 8, 2, "100Gbps", 1000)
	d.duration = "2ms"
	to := d.hosts(2, 0, 8, -1)
	for _, host := range to {
		d.flow("tag: long, from: %s, to: h%d, size: %dKB, jitter: 20us", names(d.hosts(2, 8, 24, -1)), host,
			d.between(6000, 12000))
	}
	if value == 0 {
		for _, host := range to {
			d.flow("tag: short, from: %s, to: h%d, size: %dKB, start: 50us, count: %d, interval: %dus",
				names(d.hosts(2, 8, 24, -1)), host, d.between(2, 40), d.between(20, 40), d.between(15, 40))
		}
		return
	}
	sizes := []string{"websearch", "fbhadoop", "datamining", "websearch"}[value-1]
	load := []int{35, 35, 35, 60}[value-1] + d.IntN(10)
	d.workload("tag: random, poisson: {sizes: %s, load: %d%%, of: hosts, until: 400us}", sizes, load)
}

func drawBurst(d *draft, value int) {
	d.leafSpine(4, 8, 4, "100Gbps", 1000)
	d.duration = "1500us"
	random := func(dimension int) bool { return value == 4 || value == dimension }
	d.flow("tag: long, from: %s, to: h%d, size: %dKB", names(d.hosts(2, 8, 32, -1)), d.IntN(8), d.between(8000, 16000))
	at, last := 50.0, d.IntN(32)
	const bursts = 10
	for range bursts {
		degree, size := 10, 60
		if random(1) { // heavy-tailed: Pareto with shape 1.2, cut off
			size = min(int(15/math.Pow(1-d.Float64(), 1/1.2)), 600)
		}
		if random(2) {
			degree = d.between(2, 28)
		}
		to := d.IntN(32)
		if random(3) && d.IntN(3) > 0 { // clustered: often the host that the last burst hit, soon after it
			to = last
			at = max(at-70, 50)
		}
		d.flow("tag: burst, from: %s, to: h%d, size: %dKB, start: %.1fus", names(d.hosts(degree, 0, 32, to)), to, size, at)
		gap := 100.0
		if random(0) {
			gap = -100 * math.Log(1-d.Float64())
		}
		at, last = min(at+gap, 1400), to
	}
}

func drawVictim(d *draft, value int) {
	d.leafSpine(4, 8, 1, "100Gbps", 1000)
	d.duration = "2ms"
	senders := []int{4, 8, 12, 16, 24}[value]
	from := d.hosts(senders, 8, 32, -1)
	d.flow("tag: incast, from: %s, to: h0, size: %dKB, jitter: 5us", names(from), max(d.between(10000, 24000)/senders, 50))
	d.flow("tag: victim, from: %s, to: h1, size: %dKB, jitter: 100us", names(from[:2]), d.between(2000, 6000))
	d.flow("tag: short, from: %s, to: [h2, h3], size: %dKB, start: 30us, count: 16, interval: %dus", names(from[2:4]),
		d.between(2, 30), d.between(20, 60))
}

func drawCollective(d *draft, value int) {
	d.leafSpine(4, 4, 4, "100Gbps", 4096)
	d.duration = "3ms"
	size := d.between(4000, 10000)
	switch value {
	case 4:
		d.workload("tag: collective, collective: {kind: alltoall, size: %dKB, placement: random}", size)
	default:
		algorithm := []string{"ring", "tree", "halving-doubling", "hierarchical, group: 4"}[value]
		d.workload("tag: collective, collective: {kind: allreduce, algorithm: %s, size: %dKB, placement: %s}", algorithm,
			size,
			[]string{"random", "across-racks"}[d.IntN(2)])
	}
}

func drawJob(d *draft, value int) {
	d.leafSpine(4, 4, 2, "100Gbps", 4096)
	d.duration = "3ms"
	step := func(slow string) string {
		return fmt.Sprintf("[{compute: {time: %dus, jitter: %dus%s}}, {collective: {kind: allreduce, algorithm: ring, "+
			"size: %dKB}}, "+
			"{collective: {kind: alltoall, size: %dKB}}]", d.between(30, 100), d.between(5, 20), slow, d.between(1200, 3000),
			d.between(600, 1500))
	}
	ranks := d.Perm(16)
	job := func(tag string, ranks []int, slow string) {
		d.workload("tag: %s, job: {ranks: %s, iterations: 3, steps: %s}", tag, names(ranks), step(slow))
	}
	switch value {
	case 0:
		job("job", ranks, "")
	case 1:
		job("first", ranks[:8], "")
		job("second", ranks[8:], "")
	case 2:
		job("job", ranks, fmt.Sprintf(", slow: h%d, factor: 2", ranks[0]))
	case 3:
		job("job", ranks[:10], "")
		d.flow("tag: storage, from: %s, to: h%d, size: %dKB, jitter: 50us", names(ranks[10:14]), ranks[14],
			d.between(3000, 6000))
	case 4:
		job("job", ranks[:12], "")
		d.flow("tag: incast, from: %s, to: h%d, size: %dKB, start: 60us, count: 4, interval: 150us", names(ranks[12:15]),
			ranks[0], d.between(50, 200))
	}
}

func drawLongHaul(d *draft, value int) {
	d.topology = fmt.Sprintf(`
  mtu: 4096
  rate: 100Gbps
  delay: 1us
  nodes:
    - {name: [west, east], kind: switch}
    - {name: h0..h15, kind: host}
  links:
    - {from: h0..h7, to: west}
    - {from: h8..h15, to: east}
    - {from: west, to: east, delay: %s}`, []string{"10us", "30us", "60us", "120us", "200us"}[value])
	d.duration = "10ms"
	d.drain = "40ms"
	to := d.hosts(2, 8, 16, -1)
	for _, host := range to {
		d.flow("tag: far, from: %s, to: h%d, size: %dMB, jitter: 200us", names(d.hosts(3, 0, 8, -1)), host, d.between(8, 20))
	}
	d.flow("tag: near, from: %s, to: h%d, size: %dKB, start: 100us, count: %d, interval: %dus",
		names(d.hosts(2, 8, 16, to[0])),
		to[0], d.between(50, 500), d.between(6, 12), d.between(100, 300))
	d.flow("tag: short, from: %s, to: h%d, size: %dKB, start: 300us, count: 4, interval: 500us",
		names(d.hosts(2, 0, 8, -1)),
		to[1], d.between(4, 60))
}

func drawFailure(d *draft, value int) {
	d.leafSpine(3, 6, 3, "100Gbps", 1000)
	d.duration = "3ms"
	d.line("host: {retransmit_timeout: 300us}")
	order := d.Perm(12)
	for i, from := range order[:8] {
		d.flow("tag: long, from: h%d, to: h%d, size: %dKB, jitter: 20us", from, 12+i%6, d.between(3000, 6000))
	}
	d.flow("tag: short, from: %s, to: [h12, h13], size: %dKB, count: 10, interval: %dus", names(order[8:10]),
		d.between(2, 30),
		d.between(20, 50))
	link, at := fmt.Sprintf("leaf2:spine%d", d.IntN(3)), d.between(30, 80)
	switch value {
	case 0:
		d.line("faults: [{at: %dus, link: %q, down: true, reroute: 50us}]", at, link)
	case 1:
		d.line("faults: [{at: %dus, for: 60us, every: 150us, times: 3, link: %q, down: true, reroute: 20us}]", at, link)
	case 2:
		d.line("faults: [{at: %dus, for: 400us, link: %q, rate: 25Gbps}]", at, link)
	case 3:
		d.line("faults: [{at: %dus, for: 300us, link: %q, loss: 0.%d%%}]", at, link, 1+d.IntN(4))
	case 4:
		d.line("faults: [{at: %dus, for: 400us, host: h12, receiver: {rate: %dGbps}}]", at, d.between(20, 50))
	}
}

func drawRivals(d *draft, value int) {
	d.leafSpine(3, 8, 2, "100Gbps", 1000)
	d.duration = "2ms"
	rival := []string{"none", "swift", "timely", "hpcc", "pid"}[value]
	size := d.between(3000, 8000)
	for _, to := range d.hosts(2, 0, 8, -1) {
		from := d.hosts(4, 8, 24, -1)
		start := d.between(1, 100)
		d.flow("tag: own, from: %s, to: h%d, size: %dKB, start: %dus", names(from[:2]), to, size, d.between(1, 100))
		d.flow("tag: rival, cc: %s, from: %s, to: h%d, size: %dKB, start: %dus", rival, names(from[2:]), to, size, start)
		d.flow("tag: short, from: %s, to: h%d, size: %dKB, start: 100us, count: 8, interval: 30us", names(from[:1]), to,
			d.between(2, 30))
	}
}

// incastAndLong adds long flows to one host, and an incast to it. scale multiplies sizes.
func (d *draft) incastAndLong(scale float64) {
	to := d.IntN(8)
	size := func(kb int) int { return max(int(float64(kb)*scale), 1) }
	d.flow("tag: long, from: %s, to: h%d, size: %dKB, jitter: 10us", names(d.hosts(2, 8, 24, -1)), to,
		size(d.between(5000, 10000)))
	d.flow("tag: incast, from: %s, to: h%d, size: %dKB, start: 80us, jitter: 5us",
		names(d.hosts(d.between(6, 14), 8, 24, -1)), to,
		size(d.between(80, 300)))
	d.flow("tag: short, from: %s, to: h%d, size: %dKB, start: 20us, count: 16, interval: 50us",
		names(d.hosts(2, 8, 24, -1)), to,
		d.between(1, 16))
	d.flow("tag: beside, from: %s, to: h%d, size: %dKB, jitter: 50us", names(d.hosts(1, 8, 24, -1)), (to+1)%8,
		size(d.between(2500, 6000)))
}

func drawRate(d *draft, value int) {
	rate := []int{25, 50, 200, 400, 800}[value]
	mtu := 1000
	if rate > 100 {
		mtu = 4096
	}
	d.leafSpine(3, 8, 2, fmt.Sprintf("%dGbps", rate), mtu)
	d.duration = "3ms"
	d.incastAndLong(float64(rate) / 100)
}

func drawPath(d *draft, value int) {
	d.leafSpine(4, 6, 4, "100Gbps", 1000)
	d.duration = "2ms"
	switch value {
	case 1:
		d.line("switch: {load_balancing: {mode: flowlet, gap: 20us}}")
	case 2:
		d.line("switch: {load_balancing: {mode: spray}}")
	case 3:
		d.line("switch: {load_balancing: {mode: adaptive}}")
	case 4:
		d.line("host: {recovery: selective, entropy: random}")
	}
	if value == 2 || value == 3 {
		d.line("host: {recovery: selective}")
	}
	d.workload("tag: permutation, permutation: {size: %dKB}", d.between(1200, 3000))
	to := d.IntN(24)
	d.flow("tag: incast, from: %s, to: h%d, size: %dKB, start: 40us", names(d.hosts(8, 0, 24, to)), to, d.between(20, 100))
}

func drawPacket(d *draft, value int) {
	mtu := []int{256, 512, 2048, 4096, 9000}[value]
	d.leafSpine(3, 8, 2, "100Gbps", mtu)
	d.duration = "3ms"
	d.incastAndLong(1)
}
