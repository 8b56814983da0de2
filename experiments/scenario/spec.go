package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// maxDuration bounds a run: virtual time counts picoseconds, and a slip of the unit would keep a machine busy for days.
const maxDuration = 3600 * vtime.Second

// lossyTimeout is the retransmission timeout of a scenario whose data may be lost, unless it says otherwise.
const lossyTimeout = vtime.Millisecond

// NamePattern is what a scenario may be called: it names a folder of results.
var NamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Nameless says that a name taken from a file's, as "." of "..yaml", would be no folder of its own.
func Nameless(name string) bool { return strings.Trim(name, ".") == "" }

// reserved are the names of files and folders that results have beside the folders of scenarios and controllers. A test
// of what writes them sees to it that none is missing.
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

// Reserved says that a name is that of a file or a folder that results have, on a file system that tells capitals apart
// or not.
func Reserved(name string) bool {
	return slices.ContainsFunc(reserved, func(file string) bool { return strings.EqualFold(file, name) })
}

// tagName is what a flow's tag may be: it stands in CSV files and lists.
var tagName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)

// Load resolves a scenario: a built-in's name or a file's path, with the settings of --set applied.
func Load(nameOrPath string, sets []string) (*Scenario, error) {
	return Reading{Sets: sets}.Load(nameOrPath)
}

// Reading says how a scenario is read.
type Reading struct {
	Quick bool     // with its quick changes, if it has any
	Sets  []string // of --set; they come after the quick changes
	Live  bool     // for a live fabric, which needs neither flows nor a duration
	// Controllers are names that the user gives beside the scenario. Those that are files' are read, relative to the
	// working directory: the scenario has them as it has the built-in ones.
	Controllers []string
	// Count has the flows of workloads counted and not made, but for the first of each: for lists. Scenario.FlowCount has
	// their number.
	Count bool
	// Sources, if they are there, are what files are read from (files.Recorded), the scenario's own among them.
	Sources *files.Sources
	// Asked, if it is there, is told of each mapping that is read, and of the keys that may be in it.
	Asked func(mapping *yamlspec.Value, known []string)
}

// Load is Load.
func (r Reading) Load(nameOrPath string) (*Scenario, error) {
	if data, err := BuiltinSource(nameOrPath); err == nil {
		return r.Parse(nameOrPath+".yaml", data)
	} else if !LooksLikePath(nameOrPath) {
		if _, sweep := BuiltinSweepSource(nameOrPath); sweep == nil {
			return nil, fmt.Errorf("%s is a sweep and not a scenario: run it with pausenet sweep %s", nameOrPath, nameOrPath)
		}
		return nil, err
	}
	filename, data, err := ReadSpec(nameOrPath)
	if err != nil {
		return nil, err
	}
	return r.Parse(filename, data)
}

// ReadSpec is the file, or the stream, that a user names, and what to call it in messages: a stream is called stdin,
// and what it names is relative to the working directory. A stream can be read once.
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

// notASpec refuses a file whose name says that it is none of a scenario, topology or sweep, with what takes it.
func notASpec(name string) error {
	if !IsFile(name) {
		return nil
	}
	switch extension := filepath.Ext(name); {
	case extension == ".star" || extension == ".wasm":
		return fmt.Errorf("%s is a congestion control's file: write pausenet run SCENARIO --cc %s", name, asPath(name))
	case extension == ".goal":
		return fmt.Errorf("%s is a schedule of GOAL: a scenario reads it by workloads: [{goal: {file: %s}}] (docs/collectives.md)", name, filepath.Base(name))
	case extension == ".csv":
		return fmt.Errorf("%s is a table: a scenario reads flows by workloads: [{csv: %s}], and messages by messages: (docs/scenarios.md)", name, filepath.Base(name))
	case filepath.Base(name) == "config_db.json":
		return fmt.Errorf("%s is a SONiC switch's configuration: pausenet import sonic %s makes a scenario of it", name, name)
	}
	return nil
}

// asPath writes a file's name so that it cannot be taken for something else's.
func asPath(name string) string {
	if filepath.Base(name) == name {
		return "./" + name
	}
	return name
}

// LooksLikePath says that a reference means a file: it is there, or it is written like one.
func LooksLikePath(s string) bool {
	return files.IsStream(s) || strings.ContainsRune(s, filepath.Separator) || strings.HasSuffix(s, ".yaml") ||
		strings.HasSuffix(s, ".yml") || IsFile(s)
}

// IsFile says that a path is that of a file, or of what else is there and no folder.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// Parse resolves the scenario in data, with the settings of --set applied. The error holds every mistake, each
// with its place: in the file, in the topology's file, or in a setting.
func Parse(filename string, data []byte, sets []string) (*Scenario, error) {
	return Reading{Sets: sets}.Parse(filename, data)
}

// settingsNamed returns the settings of switches and hosts whose path ends in name: "switch.pfc.xoff" for "xoff" and
// for "pfc.xoff".
func settingsNamed(name string) (paths []string) {
	host := settings.DefaultHost()
	for section, table := range map[string]keys.Table{
		"switch": settings.Switch(new(switchagent.Settings)),
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

// Parse is Parse.
func (r Reading) Parse(filename string, data []byte) (*Scenario, error) {
	recipe := &Recipe{File: filename, Quick: r.Quick, Settings: r.Sets, sources: r.Sources}
	if recipe.sources == nil {
		recipe.sources = new(files.Sources)
		recipe.sources.Add(filename, data)
	}
	report := &yamlspec.Report{Asked: r.Asked, Elsewhere: settingsNamed, Sources: recipe.sources}
	root := report.Parse(filename, data)
	if root.Has("sweep") {
		root.Mapping().Key("sweep").Errorf("this is a sweep and not a scenario: run it with pausenet sweep %s", filename)
		return nil, report.Err()
	}
	if root != nil {
		quick := root.Has("quick")
		if r.Quick {
			root = applyQuick(root, filepath.Dir(filename))
		}
		root = applySettings(root, filepath.Dir(filename), r.Sets, controllerFileNames(root, r.Controllers))
		d := &decoder{dir: filepath.Dir(filename), live: r.Live, count: r.Count, root: root, s: &Scenario{
			Name: strings.TrimSuffix(filepath.Base(filename), filepath.Ext(filename)),
			Seed: 1, Recipe: recipe,
		}}
		if err := d.s.readControllers(r.Controllers); err != nil {
			return nil, err
		}
		d.decode()
		if filename != "" && Nameless(d.s.Name) {
			root.Errorf("a file of this name gives the scenario no name, and it names a folder: write one as name")
		}
		d.s.HasQuick = quick
		if quick && r.Quick {
			d.s.Name += quickSuffix
		}
		err := report.Err()
		if quick && r.Quick {
			err = quickError(filename, err)
		}
		if err != nil {
			return nil, err
		}
		return d.s, nil
	}
	return nil, report.Err()
}

// applySettings changes the places of the scenario that the settings name. A setting below "topology" reaches into the
// topology even if the scenario only names it.
func applySettings(root *yamlspec.Value, dir string, sets, controllers []string) *yamlspec.Value {
	for _, set := range sets {
		if !refuseQuickSetting(root, set) {
			root = ReachTopology(root, dir, set).Override(set, controllers...)
		}
	}
	return root
}

// ReachTopology is the scenario with the topology that it only names put in its place, if a path goes below it.
func ReachTopology(root *yamlspec.Value, dir, path string) *yamlspec.Value {
	if strings.HasPrefix(strings.TrimSpace(path), "topology.") && root.At("topology").IsScalar() {
		if v, _ := readTopology(root.At("topology"), dir); v != nil {
			return root.With("topology", v)
		}
	}
	return root
}

// readTopology is the spec that a scenario's topology refers to, a built-in's name or a file relative to dir, and the
// name it has if it says none.
func readTopology(v *yamlspec.Value, dir string) (spec *yamlspec.Value, name string) {
	ref := v.Raw()
	if data, err := topologies.BuiltinSource(ref); err == nil {
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

	nodes map[string]topologies.NodeID // nil if the topology has mistakes: names cannot be judged then
	names []string

	seed int    // as it is read
	hash string // of routing; empty: the usual

	defaultTag bool // the workload that is read gives its flows no tag

	unread   []string          // names of files with congestion controls that could not be read
	ownHosts []*yamlspec.Value // of variants, their host settings as they are written; nil: none
}

func (d *decoder) decode() {
	d.seed = int(d.s.Seed)
	m := d.keys().Decode(d.root)
	d.s.Seed = uint64(d.seed)
	if Reserved(d.s.Name) {
		d.root.At("name").Errorf("name %q is that of a file of results, and a scenario's names a folder beside such: "+
			"give it another", d.s.Name)
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
	d.controllerFiles(controllerValues(m.Get("controllers"), m.Get("cc"), flows, workloads)) // flows are under them
	if workloads == nil && !d.live {
		flows = m.Need("flows")
	}
	d.flows(flows)
	d.workloads(workloads)
	data := d.s.DataPriorities() // flows may have their own
	d.s.Switch = d.switchSettings(sw, data)
	if d.s.Topology != nil {
		d.s.Topology = d.s.Topology.WithBalancing(paths.Balancing(&d.s.Switch.Balancing, &d.s.Host)).WithIP(d.s.Host.IP)
	}
	if (d.live || data&^d.s.Switch.Lossless() != 0) && !host.Has("retransmit_timeout") {
		d.s.Host.RetransmitTimeout = lossyTimeout // a lost tail would never be missed
	}
	if !flows.IsMapping() && !workloads.IsMapping() && len(flows.Items()) == 0 && len(workloads.Items()) == 0 {
		at := m.Key("flows")
		if at == nil {
			at = m.Key("workloads")
		}
		at.Errorf("a scenario has at least one flow")
	}
	d.endless(m)
	d.constants(m.Get("cc"))
	d.controllers(m.Get("controllers"), sw, host)
	d.faults(m.Get("faults"))
	d.repairs(host)
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

// routing makes the topology's switches choose among equal-cost ports by the hash that was read at v.
func (d *decoder) routing(v *yamlspec.Value) {
	plan := d.s.Topology
	if d.hash == "" || plan == nil {
		return
	}
	if d.hash == topologies.HashHPCC.String() && !plan.SinglePort() {
		v.Errorf("hash hpcc is for hosts of one port, as they are in HPCC's simulator: topology %s has %s",
			plan.Name, plan.HostSummary())
		return
	}
	if d.hash == topologies.HashHPCC.String() && plan.Weighted() {
		v.Errorf("hash hpcc knows no weights, and links of topology %s have some: HPCC's simulator takes equal-cost "+
			"links alike", plan.Name)
		return
	}
	d.s.Topology = plan.WithHash(topologies.Hash(slices.Index(topologies.HashNames, d.hash)))
}

func (d *decoder) topology(v *yamlspec.Value) {
	name := d.s.Name
	spec := v
	switch {
	case v == nil:
		return
	case v.IsScalar():
		spec, name = readTopology(v, d.dir)
	case !v.IsMapping():
		v.Errorf("a topology is a built-in's name, a file's path, or a mapping as in a topology file")
		return
	}
	plan := topologies.Decode(spec, name)
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

// locate reports the problems of settings, joined FieldErrors, each at its path below v.
func (d *decoder) locate(v *yamlspec.Value, err error) { d.locateIn(v, "", err) }

// locateIn is locate where v is the value of a path.
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

// unjoin is the errors that errors.Join put together, and those that were joined before.
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

// find is the nodes that v names; unknown ones are reported.
func (d *decoder) find(v *yamlspec.Value) (found []topologies.NodeID, at []*yamlspec.Value) {
	for _, n := range v.Names() {
		if d.nodes == nil {
			continue
		}
		id, ok := d.nodes[n.Text]
		if !ok {
			n.At.Errorf("no node %q in topology %s%s", n.Text, d.s.Topology.Name, yamlspec.Suggest(n.Text, d.names))
			continue
		}
		found, at = append(found, id), append(at, n.At)
	}
	return found, at
}
