package spec

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// programs holds the environment of a node's programs, and where the file sets it.
type programs struct {
	topologies.Programs
	nat *yamlspec.Value // nil: the file does not set nat
}

// place implements topologies.Place by a value of a file.
type place struct{ *yamlspec.Value }

func (p place) Refuse(format string, args ...any) error {
	p.Errorf(format, args...)
	return p.Report().Err()
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.File(), p.Line()) }

// position returns the position of a value.
func position(v *yamlspec.Value) topologies.Position { return topologies.Position{In: place{v}} }

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	commandName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

var programKeys = new(programs).keys(true).Names()

// SetKeys returns the keys of programs that are set, in documented order; none for nil.
func SetKeys(p *topologies.Programs) (keys []string) {
	if p == nil {
		return nil
	}
	mounts := func(kind topologies.MountKind) bool {
		return slices.ContainsFunc(p.Mounts, func(m topologies.Mount) bool { return m.Kind == kind })
	}
	for i, said := range []bool{
		p.Image != nil, mounts(topologies.Bind), mounts(topologies.Private), mounts(topologies.Overlay), len(p.Env) > 0,
		len(p.Exec) > 0, p.NAT, len(p.Ports) > 0,
	} {
		if said {
			keys = append(keys, programKeys[i])
		}
	}
	return keys
}

// decode reads the programs and the group of an entry's nodes; nil if it has no programs.
func (n *nodeEntry) decode(m *yamlspec.Mapping) *programs {
	v := m.Get("group")
	if v.IsScalar() && n.group.Text == "" {
		v.Errorf("the name is empty: remove group for none")
	}
	n.group.At = v
	return n.programs.decode(m, len(m.Get("name").Names()) == 1)
}

// decode checks the keys of programs, and returns nil if there are none. Only a single node can have ports.
func (p *programs) decode(m *yamlspec.Mapping, single bool) *programs {
	if v := m.Get("image"); v != nil {
		if strings.Contains(v.Raw(), "://") {
			v.Errorf("%q: an image must be a local file or folder; fetch it from a registry with skopeo copy %s oci:FOLDER, "+
				"then write image: FOLDER", v.Raw(),
				v.Raw())
		} else if path, ok := hostPath(v); ok {
			p.Image = &topologies.Text{Text: path, Position: position(v)}
		}
	}
	for _, v := range m.Get("binds").Items() {
		decodeBind(v, p)
	}
	for _, kind := range []topologies.MountKind{topologies.Private, topologies.Overlay} {
		for _, v := range m.Get(string(kind)).Items() {
			path := ""
			if v.String(&path) && target(v, &path) {
				p.mount(topologies.Mount{Kind: kind, Target: path, Position: position(v)})
			}
		}
	}
	m.Get("env").Mapping().All(func(key, v *yamlspec.Value) {
		value := ""
		if name := key.Raw(); !variableName.MatchString(name) {
			key.Errorf("%q is not a valid variable name: use letters, digits and _, and no digit first", name)
		} else if v.String(&value) {
			p.Env = append(p.Env, topologies.Text{Text: name + "=" + value, Position: position(v)})
		}
	})
	for _, v := range m.Get("exec").Items() {
		line := ""
		if v.String(&line) {
			if strings.TrimSpace(line) == "" {
				v.Errorf("the command is empty: write one for sh, such as iperf3 -s -D")
				continue
			}
			p.Exec = append(p.Exec, topologies.Text{Text: line, Position: position(v)})
		}
	}
	p.nat = m.Get("nat")
	if v := m.Get("ports"); v != nil {
		if !single {
			m.Key("ports").Errorf("ports lead to a single host: write them with an entry for that node alone")
		}
		for _, item := range v.Items() {
			if f, ok := decodeForward(item); ok {
				p.Ports = append(p.Ports, f)
			}
		}
	}
	if slices.ContainsFunc(programKeys, func(key string) bool { return m.Key(key) != nil }) {
		return p
	}
	return nil
}

// hostPath returns a path of the machine, absolute or relative to the file's folder.
func hostPath(v *yamlspec.Value) (path string, ok bool) {
	if !v.String(&path) {
		return "", false
	}
	if path == "" {
		v.Errorf("the path is empty")
		return "", false
	}
	return fromFolder(v, path), true
}

func fromFolder(v *yamlspec.Value, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(v.File()), path)
}

// colons decodes text that contains colons. Without quotes within {...}, the YAML parser takes the text after the last
// colon for a value.
func colons(v *yamlspec.Value, text *string) bool {
	if !v.IsMapping() {
		return v.String(text)
	}
	var parts []string
	plain := true
	v.Mapping().All(func(key, value *yamlspec.Value) {
		parts = append(parts, key.Raw(), value.Raw())
		plain = plain && value.IsScalar()
	})
	if len(parts) != 2 || !plain {
		return v.String(text) // String reports the error
	}
	*text = parts[0] + ":" + parts[1]
	return true
}

// decodeBind reads "/source:/target" or "/source:/target:ro".
func decodeBind(v *yamlspec.Value, p *programs) {
	text := ""
	if !colons(v, &text) {
		return
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		v.Errorf("%q: write a bind as SOURCE:TARGET or SOURCE:TARGET:ro, such as ./site:/var/www:ro", text)
		return
	}
	b := topologies.Mount{Kind: topologies.Bind, Source: fromFolder(v, parts[0]), Target: parts[1], Position: position(v)}
	if len(parts) == 3 {
		switch parts[2] {
		case "ro":
			b.ReadOnly = true
		case "rw":
		default:
			v.Errorf("%q: write ro or rw after the target", parts[2])
			return
		}
	}
	if target(v, &b.Target) {
		p.mount(b)
	}
}

// target checks and cleans the path of a mount on a node.
func target(v *yamlspec.Value, path *string) bool {
	clean := filepath.ToSlash(filepath.Clean(*path))
	switch {
	case !strings.HasPrefix(*path, "/"):
		v.Errorf("%q: write an absolute path on the node, such as /tmp", *path)
		return false
	case clean == "/":
		v.Errorf("/ cannot be mounted: use image instead, such as image: / for the machine's files with private changes")
		return false
	}
	for _, kernel := range []string{"/proc", "/sys"} {
		if clean == kernel || strings.HasPrefix(clean, kernel+"/") {
			v.Errorf("%s belongs to the kernel, which shows the node's own: choose another target", kernel)
			return false
		}
	}
	*path = clean
	return true
}

// mount adds a mount, and replaces another with the same target.
func (p *programs) mount(m topologies.Mount) {
	at, found := slices.BinarySearchFunc(p.Mounts, m, func(a, b topologies.Mount) int {
		return cmp.Compare(a.Target, b.Target)
	})
	if found {
		p.Mounts[at] = m
		return
	}
	p.Mounts = slices.Insert(p.Mounts, at, m)
}

// decodeForward reads "8080:80", "127.0.0.1:8080:80" or "[::1]:8080:80", optionally followed by /udp or /tcp.
func decodeForward(v *yamlspec.Value) (f topologies.Forward, ok bool) {
	text := ""
	if !colons(v, &text) {
		return f, false
	}
	wrong := func() (topologies.Forward, bool) {
		v.Errorf(`%q: write "MACHINE:HOST", such as "8080:80", after an address of the machine if it is not 127.0.0.1, `+
			`and before /udp if it is not TCP`, text)
		return f, false
	}
	ports, protocol, given := strings.Cut(text, "/")
	if f.Protocol = "tcp"; given {
		if f.Protocol = protocol; protocol != "tcp" && protocol != "udp" {
			return wrong()
		}
	}
	last := strings.LastIndexByte(ports, ':')
	if last < 0 {
		return wrong()
	}
	to, err := strconv.ParseUint(ports[last+1:], 10, 16)
	if err != nil || to == 0 {
		return wrong()
	}
	f.Port = uint16(to)
	from := ports[:last]
	if !strings.Contains(from, ":") {
		from = "127.0.0.1:" + from
	}
	if f.Machine, err = netip.ParseAddrPort(from); err != nil || f.Machine.Port() == 0 {
		return wrong()
	}
	f.Position = position(v)
	return f, true
}

// with returns p extended by more: values of more override, and lists are appended.
func (p *programs) with(more *programs) *programs {
	switch {
	case p == nil:
		return more
	case more == nil:
		return p
	}
	both := &programs{Programs: p.Programs, nat: p.nat}
	both.Mounts, both.Env = slices.Clone(p.Mounts), slices.Clone(p.Env)
	both.Exec, both.Ports = slices.Concat(p.Exec, more.Exec), slices.Concat(p.Ports, more.Ports)
	if more.nat != nil {
		both.NAT, both.nat = more.NAT, more.nat
	}
	if more.Image != nil {
		both.Image = more.Image
	}
	for _, m := range more.Mounts {
		both.mount(m)
	}
	for _, e := range more.Env {
		name, _, _ := strings.Cut(e.Text, "=")
		same := func(b topologies.Text) bool { return strings.HasPrefix(b.Text, name+"=") }
		if i := slices.IndexFunc(both.Env, same); i >= 0 {
			both.Env[i] = e
		} else {
			both.Env = append(both.Env, e)
		}
	}
	return both
}

// changeNodes reads one entry of change_nodes: {name: h0..h3, binds: [/srv:/srv]}.
func (d *draft) changeNodes(v *yamlspec.Value) {
	e := new(nodeEntry)
	m := e.changeKeys().Decode(v)
	names, programs, group := m.Get("name").Names(), e.decode(m), &e.group
	if programs == nil && !v.Has("group") {
		v.Errorf("this entry changes nothing: give group, %s, or several of these", strings.Join(programKeys, ", "))
	}
	for _, id := range d.find(names) {
		if id < 0 {
			continue
		}
		d.nodes[id].programs = d.nodes[id].programs.with(programs)
		if group.Text != "" {
			d.nodes[id].group = *group
		}
	}
}

// decodeDefaults reads the programs of all nodes, of all nodes of a kind, and of groups.
func (d *draft) decodeDefaults(m *yamlspec.Mapping) {
	read := func(v *yamlspec.Value) *programs {
		if v == nil {
			return nil
		}
		p := new(programs)
		return p.decode(p.keys(false).Decode(v), false)
	}
	d.groups = map[string]*programs{}
	m.Get("groups").Mapping().All(func(key, v *yamlspec.Value) {
		name := key.Raw()
		p := read(v)
		if p == nil {
			v.Errorf("this group is empty: give %s, or several of these", strings.Join(programKeys, ", "))
		}
		if !slices.ContainsFunc(d.nodes, func(n draftNode) bool { return n.group.Text == name }) {
			key.Errorf("group %q has no nodes: write group: %s in an entry of nodes, or in change_nodes for existing nodes",
				name, name)
		}
		d.groups[name] = p
	})
	d.defaults = read(m.Get("defaults"))
	kinds := m.Get("kinds").Mapping()
	for _, kind := range []topologies.Kind{topologies.Host, topologies.Switch} {
		d.kinds[kind] = read(kinds.Get(kind.String()))
	}
	if p := d.kinds[topologies.Switch]; p != nil && p.NAT {
		p.nat.Errorf("switches have no address, so nat applies to hosts only")
	}
}

// decodeCommands reads verbs for the shell: {flap: [link leaf0 spine0 down, link leaf0 spine0 up]}.
func (d *draft) decodeCommands(v *yamlspec.Value) {
	v.Mapping().All(func(key, lines *yamlspec.Value) {
		c := topologies.Command{Name: key.Raw(), Position: position(key)}
		if !commandName.MatchString(c.Name) {
			key.Errorf("%q: a command's name must start with a letter and have only letters, digits, _ and -", c.Name)
		}
		if i, ok := d.byName[c.Name]; ok {
			key.Errorf("%q is the name of a node (line %d), which takes precedence: choose another", c.Name,
				d.nodes[i].at.Line())
		}
		for _, item := range lines.Items() {
			text := ""
			if item.String(&text) {
				c.Lines = append(c.Lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
			}
		}
		if len(c.Lines) == 0 {
			key.Errorf("%s is empty: write the lines that the shell executes", c.Name)
		}
		d.commands = append(d.commands, c)
	})
}

// programsOf returns the programs of a node, nil if it has only the machine's files.
func (d *draft) programsOf(n *draftNode) *topologies.Programs {
	p := d.defaults.with(d.kinds[n.kind]).with(d.groups[n.group.Text]).with(n.programs)
	if p == nil {
		return nil
	}
	if p.NAT && n.kind == topologies.Switch { // from the defaults of all nodes
		own := p.Programs
		own.NAT = false
		return &own
	}
	return &p.Programs
}

// checkPrograms reports settings that a node's programs cannot have.
func (d *draft) checkPrograms() {
	type port struct {
		machine  netip.AddrPort
		protocol string
	}
	taken := map[port]string{}
	for i := range d.nodes {
		n := &d.nodes[i]
		if group := n.group.Text; group != "" {
			p, known := d.groups[group]
			switch {
			case !known:
				n.group.At.Errorf("no group %q%s", group, spelling.Suggest(group, slices.Sorted(maps.Keys(d.groups))))
			case n.kind == topologies.Switch && p != nil && p.NAT:
				n.group.At.Errorf("%s is a switch, but group %s has nat (line %d), which applies to hosts only", n.name, group,
					p.nat.Line())
			}
		}
		p := n.programs
		if p == nil {
			continue
		}
		if n.kind == topologies.Switch && p.NAT {
			p.nat.Errorf("%s is a switch, but nat applies to hosts only", n.name)
		}
		if n.kind == topologies.Switch && len(p.Ports) > 0 {
			_ = p.Ports[0].Refuse("%s is a switch, but ports lead to hosts only", n.name)
			continue
		}
		for _, f := range p.Ports {
			key := port{f.Machine, f.Protocol}
			if other, is := taken[key]; is {
				_ = f.Refuse("%v/%s of the machine already leads to %s: choose another port", f.Machine, f.Protocol, other)
			}
			taken[key] = n.name
		}
	}
}
