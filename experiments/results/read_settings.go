package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/internal/lists"
)

// thisRun names the group of settings that distinguish a run from others of its scenario, and settingsName the user's
// settings in it.
const (
	thisRun      = "Run"
	settingsName = "--set"
)

// controllerConstants names the group of a congestion control's constants.
const controllerConstants = "Controller's constants"

// Groups that do not decide a run's results: settings that follow from others, and its environment.
const (
	madeBy            = "Made by"
	programAndMachine = "Program and machine"
)

// settings returns the settings in the run's manifest that decide its results.
func (r *RunFolder) settings() []report.Setting {
	m, v := &r.manifest, &r.manifest.Configuration
	var all []report.Setting
	add := func(group, name, value string) {
		if value != "" {
			all = append(all, report.Setting{Group: group, Name: name, Value: value})
		}
	}
	add(thisRun, "scenario", m.Scenario)
	add(thisRun, "controller", m.Controller)
	if m.CC != m.Controller {
		add(thisRun, "congestion control", m.CC)
	}
	add(thisRun, "seed", strconv.FormatUint(m.Seed, 10))
	add(thisRun, settingsName, strings.Join(m.Settings, ", "))
	for _, s := range [][2]string{
		{"version", m.Version},
		{"build", m.Build},
		{"plane", m.Plane},
		{"kernel", m.Kernel},
		{"hooks", m.Hooks},
		{"Go", m.Go},
		{"machine", m.Machine},
	} {
		add(programAndMachine, s[0], s[1])
	}
	add("Fabric", "topology", v.Topology.Name)
	add("Fabric", "size", m.Fabric)
	add("Fabric", "framing", v.Topology.Framing)
	add("Fabric", "mtu_bytes", strconv.Itoa(v.Topology.MTU))
	add("Fabric", "nodes", digest(len(v.Topology.Nodes), v.Topology.Nodes))
	add("Fabric", "links", digest(len(v.Topology.Links), v.Topology.Links))
	add("Traffic", "duration_ns", strconv.FormatFloat(v.Duration, 'f', -1, 64))
	add("Traffic", "drain", strconv.FormatBool(v.Drain))
	if v.DrainLimit > 0 {
		add("Traffic", "drain_limit_ns", strconv.FormatFloat(v.DrainLimit, 'f', -1, 64))
	}
	add("Traffic", "flows listed", digest(len(v.Flows), v.Flows))
	for i := range v.Workloads {
		add("Traffic", "workload "+v.Workloads[i].Tag, v.Workloads[i].Describe())
	}
	for _, part := range []struct {
		group string
		value any
	}{{"Switches", &v.Switch}, {"Hosts", &v.Host}, {"Sampling", &v.Sample}} {
		for _, s := range flatten(part.value) {
			if !strings.HasPrefix(s[0], "auto.") {
				add(part.group, s[0], s[1])
			}
		}
	}
	for _, s := range v.Switch.Auto().Settings() { // those that differ between ports or switches
		name, _, _ := strings.Cut(s[0], " ")
		if !slices.ContainsFunc(all, func(known report.Setting) bool { return known.Group == "Switches" && known.Name == name }) {
			add("Switches", s[0], s[1])
		}
	}
	values := map[string][]string{} // values of each constant on different paths
	for i := range m.Constants {
		for name, value := range m.Constants[i].Values {
			if !slices.Contains(values[name], value) {
				values[name] = append(values[name], value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		add(controllerConstants, name, strings.Join(values[name],
			" or ")+map[bool]string{true: ", by path"}[len(values[name]) > 1])
	}
	add(madeBy, "command", m.Command)
	add(madeBy, "configuration_sha256", m.Hash)
	return all
}

// digest returns a hash of a list that is too long to show.
func digest(n int, list any) string {
	if n == 0 {
		return ""
	}
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(list) // only texts and numbers, so it cannot fail
	return fmt.Sprintf("%d (sha256 %s…)", n, hex.EncodeToString(sum.Sum(nil)[:6]))
}

// flatten returns the leaves of a value's JSON with their paths, in order: {"pfc.xoff_bytes", "320000"}.
func flatten(v any) [][2]string {
	data, err := json.Marshal(v)
	if err != nil {
		return nil // only texts and numbers, so it cannot fail
	}
	var leaves [][2]string
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var walk func(path string)
	walk = func(path string) {
		token, err := d.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'):
			for d.More() {
				key, _ := d.Token()
				walk(strings.TrimPrefix(fmt.Sprintf("%s.%v", path, key), "."))
			}
			_, _ = d.Token()
		case json.Delim('['):
			start := len(leaves)
			for d.More() {
				walk(path)
			}
			_, _ = d.Token()
			items := lists.Map(leaves[start:], func(leaf [2]string) string { return leaf[1] })
			leaves = append(leaves[:start], [2]string{path, strings.Join(items, ", ")})
		default:
			leaves = append(leaves, [2]string{path, fmt.Sprint(token)})
		}
	}
	walk("")
	return leaves
}
