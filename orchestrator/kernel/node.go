//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/image"
	"github.com/pausenet/pausenet/orchestrator/nodefiles"
	"github.com/pausenet/pausenet/orchestrator/pidns"
	"github.com/pausenet/pausenet/topologies"
)

// Nodes holds the namespaces of programs on a fabric's nodes, besides the fabric's network namespaces: a node's
// programs share its mounts and host name. A node's are created for its first program, and live until Close and as
// long as a program is in them.
type Nodes struct {
	fabric     *Fabric
	programs   *pidns.Namespace
	privileged bool
	hidden     []string
	kept       []string
	mutex      sync.Mutex
	made       map[topologies.NodeID]*own
	images     map[string]*image.Image // by path
}

// own holds a node's own namespaces, the root folder of its mount namespace, and its image, if any. The image is then
// the root folder of the node's programs.
type own struct {
	mounts, root, names *os.File
	image               *os.File // nil: none
}

func (o *own) close() error {
	errs := []error{o.mounts.Close(), o.root.Close(), o.names.Close()}
	if o.image != nil {
		errs = append(errs, o.image.Close())
	}
	return errors.Join(errs...)
}

// NewNodes makes programs on a fabric's nodes run in a PID namespace, privileged or not. On nodes an empty folder
// replaces each hidden folder of the machine. The kept folders exist on nodes with their own files.
func NewNodes(fabric *Fabric, programs *pidns.Namespace, privileged bool, hidden []string, kept ...string) *Nodes {
	return &Nodes{
		fabric: fabric, programs: programs, privileged: privileged, hidden: hidden, kept: kept,
		made: map[topologies.NodeID]*own{}, images: map[string]*image.Image{},
	}
}

// Location returns the namespaces of a node's programs. They are valid until Close.
func (n *Nodes) Location(id topologies.NodeID) (Location, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	o := n.made[id]
	if o == nil {
		var err error
		if o, err = n.make(id); err != nil {
			node := &n.fabric.plan.Nodes[id]
			var wrong *nodefiles.Error
			switch {
			case !errors.As(err, &wrong):
				return Location{}, fmt.Errorf("create the namespaces of %s: %w", node.Name, err)
			case wrong.Mount < 0:
				return Location{}, node.Programs.Image.Refuse("%s: %v", node.Name, err)
			}
			return Location{}, node.Programs.Mounts[wrong.Mount].Refuse("%s: %v", node.Name, err)
		}
		n.made[id] = o
	}
	p := Location{
		Network: n.fabric.Namespace(id), Mounts: int(o.mounts.Fd()), Root: int(o.root.Fd()), Names: int(o.names.Fd()),
		PIDs: int(n.programs.File().Fd()), Image: pidns.NoRoot, Privileged: n.privileged,
	}
	if o.image != nil {
		p.Image = int(o.image.Fd())
	}
	if programs := n.fabric.plan.Nodes[id].Programs; programs != nil {
		if programs.Image != nil {
			own := n.images[programs.Image.Text]
			p.Folder, p.Environment = own.Folder, slices.Clone(own.Env)
		}
		for _, e := range programs.Env {
			p.Environment = append(p.Environment, e.Text)
		}
	}
	return p, nil
}

// Prepare creates the namespaces of nodes whose files the topology describes. An error has the position in the
// topology's file.
func (n *Nodes) Prepare() error {
	for i := range n.fabric.plan.Nodes {
		node := &n.fabric.plan.Nodes[i]
		if node.Programs == nil {
			continue
		}
		if _, err := n.Location(node.ID); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the namespaces.
func (n *Nodes) Close() error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	var errs []error
	for _, o := range n.made {
		errs = append(errs, o.close())
	}
	for _, i := range n.images {
		errs = append(errs, i.Close())
	}
	clear(n.made)
	clear(n.images)
	return errors.Join(errs...)
}

// make makes a node's own namespaces. The host name is the node's, /proc shows the fabric's processes, /sys the node's
// network, /etc/hosts lists the fabric's hosts, and there is no name server. The topology describes its other files.
func (n *Nodes) make(id topologies.NodeID) (o *own, err error) {
	node := &n.fabric.plan.Nodes[id]
	root, err := n.imageOf(node)
	if err != nil {
		return nil, err
	}
	layout, err := layoutOf(n.fabric.plan, node, root)
	if err != nil {
		return nil, err
	}
	layout.Kept = n.kept
	err = onOwnThread(func() error {
		home, err := leaving()
		if err != nil {
			return err
		}
		defer home()
		// As the thread's /proc becomes another, its own folder there stays in reach.
		self, err := os.Open("/proc/thread-self/ns")
		if err != nil {
			return err
		}
		defer self.Close()
		if err := unix.Setns(n.fabric.Namespace(id), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter its network: %w", err)
		}
		if err := n.programs.EnterMounts(); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(node.Name)); err != nil {
			return fmt.Errorf("set its host name: %w", err)
		}
		// Where /sys cannot be mounted over, as in some containers, programs see the outer one.
		_ = unix.Mount("pausenet", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		for _, folder := range n.hidden { // likewise
			_ = unix.Mount("pausenet", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=700")
		}
		var errs [4]error
		made := &own{}
		made.mounts, errs[0] = openIn(self, "mnt")
		made.names, errs[1] = openIn(self, "uts")
		made.root, errs[2] = os.Open("/")
		made.image, errs[3] = layout.Make()
		for _, err := range errs {
			if err != nil {
				_ = made.close()
				return err
			}
		}
		o = made
		return nil
	})
	return o, err
}

// imageOf returns the root folder of a node's image, unpacked; empty if it has none.
func (n *Nodes) imageOf(node *topologies.Node) (root string, err error) {
	if node.Programs == nil || node.Programs.Image == nil {
		return "", nil
	}
	text := node.Programs.Image.Text
	if n.images[text] == nil {
		path, err := filepath.Abs(text)
		if err != nil {
			return "", err
		}
		i, err := image.Open(path)
		var cache *image.CacheError
		switch {
		case errors.As(err, &cache):
			return "", err
		case err != nil:
			return "", &nodefiles.Error{Mount: -1, Err: err}
		}
		n.images[text] = i
	}
	return n.images[text].Root, nil
}

// Note describes a fact about an image that the user should know.
type Note struct {
	Nodes []string // nodes with the image
	Text  string
}

// Notes returns notes on the nodes' images.
func (n *Nodes) Notes() (notes []Note) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, path := range slices.Sorted(maps.Keys(n.images)) {
		var all, idle []string
		for i := range n.fabric.plan.Nodes {
			node := &n.fabric.plan.Nodes[i]
			if node.Programs == nil || node.Programs.Image == nil || node.Programs.Image.Text != path {
				continue
			}
			all = append(all, node.Name)
			if len(node.Programs.Exec) == 0 {
				idle = append(idle, node.Name)
			}
		}
		own := n.images[path]
		if own.User != "" {
			notes = append(notes, Note{all, fmt.Sprintf("the image's user, %s, is ignored: programs on nodes run as root",
				own.User)})
		}
		if own.Starts() && len(idle) > 0 {
			notes = append(notes, Note{idle, fmt.Sprintf("the image's command does not run (to run it: exec: [%q])",
				Words(own.Command)+" &")})
		}
	}
	return notes
}

// Words returns a command in sh's syntax.
func Words(command []string) string {
	quoted := make([]string, len(command))
	for i, w := range command {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'`$&|;<>()*?[]#~\\!{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// openIn opens a file of a folder that no path reaches.
func openIn(folder *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(folder.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// hosts returns a node's hosts file (hosts(5)): the names and addresses of the fabric's hosts and switches. A switch's
// own name maps to a loopback address there, because no interface has its address and many servers look up their own
// name as they start.
func hosts(plan *topologies.Plan, node *topologies.Node) string {
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	if node.Kind != topologies.Host {
		fmt.Fprintf(&text, "127.0.1.1 %s\n", node.Name)
	}
	for _, id := range plan.Hosts {
		n := &plan.Nodes[id]
		for location, port := range n.Ports {
			name := plan.EndName(id, uint8(location))
			if location == 0 && len(n.Ports) > 1 {
				name = n.Name + " " + name
			}
			fmt.Fprintf(&text, "%v %s\n%v %s\n", plan.Address(port), name, topologies.IPv6(plan.Address(port)), name)
		}
	}
	for i, id := range plan.Switch {
		if id != node.ID {
			a := plan.SwitchAddress(i)
			fmt.Fprintf(&text, "%v %s\n%v %s\n", a, plan.Nodes[id].Name, topologies.IPv6(a), plan.Nodes[id].Name)
		}
	}
	return text.String()
}

// preference holds /etc/gai.conf of nodes (gai.conf(5)): programs prefer a name's IPv4 addresses, unless they request
// IPv6.
const preference = "precedence ::ffff:0:0/96 100\n"

// resolver holds /etc/resolv.conf of nodes (resolv.conf(5)). It lists no name server, because none is reachable from a
// fabric: an unknown name then fails at once instead of after 20 s.
const resolver = "# no name server is reachable from a fabric: all names are in /etc/hosts\n"

// severalAddresses holds /etc/host.conf of nodes (host.conf(5)): a name has all of its addresses in the hosts file, not
// only the first.
const severalAddresses = "multi on\n"

// layoutOf returns a node's files, on an image's root folder unless that is empty. Paths of the machine are relative to
// the process's folder.
func layoutOf(plan *topologies.Plan, node *topologies.Node, image string) (*nodefiles.Layout, error) {
	l := &nodefiles.Layout{Files: []nodefiles.File{
		{Path: "/etc/hosts", Text: hosts(plan, node)},
		{Path: "/etc/resolv.conf", Text: resolver},
		{Path: "/etc/gai.conf", Text: preference},
		{Path: "/etc/host.conf", Text: severalAddresses},
	}}
	if text, ok := nodefiles.Lookups(image); ok {
		l.Files = append(l.Files, nodefiles.File{Path: "/etc/nsswitch.conf", Text: text})
	}
	for location := range node.Ports {
		if node.Kind == topologies.Host { // UCX looks for it, and does not open it
			l.Devices = append(l.Devices, fmt.Sprintf("/dev/infiniband/uverbs%d", location))
		}
	}
	p := node.Programs
	if p == nil {
		return l, nil
	}
	if p.NAT {
		l.Files[1].Text = fmt.Sprintf("nameserver %v\n", topologies.OutsideGateway)
	}
	if image != "" {
		l.Image = image
		l.Files = append(l.Files, nodefiles.File{Path: "/etc/hostname", Text: node.Name + "\n"})
	}
	kinds := map[topologies.MountKind]nodefiles.Kind{
		topologies.Bind: nodefiles.Bind, topologies.Private: nodefiles.Private,
		topologies.Overlay: nodefiles.Overlay,
	}
	for i := range p.Mounts {
		m := nodefiles.Mount{
			Kind: kinds[p.Mounts[i].Kind], Source: p.Mounts[i].Source, Target: p.Mounts[i].Target,
			ReadOnly: p.Mounts[i].ReadOnly,
		}
		if m.Kind == nodefiles.Bind {
			path, err := filepath.Abs(m.Source)
			if err != nil {
				return nil, err
			}
			m.Source = path
		}
		l.Mounts = append(l.Mounts, m)
	}
	return l, nil
}
