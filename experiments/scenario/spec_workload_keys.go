package scenario

import (
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// workloadEntry holds the values of a workload's keys, of whichever kind it is. Values that are shown as they are
// written are in the workload's view.
type workloadEntry struct {
	*Workload
	sizes      string // a distribution of sizes
	clock      workload.Clock
	interval   vtime.Time
	file       string
	origin     vtime.Time // on the file's clock
	calc       vtime.Time
	iterations int
	collective collectiveEntry
}

func newWorkloadEntry() *workloadEntry {
	return &workloadEntry{Workload: new(Workload), calc: vtime.Nanosecond, iterations: 1}
}

func (e *workloadEntry) keys() keys.Table {
	t := keys.Table{tagKey(&e.Tag).Usually("its kind"), unfinishedKey(&e.View.Unfinished)}
	return slices.Concat(t, e.kindKeys(), e.own.Keys())
}

func (e *workloadEntry) kindKeys() (t keys.Table) {
	for i := range workloadKinds {
		kind := &workloadKinds[i]
		row := keys.Text(kind.key, &e.file)
		switch {
		case kind.keys != nil:
			row = keys.Mapping(kind.key, func() keys.Table { return kind.keys(newWorkloadEntry()) })
		case kind.key == "hpcc":
			row = keys.GroupOf(kind.key, &keys.Group{Short: "file"})
		}
		t = append(t, row.Present("one of these").Means(kind.doc))
		if kind.key == "hpcc" {
			t = append(t, keys.Text("hpcc.file", &e.file).Need().Means("the file's path"),
				keys.Time("hpcc.origin", &e.origin).Means("time in the file at which the run starts"))
		}
	}
	return t
}

// sizeKeys returns the keys that say how long the flows of a rule are.
func (e *workloadEntry) sizeKeys() keys.Table {
	return keys.Table{
		keys.Text("sizes", &e.sizes).Present("this or `size`").Means("a distribution of sizes: `websearch`, `datamining`, " +
			"`datamining-ns2`, `fbhadoop`, `irn`, or a file of lines of bytes and percent"),
		keys.Size("size", &e.View.Size).Present("this or `sizes`").NotZero("a flow sends at least 1B").Means(
			"one size for all flows"),
	}
}

// pairKeys returns the keys that select the hosts of a rule's flows.
func (e *workloadEntry) pairKeys() keys.Table {
	return keys.Table{
		keys.Names("from").Usually("all hosts").Means("possible senders"),
		keys.Names("to").Usually("all hosts").Means("possible receivers"),
		keys.Choice("pairs", &e.View.Pairs, relations...).Usually(relations[workload.Anywhere]).Means(
			"`across-racks`: sender and receiver are hosts of different switches; `within-rack`: of the same switch"),
	}
}

// loadKeys returns the keys that say how often something happens, and until when or how many times.
func (e *workloadEntry) loadKeys(count, counted string) keys.Table {
	return keys.Table{
		keys.Number("load", &e.View.Load).Present("this or `interval`").Means(
			"a fraction of the capacity of the `core` or the `hosts`, see below"),
		keys.Choice("of", &e.View.Of, "core", "hosts").Present("required with `load`").Means(
			"capacity of which `load` is a fraction"),
		keys.Time("interval", &e.interval).Present("this or `load`").NotZero(positive).Means(
			"time between two flows, or two incasts; on average if they are random"),
		keys.Time("start", &e.clock.Start).Means("time of the first flow or later"),
		keys.Time("until", &e.clock.Until).Usually("the run's `duration`").Means("end of the workload"),
		keys.Integer(count, &e.clock.Count).Between("1", strconv.Itoa(mostNumbers)).Usually("none").Means(
			"number of " + counted + ", in place of `until`"),
	}
}

const positive = "write a time above 0"

// roundKeys returns the keys of a rule that does the same in rounds.
func (e *workloadEntry) roundKeys() keys.Table {
	return keys.Table{
		keys.Time("start", &e.clock.Start).Means("time of the first flow or later"),
		keys.Time("interval", &e.interval).Usually("none").NotZero(positive).Means("time between rounds"),
		keys.Integer("rounds", &e.clock.Count).Between("1", strconv.Itoa(mostNumbers)).Usually("1").Means("number of rounds"),
	}
}

func (e *workloadEntry) poissonKeys() keys.Table {
	return slices.Concat(e.sizeKeys(), e.pairKeys(), e.loadKeys("flows", "flows"))
}

func (e *workloadEntry) incastKeys() keys.Table {
	return slices.Concat(e.sizeKeys(), e.pairKeys(), keys.Table{
		keys.Integer("degree", &e.View.Degree).Need().Between("1", strconv.Itoa(topologies.MaxHosts)).Means(
			"senders per incast. Senders and receiver are chosen anew for each"),
		keys.Choice("arrivals", &e.View.Arrivals, "periodic", "poisson").Usually("periodic").Means("when incasts start"),
	}, e.loadKeys("events", "incasts"))
}

func (e *workloadEntry) allToAllKeys() keys.Table {
	return slices.Concat(e.sizeKeys(), e.pairKeys(), e.roundKeys())
}

func (e *workloadEntry) permutationKeys() keys.Table {
	hosts := keys.Table{keys.Names("hosts").Usually("all hosts").Means("the hosts that take part")}
	return slices.Concat(e.sizeKeys(), hosts, e.roundKeys())
}

// rankKeys returns the keys that select the participants of a workload with dependent flows.
func (e *workloadEntry) rankKeys() keys.Table {
	return keys.Table{
		keys.Names("ranks").Usually("every host").Means("hosts, rank by rank"),
		keys.Choice("placement", &e.View.Placement, placements...).Usually(placements[0]).Means("`packed`: rack by rack; " +
			"`across-racks`: each rank in another rack than the previous one; `random`: by the seed"),
	}
}

func (e *workloadEntry) collectiveKeys() keys.Table {
	start := keys.Table{keys.Time("start", &e.clock.Start).Means("time at which the first rank may start")}
	return slices.Concat(e.collective.keys(""), e.rankKeys(), start)
}

func (e *workloadEntry) jobKeys() keys.Table {
	return append(e.rankKeys(),
		keys.Time("start", &e.clock.Start).Means("time at which the first rank may start"),
		keys.Integer("iterations", &e.iterations).Between("1", strconv.Itoa(1<<20)).Means(
			"number of repetitions of the steps"),
		keys.List("steps", new(stepEntry).keys).Need().Means("each a `compute`, a `collective` or `barrier: true`"))
}

func (e *workloadEntry) goalKeys() keys.Table {
	return append(e.rankKeys(),
		keys.Text("file", &e.file).Need().Means("a schedule in GOAL, as text or binary"),
		keys.Time("calc", &e.calc).NotZero(positive+", how long a calc of 1 takes").Means(
			"how long a calc of 1 takes"))
}

func (e *workloadEntry) chakraKeys() keys.Table {
	return append(e.rankKeys(),
		keys.Text("files", &e.file).Need().Means("execution traces, one file per rank: `%d`, from 0 on"),
		algorithmKey("algorithm", &e.View.Algorithm),
		chunksKey("chunks", &e.View.Chunks), groupKey("group", &e.View.Group))
}

func algorithmKey(name string, algorithm *string) keys.Key {
	return keys.Choice(name, algorithm, collective.Algorithms...).
		Usually("`ring`; for `alltoall` `direct`, for `broadcast` `tree`").Means("algorithm of the collective, see below")
}

func chunksKey(name string, chunks *int) keys.Key {
	return keys.Integer(name, chunks).Between("1", strconv.Itoa(1<<16)).Usually("1; for `tree`, NCCL's").Means(
		"number of parts of the data. " +
			"Each goes through the algorithm separately, so a part is passed on while others arrive")
}

func groupKey(name string, group *int) keys.Key {
	return keys.Integer(name, group).Between("2", strconv.Itoa(topologies.MaxHosts)).Usually("the ranks of a rack").Means(
		"for `hierarchical`: number of ranks per group")
}

// collectiveEntry holds the values of a collective's keys.
type collectiveEntry struct {
	collective.Spec
	size    units.Bytes
	overlap bool
}

// keys returns the keys of a collective, below a path.
func (c *collectiveEntry) keys(path string) keys.Table {
	return keys.Table{
		keys.Choice(path+"kind", &c.Kind, collective.Kinds...).Need().Means("kind of the collective"),
		algorithmKey(path+"algorithm", &c.Algorithm),
		keys.Size(path+"size", &c.size).Need().Means(
			"as in nccl-tests. `allreduce`, `broadcast`: bytes of a rank's buffer. " +
				"`allgather`: what each rank has at the end. `reducescatter`, `alltoall`: what each rank has at the start"),
		chunksKey(path+"chunks", &c.Chunks), groupKey(path+"group", &c.Group),
		keys.Other(path+"root", "name", aText).Usually("the first rank").Means("for `broadcast`: the host that has the data"),
	}
}

// stepEntry holds the values of the keys of a job's step.
type stepEntry struct {
	compute    collective.Compute
	collective collectiveEntry
	barrier    bool
}

func (s *stepEntry) keys() keys.Table {
	return append(s.ownKeys(), s.collective.keys("collective.")...)
}

// ownKeys returns the keys that only steps have.
func (s *stepEntry) ownKeys() keys.Table {
	return keys.Table{
		keys.GroupOf("compute", &keys.Group{Short: "time"}).Present("one of these").Means("how long each rank computes: " +
			"`1ms`, or `{time: 1ms, jitter: 100us, slow: h3, factor: 1.5}`"),
		keys.Time("compute.time", &s.compute.Time).Need().Means("how long each rank computes"),
		keys.Time("compute.jitter", &s.compute.Jitter).Means("maximum extra time, drawn by the seed"),
		keys.Names("compute.slow").Usually("none").Means("hosts that take `factor` times as long"),
		keys.Number("compute.factor", &s.compute.Factor).Present("required with `slow`").Means(
			"how many times as long the `slow` hosts take"),
		keys.Flag("barrier", &s.barrier).Present("one of these").Means("`true`: no rank continues before all have arrived"),
		keys.GroupOf("collective", &keys.Group{Example: "{kind: allreduce, size: 64MB}"}).Present("one of these").Means(
			"a collective, with the keys above"),
		keys.Names("collective.ranks").Usually("the job's").Means("the job's ranks that take part, in this order; " +
			"the others continue. Give each group of ranks, such as those of tensor parallelism, its own step; the steps " +
			"run side by side"),
		keys.Flag("collective.overlap", &s.collective.overlap).Means(
			"`true`: the next steps start at once. The iteration ends when this step has ended"),
	}
}
