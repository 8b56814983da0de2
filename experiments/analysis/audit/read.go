package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lazy"
)

// kind is a file's format.
type kind int

const (
	unknown     kind = iota
	configDB         // config_db.json, or rendered parts of it such as buffers.json and qos.json
	lookup           // pg_profile_lookup.ini
	portIni          // port_config.ini
	switchSet        // switch.json: a list of APPL_DB's tables
	mlnxQoS          // output of mlnx_qos -i
	romaTos          // output of cma_roce_tos
	dcbText          // output of dcb pfc|app show
	cnpDSCP          // cnp_dscp of the driver's sysfs
	cnpPrio          // cnp_802p_prio of the driver's sysfs
	ethtool          // output of ethtool and ethtool --show-fec
	ipLink           // output of ip link
	lldp             // output of lldpcli show neighbors -f json
	clab             // a topology of containerlab
	eosConfig        // running configuration of an Arista switch
	nvueConfig       // nv config show of a Cumulus switch
	junosConfig      // configuration of a Juniper switch, with braces or as set commands
	minigraph        // minigraph.xml of SONiC
	slurm            // Slurm's topology.conf
	ibnet            // output of ibnetdiscover
)

// kindOf returns a file's format by its name and, where that is free, by its text.
func kindOf(f *File) kind {
	base := path.Base(f.Name)
	text := f.Data[:min(len(f.Data), 4096)]
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return unknown // binary
	case strings.HasSuffix(base, "pg_profile_lookup.ini"):
		return lookup
	case strings.HasSuffix(base, "port_config.ini"):
		return portIni
	case strings.HasSuffix(base, ".clab.yml"), strings.HasSuffix(base, ".clab.yaml"):
		return clab
	case strings.HasSuffix(base, "topology.conf"):
		return slurm
	case strings.HasSuffix(base, ".json"):
		switch {
		case has(`"lldp"`):
			return lldp
		case has("SWITCH_TABLE:"):
			return switchSet
		case tableName().Match(f.Data):
			return configDB
		}
		return unknown
	case strings.Contains(base, "cma_roce_tos"):
		return romaTos
	case strings.Contains(base, "cnp_dscp"):
		return cnpDSCP
	case strings.Contains(base, "cnp_802p_prio"):
		return cnpPrio
	case has("DCBX mode:"), has("Priority trust state:"), has("PFC configuration:"):
		return mlnxQoS
	case has("prio-pfc"), has("dscp-prio"):
		return dcbText
	case has("Settings for "), has("FEC parameters for "):
		return ethtool
	case has("<DeviceMiniGraph"):
		return minigraph
	case has("Topology file: generated on"), ibNode().Match(text):
		return ibnet
	case nvueText().Match(text):
		return nvueConfig
	case otherSystem().Match(text):
		return unknown
	case junosText().Match(f.Data):
		return junosConfig
	case eosText().Match(f.Data):
		return eosConfig
	case regexpMTU().Match(text):
		return ipLink
	}
	return unknown
}

// These find formats by their text.
var (
	ibNode      = lazy.Regexp(`(?m)^(Switch|Ca)\t\d+ "[SH]-`)
	nvueText    = lazy.Regexp(`(?m)nvue-api-version:|^(- )?set:\s*$`)
	otherSystem = lazy.Regexp(`(?m)^(feature \w+|class-map type network-qos |!Command: show running-config)`) // NX-OS
	junosText   = lazy.Regexp(`(?m)^[ \t]*(set )?class-of-service( \{| \w)|^[ \t]*(set )?interfaces (\{|\w\w-\d+/)`)
	eosText     = lazy.Regexp(`(?m)^interface (Ethernet|Port-Channel)\d|^qos (map|profile) `)
)

// tableName finds a table of a SONiC configuration.
var tableName = lazy.Regexp(`"(PORT|PORT_QOS_MAP|BUFFER_\w+|QUEUE|CABLE_LENGTH|PFC_WD|WRED_PROFILE|DSCP_TO_TC_MAP|DEVICE_METADATA)"`)

var regexpMTU = lazy.Regexp(`(?m)^\d+: [^ \n]+: .*\bmtu (\d+)\b`)

// suffixes lists the endings of files' names after the device's: leaf0.config_db.json is leaf0's.
var suffixes = []string{
	"config_db.json", "pg_profile_lookup.ini", "port_config.ini", "buffers.json", "qos.json", "switch.json", "lldp.json",
	"mlnx_qos", "cma_roce_tos", "cnp_dscp", "cnp_802p_prio", "ethtool", "dcb", "ip_link",
	"running-config", "startup-config", "junos.conf", "nvue.yaml", "startup.yaml", "minigraph.xml", "topology.conf",
	"ibnetdiscover",
}

// owner returns the device that a file's path names: the part before a known ending, or else the folder. certain is
// false for the folder.
func owner(name string) (device string, certain bool) {
	base := path.Base(name)
	for _, s := range suffixes {
		if i := strings.LastIndex(base, s); i > 0 {
			return strings.TrimRight(base[:i], "._-"), true
		}
	}
	if folder := path.Base(path.Dir(name)); folder != "." && folder != "/" {
		return folder, false
	}
	stem, _, _ := strings.Cut(base, ".")
	return stem, false
}

// wholeOwner returns the device of a file that holds the whole configuration of a switch: as owner does or, if the name
// has another ending, the name before it. The name running-config.cfg is of the folder's device.
func wholeOwner(name string) string {
	device, certain := owner(name)
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	if certain || slices.Contains([]string{
		"", "running-config", "startup-config", "startup", "config", "nvue", "junos",
		"eos",
	}, stem) {
		return device
	}
	return stem
}

// unreadable returns an error for a file that is a configuration by its name, but not by its text: a file that was cut
// off or overwritten is a mistake, not a file of another program.
func unreadable(f *File) error {
	base := path.Base(f.Name)
	switch {
	case !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(base, s) }):
		return nil
	case strings.HasSuffix(base, ".json"):
		var value any
		if err := json.Unmarshal(f.Data, &value); err != nil {
			return fmt.Errorf("not JSON: %w (write the file again, or remove it)", err)
		}
		return nil
	}
	return errors.New("not the format that its name says, or cut off (write the file again, or remove it)")
}

// reader collects the files of devices.
type reader struct {
	fabric   *Fabric
	switches map[string]*source // by name of owner or, for whole configurations, by folder and name
	hosts    map[string]*Host   // by label
	cables   []Link
	ignored  []string
}

// source holds the files of one switch.
type source struct {
	device  string
	files   []*File // of configDB, merged in order
	lookup  []*File
	portIni []*File
	set     []*File
	trees   [junosConfig + 1][]*File // whole configurations, by kind
}

// Read reads the files into a fabric, and returns the names of files that no reader knows.
func Read(list []File) (*Fabric, []string, error) {
	var err error
	r := &reader{fabric: &Fabric{}, switches: map[string]*source{}, hosts: map[string]*Host{}}
	order := make([]*File, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortStableFunc(order, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	var shared []*File // lookups that name no switch
	for _, file := range order {
		device, certain := owner(file.Name)
		key := device
		of := func() *source {
			if r.switches[key] == nil {
				r.switches[key] = &source{device: device}
			}
			return r.switches[key]
		}
		switch k := kindOf(file); k {
		case configDB:
			of().files = append(of().files, file)
		case lookup:
			if !certain {
				shared = append(shared, file)
				break
			}
			of().lookup = append(of().lookup, file)
		case portIni:
			of().portIni = append(of().portIni, file)
		case switchSet:
			of().set = append(of().set, file)
		case lldp:
			err = r.readLLDP(file, device)
		case clab:
			if err = r.readClab(file); err != nil { // it names the file
				return nil, nil, err
			}
		case eosConfig, nvueConfig, junosConfig:
			device = wholeOwner(file.Name)
			key = path.Join(path.Dir(file.Name), device) // of each folder another switch
			of().trees[k] = append(of().trees[k], file)
		case minigraph:
			err = r.readMinigraph(file)
		case slurm:
			err = r.readSlurm(file)
		case ibnet:
			r.readIBNet(file)
		case unknown:
			if err = unreadable(file); err == nil {
				r.ignored = append(r.ignored, file.Name)
			}
		default:
			err = r.readNIC(k, file, device)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	for _, device := range sortedKeys(r.switches) {
		s := r.switches[device]
		for _, file := range shared { // of the switch's own folder, or of one above it
			if folder := path.Dir(file.Name); len(s.files) > 0 && (folder == "." || path.Dir(s.files[0].Name) == folder ||
				strings.HasPrefix(s.files[0].Name, folder+"/")) {
				s.lookup = append(s.lookup, file)
			}
		}
		if err := r.readSwitch(s); err != nil {
			return nil, nil, err
		}
		for k, of := range s.trees {
			if err := r.readTree(kind(k), s.device, of); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, label := range sortedKeys(r.hosts) {
		r.fabric.Hosts = append(r.fabric.Hosts, r.hosts[label])
	}
	r.connect()
	return r.fabric, r.ignored, nil
}

// readTree reads the configuration of a switch that does not run SONiC, from one or more files.
func (r *reader) readTree(k kind, device string, list []*File) error {
	if len(list) == 0 {
		return nil
	}
	root := &node{file: list[0].Name}
	s := &Switch{
		Name: device, device: device, Pools: map[string]*Pool{}, Seed: -1, Whole: true, Place: Place{File: list[0].Name},
	}
	add, read := root.addLines, s.readEOS
	switch k {
	case nvueConfig:
		add, read = root.addYAML, s.readNVUE
	case junosConfig:
		add, read = root.addJunos, s.readJunos
	}
	for _, f := range list {
		if err := add(f); err != nil {
			return err
		}
	}
	if err := read(root); err != nil {
		return err
	}
	if len(s.Ports) == 0 {
		for _, f := range list {
			r.ignored = append(r.ignored, f.Name)
		}
		return nil
	}
	for _, p := range s.Ports {
		s.Stated = s.Stated || p.QoS
	}
	r.fabric.Switches = append(r.fabric.Switches, s)
	return nil
}

// connect resolves the names of cables' ends. A cable that several files name is one.
func (r *reader) connect() {
	seen := map[[2]End]bool{}
	names := map[string]string{} // of switches, by the names of their files
	for _, s := range r.fabric.Switches {
		names[s.device] = s.Name
	}
	for _, s := range r.fabric.Switches {
		names[s.Name] = s.Name
	}
	for i := range r.fabric.Tree {
		of := &r.fabric.Tree[i]
		of.Switch, of.Device = cmp.Or(names[of.Switch], of.Switch), cmp.Or(names[of.Device], of.Device)
	}
	for _, l := range r.cables {
		for side := range l.Ends {
			end := &l.Ends[side]
			end.Device = cmp.Or(names[end.Device], end.Device)
			for _, s := range r.fabric.Switches {
				if s.Name == end.Device {
					if l.Ports[side] = s.port(end.Port); l.Ports[side] != nil {
						end.Port = l.Ports[side].Name // not its alias
					}
				}
			}
		}
		key := l.Ends
		if key[1].Device < key[0].Device || key[1].Device == key[0].Device && key[1].Port < key[0].Port {
			key[0], key[1] = key[1], key[0]
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		for side, end := range l.Ends {
			for _, h := range r.fabric.Hosts {
				if h.Name == end.Device && (h.NIC == "" || h.NIC == end.Port) {
					l.Hosts[side] = h
				}
			}
		}
		r.fabric.Links = append(r.fabric.Links, l)
	}
}

// numbers finds all numbers in a text.
var numbers = lazy.Regexp(`\d+`)

// first returns the first group of an expression's match.
func first(re *regexp.Regexp, data []byte) (text string, line int) {
	m := re.FindSubmatchIndex(data)
	if m == nil {
		return "", 0
	}
	return string(data[m[2]:m[3]]), 1 + bytes.Count(data[:m[0]], []byte("\n"))
}
