package scenario

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// maxDuration limits a run. Virtual time counts picoseconds, and a wrong unit would keep a machine busy for days.
const maxDuration = 3600 * vtime.Second

// lossyTimeout sets the default retransmission timeout of a scenario whose data may be lost.
const lossyTimeout = vtime.Millisecond

// NamePattern matches valid names of scenarios. A name is also that of a folder of results.
var NamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Nameless reports whether a name taken from a file's name, such as "." from "..yaml", cannot name a folder.
func Nameless(name string) bool { return strings.Trim(name, ".") == "" }

// reserved lists the names of files and folders of results beside the folders of scenarios and controllers. A test
// compares it with the files that runs write.
var reserved = []string{
	"manifest.json", "summary.json", "flows.csv", "ports.csv", "pfc.csv", "rates.csv", "links.csv", "events.csv",
	"panels.csv", "capture.pcapng", "trace.pftrace", "record.bin",
	"figure.svg", "figure.png", "figure.pdf", "fct.txt", "pfc.txt", "report.html", "published.json", "runs.json",
	"figures", "sweep.csv", "sweep.html", "times.csv", "shard.json",
	"comparison.html", "panic.txt", "why.csv", "causes.csv", "recovery.csv", "qps.csv", "collectives.csv", "SHA256SUMS",
	"flows.parquet", "ports.parquet", "pfc.parquet", "rates.parquet", "links.parquet", "events.parquet", "panels.parquet",
	"why.parquet", "causes.parquet", "recovery.parquet",
	"qps.parquet", "collectives.parquet", "sweep.parquet",
}

// Reserved reports whether a name is that of a file or folder of results, on file systems with or without case
// sensitivity.
func Reserved(name string) bool {
	return slices.ContainsFunc(reserved, func(file string) bool { return strings.EqualFold(file, name) })
}

// tagName matches valid tags of flows, which occur in CSV files and lists.
var tagName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)

// Load reads and resolves a scenario, a built-in's name or a file's path, with the settings of --set applied.
func Load(nameOrPath string, sets []string) (*Scenario, error) {
	return Reading{Sets: sets}.Load(nameOrPath)
}

// Reading holds options for reading a scenario.
type Reading struct {
	Quick bool     // apply the scenario's quick changes
	Sets  []string // of --set; applied after the quick changes
	Live  bool     // for a live fabric, which needs neither flows nor a duration
	// Controllers names congestion controls that the user names beside the scenario. Files among them, relative to the
	// working directory, join the scenario's catalog.
	Controllers []string
	// Count draws only the first flow of each workload and counts the others, for lists. Scenario.FlowCount returns
	// the total.
	Count bool
	// Memory holds the bytes of memory that a run may take, which limits the scenario's flows; 0: unknown, with the
	// limit usualFlows.
	Memory int64
	// Sources, if set, reads the files (files.Recorded), including the scenario's own.
	Sources *files.Sources
}

// Load reads and resolves a scenario with these options.
func (r Reading) Load(nameOrPath string) (*Scenario, error) {
	if data, err := BuiltinSource(nameOrPath); err == nil {
		return r.Parse(nameOrPath+".yaml", data)
	} else if !LooksLikePath(nameOrPath) {
		if _, sweep := BuiltinSweepSource(nameOrPath); sweep == nil {
			return nil, fmt.Errorf("%s is a sweep, not a scenario: run it with pausenet sweep %s", nameOrPath, nameOrPath)
		}
		return nil, err
	}
	filename, data, err := ReadSpec(nameOrPath)
	if err != nil {
		return nil, err
	}
	return r.Parse(filename, data)
}

// ReadSpec reads the file or stream that a user names. It also returns its name for messages: stdin for a stream,
// whose references are relative to the working directory. A stream can be read only once.
func ReadSpec(path string) (filename string, data []byte, err error) {
	if err := notASpec(path); err != nil {
		return path, nil, err
	}
	data, err = files.Input(path, yamlspec.SpecFile)
	if files.IsStream(path) {
		path = "stdin"
	}
	return path, data, err
}

// notASpec returns an error for a file whose name shows that it is no scenario, topology or sweep. The error names the
// command that reads it.
func notASpec(name string) error {
	if !IsFile(name) {
		return nil
	}
	switch extension := filepath.Ext(name); {
	case extension == ".star" || extension == ".wasm":
		return fmt.Errorf("%s is a controller file: use pausenet run SCENARIO --cc %s", name, asPath(name))
	case extension == ".goal":
		return fmt.Errorf("%s is a GOAL schedule: name it in a scenario, as workloads: [{goal: {file: %s}}] "+
			"(docs/collectives.md)", name, filepath.Base(name))
	case extension == ".csv":
		return fmt.Errorf("%s is a table: name it in a scenario, as workloads: [{csv: %s}] for flows or as messages: "+
			"for messages (docs/scenarios.md)", name, filepath.Base(name))
	case filepath.Base(name) == "config_db.json":
		return fmt.Errorf("%s is a SONiC switch's configuration: convert it with pausenet import sonic %s", name, name)
	}
	return nil
}

// Parse resolves the scenario in data, with the settings of --set applied. The error holds every mistake with its
// position: in the file, in the topology's file, or in a setting.
func Parse(filename string, data []byte, sets []string) (*Scenario, error) {
	return Reading{Sets: sets}.Parse(filename, data)
}

// settingsNamed returns the settings of switches and hosts whose path ends in name: "switch.pfc.xoff" for "xoff" and
// for "pfc.xoff".
func settingsNamed(name string) (paths []string) {
	host := settings.DefaultHost()
	for section, table := range map[string]keys.Table{
		"switch": settings.Switch(new(switchagent.Settings), new(topologies.Balancing)),
		"host":   settings.Host(&host),
	} {
		for i := range table {
			if path := section + "." + table[i].Name; strings.HasSuffix(path, "."+name) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// Parse resolves the scenario in data with these options.
func (r Reading) Parse(filename string, data []byte) (*Scenario, error) {
	recipe := &Recipe{File: filename, Quick: r.Quick, Settings: r.Sets, sources: r.Sources}
	if recipe.sources == nil {
		recipe.sources = new(files.Sources)
		recipe.sources.Add(filename, data)
	}
	report := &yamlspec.Report{Elsewhere: settingsNamed, Sources: recipe.sources}
	root := report.Parse(filename, data)
	for i, what := range []string{"sweep", "family for search", "family for tune"} {
		if command := []string{"sweep", "search", "tune"}[i]; root.Has(command) {
			root.Mapping().Key(command).Errorf("this is a %s, not a scenario: run it with pausenet %s %s",
				what, command, filename)
			return nil, report.Err()
		}
	}
	if root != nil {
		quick := root.Has("quick")
		if r.Quick {
			root = applyQuick(root, filepath.Dir(filename))
		}
		root = applySettings(root, filepath.Dir(filename), r.Sets, controllerFileNames(root, r.Controllers))
		d := &decoder{dir: filepath.Dir(filename), live: r.Live, count: r.Count, root: root, s: &Scenario{
			Name: strings.TrimSuffix(filepath.Base(filename), filepath.Ext(filename)),
			Seed: 1, Recipe: recipe, memory: r.Memory,
		}}
		if r.Live {
			d.s.ringsFrom = math.MaxInt
		}
		if err := d.s.readControllers(r.Controllers); err != nil {
			return nil, err
		}
		d.decode()
		if filename != "" && Nameless(d.s.Name) {
			root.Errorf("the file's name cannot name the folder of results: add the key name")
		}
		d.s.HasQuick = quick
		err := report.Err()
		if quick && r.Quick {
			d.s.Name += quickSuffix
			err = quickError(filename, err)
		}
		if err != nil {
			return nil, err
		}
		return d.s, nil
	}
	return nil, report.Err()
}

// applySettings applies the settings of --set. A setting below "topology" also works if the scenario only names its
// topology.
func applySettings(root *yamlspec.Value, dir string, sets, controllers []string) *yamlspec.Value {
	for _, set := range sets {
		if !refuseQuickSetting(root, set) {
			root = ReachTopology(root, dir, set).Override(set, controllers...)
		}
	}
	return root
}

// ReachTopology replaces the topology that a scenario only names by its contents, if a path goes below it.
func ReachTopology(root *yamlspec.Value, dir, path string) *yamlspec.Value {
	if strings.HasPrefix(strings.TrimSpace(path), "topology.") && root.At("topology").IsScalar() {
		if v, _ := readTopology(root.At("topology"), dir); v != nil {
			return root.With("topology", v)
		}
	}
	return root
}

// readTopology returns the contents of a scenario's topology, a built-in's name or a file relative to dir, and its
// default name.
func readTopology(v *yamlspec.Value, dir string) (contents *yamlspec.Value, name string) {
	ref := v.Raw()
	if data, err := spec.BuiltinSource(ref); err == nil {
		return v.Report().Parse(ref+".yaml", data), ref
	} else if !LooksLikePath(ref) && !v.Report().Sources.IsFile(filepath.Join(dir, ref), IsFile) {
		v.Errorf("%v", err)
		return nil, ""
	}
	path := ref
	if !filepath.IsAbs(ref) {
		path = filepath.Join(dir, ref)
	}
	data, err := v.Report().Sources.Read(path, yamlspec.SpecFile)
	if err != nil {
		v.Errorf("topology: %v", err)
		return nil, ""
	}
	return v.Report().Parse(path, data), strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// decoder resolves one scenario.
type decoder struct {
	dir   string
	root  *yamlspec.Value
	live  bool
	count bool // Reading.Count
	s     *Scenario

	nodes map[string]topologies.NodeID // nil if the topology has mistakes, so that names cannot be checked
	names []string

	seed int    // before it is checked
	hash string // of routing; empty: the default

	defaultTag bool // the workload being read sets no tag

	unread   []string          // names of controller files that could not be read
	ownHosts []*yamlspec.Value // host settings of each variant; nil: none
}

func (d *decoder) decode() {
	d.seed = int(d.s.Seed)
	m := d.keys().Decode(d.root)
	d.s.Seed = uint64(d.seed)
	if Reserved(d.s.Name) {
		d.root.At("name").Errorf("name %q is reserved for a file of results: choose another", d.s.Name)
	}
	d.topology(m.Get("topology"))
	d.routing(m.Get("routing").At("hash"))
	if !d.live {
		m.Need("duration")
	} else if m.Get("duration") == nil {
		d.s.Duration = maxDuration
	}
	d.drainLimit(m)

	host, sw := m.Get("host"), m.Get("switch")
	d.s.Host = d.hostSettings(host)

	flows, workloads := m.Get("flows"), m.Get("workloads")
	d.controllerFiles(controllerValues(m.Get("controllers"), m.Get("cc"), flows, workloads)) // flows may use them
	if workloads == nil && !d.live {
		flows = m.Need("flows")
	}
	d.flows(flows)
	d.workloads(workloads)
	data := d.s.DataPriorities() // flows may have their own priorities
	var balancing topologies.Balancing
	d.s.Switch, balancing = d.switchSettings(sw, data)
	if d.s.Topology != nil {
		d.s.Topology = d.s.Topology.WithBalancing(balancing).WithHosts(d.s.Host.IP, d.s.Host.Spreads())
	}
	if (d.live || data&^d.s.Switch.Lossless() != 0) && !host.Has("retransmit_timeout") {
		d.s.Host.RetransmitTimeout = lossyTimeout // without it, a lost last packet is never retransmitted
	}
	if !flows.IsMapping() && !workloads.IsMapping() && len(flows.Items()) == 0 && len(workloads.Items()) == 0 {
		at := m.Key("flows")
		if at == nil {
			at = m.Key("workloads")
		}
		at.Errorf("a scenario needs at least one flow")
	}
	d.endless(m)
	d.constants(m.Get("cc"))
	d.controllers(m.Get("controllers"), sw, host)
	d.faults(m.Get("faults"))
	d.repairs(host, &balancing)
	d.sampling(m.Get("sample"))
	panels := m.Get("report")
	d.report(panels)
	d.s.DefaultPanels = panels == nil
	for i, paragraph := range d.s.LookAt {
		d.s.LookAt[i] = strings.TrimSpace(paragraph)
	}
	d.spans(m.Get("spans"))
	d.published(m.Get("published"))
}

// routing applies routing.hash, read from v: the hash by which switches choose among equal-cost ports.
func (d *decoder) routing(v *yamlspec.Value) {
	plan := d.s.Topology
	if d.hash == "" || plan == nil {
		return
	}
	if d.hash == topologies.HashHPCC.String() && !plan.SinglePort() {
		v.Errorf("hash hpcc needs hosts of one port, as in HPCC's simulator, but topology %s has %s",
			plan.Name, plan.HostSummary())
		return
	}
	if d.hash == topologies.HashHPCC.String() && plan.Weighted() {
		v.Errorf("hash hpcc ignores weights, as HPCC's simulator does, but links of topology %s have some: remove them",
			plan.Name)
		return
	}
	d.s.Topology = plan.WithHash(topologies.Hash(slices.Index(topologies.HashNames, d.hash)))
}

func (d *decoder) topology(v *yamlspec.Value) {
	contents, name := v, d.s.Name
	switch {
	case v == nil:
		return
	case v.IsScalar():
		contents, name = readTopology(v, d.dir)
	case !v.IsMapping():
		v.Errorf("topology must be a built-in's name, a file's path, or a mapping as in a topology file")
		return
	}
	plan := spec.Decode(contents, name)
	if plan == nil {
		return
	}
	d.s.Topology = plan
	d.names = plan.Names()
	d.nodes = make(map[string]topologies.NodeID, len(plan.Nodes))
	for i := range plan.Nodes {
		d.nodes[plan.Nodes[i].Name] = plan.Nodes[i].ID
	}
}

// locate reports the problems of settings (joined FieldErrors), each at its path below v.
func (d *decoder) locate(v *yamlspec.Value, err error) { d.locateIn(v, "", err) }

// locateIn does the same for problems whose paths begin with path, the path of v.
func (d *decoder) locateIn(v *yamlspec.Value, path string, err error) {
	if err == nil {
		return
	}
	if v == nil {
		v = d.root
	}
	for _, err := range unjoin(err) {
		at := v
		if field := (*schema.FieldError)(nil); errors.As(err, &field) {
			at = v.At(strings.TrimPrefix(field.Path, path+"."))
		}
		at.Errorf("%v", err)
	}
}

// unjoin returns the errors that errors.Join combined, recursively.
func unjoin(err error) (errs []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, err := range joined.Unwrap() {
		errs = append(errs, unjoin(err)...)
	}
	return errs
}

// find returns the nodes that v names, and reports unknown ones.
func (d *decoder) find(v *yamlspec.Value) (found []topologies.NodeID, at []*yamlspec.Value) {
	for _, n := range v.Names() {
		if d.nodes == nil {
			continue
		}
		id, ok := d.nodes[n.Text]
		if !ok {
			n.At.Errorf("no node %q in topology %s%s", n.Text, d.s.Topology.Name, spelling.Suggest(n.Text, d.names))
			continue
		}
		found, at = append(found, id), append(at, n.At)
	}
	return found, at
}
