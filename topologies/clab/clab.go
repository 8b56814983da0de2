// Package clab reads topology files of containerlab, .clab.yml (https://containerlab.dev/manual/topo-def-file/), and
// writes the text of topologies for pausenet.
package clab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Is reports whether a file's name is one of containerlab's topology files.
func Is(name string) bool {
	return strings.HasSuffix(name, ".clab.yml") || strings.HasSuffix(name, ".clab.yaml")
}

// Topology holds an imported topology.
type Topology struct {
	Name string
	Text string // of a topology file, whose paths are relative to the folder of containerlab's
	// Notes name what the file has and the topology has not, with a remedy each.
	Notes []string

	report *yamlspec.Report
	lines  []*yamlspec.Value // by line of Text, from 1: what it was made from; nil: nothing
}

// Located returns an error from reading Text with the positions in containerlab's file in place of those in Text.
func (t *Topology) Located(err error) error {
	var problems yamlspec.Problems
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems {
		if p.Line >= len(t.lines) || t.lines[p.Line] == nil {
			return err
		}
		t.lines[p.Line].Errorf("%s", p.Message)
	}
	return t.report.Err()
}

// node is a node of the file, with what groups, kinds and defaults give it.
type node struct {
	name, kind string
	at         *yamlspec.Value
	sections   []*yamlspec.Value // its own, its group's, its kind's, the defaults
	host       bool
	interfaces map[string]string // containerlab's names of its interfaces: pausenet's
	neighbours int
}

// written is a node of the topology.
type written struct {
	Name  string            `json:"name"`
	Kind  string            `json:"kind"`
	Image string            `json:"image,omitempty"`
	Binds []string          `json:"binds,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	Exec  []string          `json:"exec,omitempty"`
	Ports []string          `json:"ports,omitempty"`
}

// link is a link of the topology.
type link struct {
	From string `json:"from"`
	To   string `json:"to"`
	MTU  int    `json:"interface_mtu,omitempty"`

	at *yamlspec.Value
}

// converter holds the state of a conversion.
type converter struct {
	nodes map[string]*node
	order []*node
	links []link
	notes map[string][]string // by text, about nodes
	texts []string            // of notes, in order
}

// Convert reads a file. Errors name positions in it. An image is a file if there is one of that name in the folder.
func Convert(filename string, data []byte) (*Topology, error) {
	report := new(yamlspec.Report)
	root := report.Parse(filename, data)
	c := &converter{nodes: map[string]*node{}, notes: map[string][]string{}}
	t := &Topology{report: report, Name: strings.TrimSuffix(strings.TrimSuffix(filepath.Base(filename), ".yml"), ".yaml")}
	t.Name = strings.TrimSuffix(t.Name, ".clab")
	file := root.Mapping()
	file.Get("name").String(&t.Name)
	topology := file.Need("topology")
	file.All(func(key, _ *yamlspec.Value) {
		if why := unsupportedTop[key.Raw()]; why != "" {
			c.note("", "%s: %s", key.Raw(), why)
		}
	})
	c.readNodes(topology)
	c.readLinks(topology)
	c.addHosts()
	if report.Count() == 0 {
		t.lines = make([]*yamlspec.Value, 4, 5+len(c.order)+len(c.links)) // a comment, the name, and "nodes:" come first
		t.lines[2] = file.Get("name")
		for _, n := range c.order {
			t.lines = append(t.lines, n.at)
		}
		t.lines = append(t.lines, nil)
		for i := range c.links {
			t.lines = append(t.lines, c.links[i].at)
		}
		t.Text = c.text(filepath.Base(filename), t.Name, filepath.Dir(filename))
	}
	for _, text := range c.texts {
		if of := c.notes[text]; len(of) > 0 {
			text = names(of) + ": " + text
		}
		t.Notes = append(t.Notes, text)
	}
	return t, report.Err()
}

// unsupportedTop holds the remedies for keys of the file besides name and topology.
var unsupportedTop = map[string]string{
	"mgmt":     "pausenet has no management network: use up --nat, or ports of a node",
	"prefix":   "nodes are addressed by their names: use pausenet exec NODE",
	"settings": "settings of containerlab itself have no effect",
	"debug":    "settings of containerlab itself have no effect",
}

// note adds a note, about a node unless its name is empty.
func (c *converter) note(node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if _, known := c.notes[text]; !known {
		c.texts = append(c.texts, text)
		c.notes[text] = nil
	}
	if node != "" && !slices.Contains(c.notes[text], node) {
		c.notes[text] = append(c.notes[text], node)
	}
}

// names lists nodes, the first of many.
func names(all []string) string {
	const most = 4
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// hostKinds lists the kinds that become hosts; a linux node may also be a switch, see isRouter.
var hostKinds = []string{
	"linux", "k8s-kind", "ext-container", "generic_vm", "fortinet_fortigate", "keysight_ixia-c-one", "openbsd", "freebsd",
}

// impossible holds the kinds that no node of a fabric can stand for.
var impossible = map[string]string{
	"host": "it is the machine itself: use ports of a node, or up --nat",
}

// router matches images of programs that route.
var router = regexp.MustCompile(`(^|[/_-])(frr|frrouting|bird|bird2|quagga|gobgp|holo|vyos|sonic)`)

// readNodes reads topology.nodes, with defaults, kinds and groups.
func (c *converter) readNodes(topology *yamlspec.Value) {
	sections := topology.Mapping()
	kinds, groups, defaults := sections.Get("kinds"), sections.Get("groups"), sections.Get("defaults")
	sections.Need("nodes").Mapping().All(func(key, v *yamlspec.Value) {
		n := &node{name: key.Raw(), at: key, interfaces: map[string]string{}}
		own := []*yamlspec.Value{v}
		if group := first([]*yamlspec.Value{v, defaults}, "group"); group != nil && groups.Has(group.Raw()) {
			own = append(own, groups.At(group.Raw()))
		}
		kind := first(append(own, defaults), "kind")
		if kind == nil {
			key.Errorf("node %s has no kind (add kind: linux, or a kind to topology.defaults)", n.name)
			return
		}
		n.kind = kind.Raw()
		if kinds.Has(n.kind) {
			own = append(own, kinds.At(n.kind))
		}
		if defaults != nil {
			own = append(own, defaults)
		}
		n.sections = own
		if why := impossible[n.kind]; why != "" {
			kind.Errorf("kind %s: %s (remove the node)", n.kind, why)
			return
		}
		n.host = slices.Contains(hostKinds, n.kind)
		if image := first(own, "image"); n.kind == "linux" && image != nil && router.MatchString(image.Raw()) {
			n.host = false
			c.note(n.name, "kind linux with an image that routes becomes a switch (labels: {pausenet: host} makes it a host)")
		}
		for _, s := range own {
			if label := child(child(s, "labels"), "pausenet"); label != nil {
				if role := label.Raw(); role != "host" && role != "switch" {
					label.Errorf("expected host or switch, found %q", role)
				}
				n.host = label.Raw() == "host"
				break
			}
		}
		c.nodes[n.name], c.order = n, append(c.order, n)
	})
}

// first returns the value of a key in the first of the sections that have it.
func first(sections []*yamlspec.Value, key string) *yamlspec.Value {
	for _, s := range sections {
		if v := child(s, key); v != nil {
			return v
		}
	}
	return nil
}

func child(v *yamlspec.Value, key string) *yamlspec.Value {
	if !v.Has(key) {
		return nil
	}
	return v.At(key)
}

// end is one end of a link.
type end struct {
	node *node
	port string
}

// readLinks reads topology.links, in the short and the long form.
func (c *converter) readLinks(topology *yamlspec.Value) {
	const example = `a link must be a mapping such as {endpoints: ["a:eth1", "b:eth1"]}`
	for _, item := range topology.Mapping().Get("links").Mappings(example) {
		m := item.Mapping()
		kind := "veth"
		m.Get("type").String(&kind)
		if kind != "veth" && kind != "brief" {
			c.note("", "links of type %s lead out of the topology and are left out: use up --nat, or ports of a node", kind)
			continue
		}
		ends := m.Need("endpoints").Items()
		if len(ends) != 2 {
			item.Errorf("a link has two endpoints, found %d", len(ends))
			continue
		}
		var both [2]end
		sound := true
		for i, e := range ends {
			both[i] = c.endOf(e)
			sound = sound && both[i].node != nil
		}
		if !sound {
			continue
		}
		made := link{From: both[0].node.name, To: both[1].node.name, at: item}
		if mtu := child(item, "mtu"); mtu != nil {
			mtu.Int(&made.MTU, 1280, 9216)
		}
		if both[0].node.host && both[1].node.host {
			item.Errorf("the link joins two hosts, %s and %s: put a node of kind bridge between them, or make one a switch by "+
				"labels: {pausenet: switch}", made.From, made.To)
			continue
		}
		for _, e := range both {
			e.node.neighbours++
			e.node.interfaces[e.port] = fmt.Sprintf("%s-eth%d", e.node.name, e.node.neighbours)
		}
		c.links = append(c.links, made)
	}
}

// endOf returns an end: "node:interface", or a mapping with node and interface. Without a node it is one out of the
// topology.
func (c *converter) endOf(v *yamlspec.Value) (e end) {
	var name string
	switch {
	case v.IsMapping() && !v.Has("node") && !v.Has("interface"): // a:eth1 in a list in brackets, without quotes
		v.Mapping().All(func(key, value *yamlspec.Value) { name, e.port = key.Raw(), value.Raw() })
	case v.IsMapping():
		m := v.Mapping()
		m.Need("node").String(&name)
		m.Get("interface").String(&e.port)
	default:
		name, e.port, _ = strings.Cut(v.Raw(), ":")
	}
	switch e.node = c.nodes[name]; {
	case e.node != nil:
	case slices.Contains([]string{"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}, name):
		c.note("", "links to %s lead out of the topology and are left out: use up --nat, or ports of a node", name)
	default:
		var all []string
		for _, n := range c.order {
			all = append(all, n.name)
		}
		v.Errorf("no node %q%s", name, spelling.Suggest(name, all))
	}
	return e
}

// addHosts gives each switch a host if the topology has fewer than two.
func (c *converter) addHosts() {
	hosts := 0
	for _, n := range c.order {
		if n.host {
			hosts++
		}
	}
	if hosts >= 2 {
		return
	}
	for _, n := range slices.Clone(c.order) {
		if n.host {
			continue
		}
		own := &node{name: n.name + "-h", host: true, neighbours: 1}
		c.order = append(c.order, own)
		c.links = append(c.links, link{From: own.name, To: n.name})
		c.note(own.name, "hosts added, as a fabric needs two")
	}
}

// keys of a node that have a meaning here.
var known = []string{"kind", "group", "labels", "image", "binds", "exec", "ports", "env"}

// remedies holds what to do instead of a node's key without a meaning here.
var remedies = map[string]string{
	"startup-config": "pausenet runs no network operating system: start BIRD or FRR on a node",
	"config":         "pausenet runs no network operating system: start BIRD or FRR on a node",
	"license":        "pausenet runs no network operating system, so remove it",
	"type":           "a switch's hardware is set by topology and scenario (docs/scenarios.md), so remove it",
	"cmd":            "an image's command does not start: use exec with & at the end",
	"entrypoint":     "an image's command does not start: use exec with & at the end",
	"user":           "programs on nodes run as root: use exec with su or setpriv",
	"mgmt-ipv4":      "pausenet has no management network: use pausenet exec NODE",
	"mgmt-ipv6":      "pausenet has no management network: use pausenet exec NODE",
	"network-mode":   "each node has its own network: use up --nat for the machine's",
	"dns":            "names are in /etc/hosts; up --nat brings the machine's name server",
	"sysctls":        "use exec with sysctl -w net...",
	"env-files":      "use env",
	"cpu":            "nodes share the machine: use exec with taskset",
	"cpu-set":        "nodes share the machine: use exec with taskset",
	"memory":         "nodes share the machine: use exec with ulimit -v",
	"cap-add":        "use up --privileged",
	"devices":        "nodes have the machine's devices",
	"startup-delay":  "nodes start in the order of the file: use exec with sleep",
	"wait-for":       "nodes start in the order of the file: put the node after the others",
	"stages":         "nodes start in the order of the file: put the node after the others",
	"healthcheck":    "use exec, whose failures up reports",
	"restart-policy": "use exec with a loop of sh",
	"runtime":        "nodes are namespaces, not containers, so remove it",
}

// text writes the topology.
func (c *converter) text(file, name, folder string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "# Made from %s by \"pausenet import clab\".\nname: %s\nnodes:\n", file, encode(name))
	for _, n := range c.order {
		fmt.Fprintf(&t, "  - %s\n", encode(c.written(n, folder)))
	}
	t.WriteString("links:\n")
	for _, l := range c.links {
		fmt.Fprintf(&t, "  - %s\n", encode(l))
	}
	return t.String()
}

// encode returns a value as YAML in flow style.
func encode(v any) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of texts and numbers only
	return strings.TrimSpace(text.String())
}

// written returns a node of the topology.
func (c *converter) written(n *node, folder string) written {
	w := written{Name: n.name, Kind: "switch"}
	if n.host {
		w.Kind = "host"
	}
	for _, s := range n.sections {
		if s.IsMapping() {
			s.Mapping().All(func(key, _ *yamlspec.Value) {
				if k := key.Raw(); !slices.Contains(known, k) {
					why := cmp.Or(remedies[k], "it has no meaning here, so remove it")
					c.note(n.name, "%s: %s", k, why)
				}
			})
		}
		if env := child(s, "env"); env != nil {
			env.Mapping().All(func(key, v *yamlspec.Value) {
				if w.Env == nil {
					w.Env = map[string]string{}
				}
				if _, nearer := w.Env[key.Raw()]; !nearer {
					w.Env[key.Raw()] = v.Raw()
				}
			})
		}
	}
	if image := first(n.sections, "image"); image != nil {
		if exists(folder, image.Raw()) {
			w.Image = image.Raw()
		} else {
			c.note(n.name,
				"image: pausenet pulls none, so the node has the machine's files: run \"docker save -o FILE.tar IMAGE\", "+
					"and write the file's name")
		}
	}
	targets := map[string]bool{}
	for _, text := range lists(n.sections, "binds") {
		parts := strings.Split(text, ":")
		switch {
		case strings.Contains(text, "__clab") || strings.HasPrefix(text, "~"):
			c.note(n.name, "binds: %s has a path of containerlab: write a path of the machine", text)
			continue
		case len(parts) < 2 || targets[parts[1]]:
			continue // a nearer section has mounted something there
		}
		targets[parts[1]] = true
		bind := parts[0] + ":" + parts[1]
		if len(parts) > 2 && slices.Contains(strings.Split(parts[2], ","), "ro") {
			bind += ":ro"
		}
		w.Binds = append(w.Binds, bind)
	}
	own := n.kind == "" || n.kind == "linux"
	general := slices.Clone(n.sections) // exec runs from the general to the node's own
	slices.Reverse(general)
	for _, text := range lists(general, "exec") {
		if !own {
			c.note(n.name, "exec: kind %s has commands of its own system, which does not run here: use a linux node", n.kind)
			continue
		}
		w.Exec = append(w.Exec, n.rename(text))
	}
	for _, text := range lists(n.sections, "ports") {
		if !n.host {
			c.note(n.name, "ports: only hosts have them, so move them to a host")
			continue
		}
		w.Ports = append(w.Ports, strings.TrimSuffix(text, "/tcp"))
	}
	return w
}

// lists returns the texts of a key in all sections, without repetitions.
func lists(sections []*yamlspec.Value, key string) (all []string) {
	for _, s := range sections {
		for _, item := range child(s, key).Items() {
			if text := item.Raw(); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// word matches a word of a command that may be an interface's name.
var word = regexp.MustCompile(`[A-Za-z0-9_./-]+`)

// rename replaces the node's interfaces in a command by their names here.
func (n *node) rename(command string) string {
	return word.ReplaceAllStringFunc(command, func(w string) string {
		if own := n.interfaces[w]; own != "" {
			return own
		}
		return w
	})
}
