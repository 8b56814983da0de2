//go:build linux

package live

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
)

// insidePrefix starts the abstract name of the socket for programs on a node; the fabric's name follows. The socket
// belongs to the node's network namespace, so programs reach only their own fabric. They do not see the sockets in
// Folder.
const insidePrefix = "@pausenet/"

// insideVerbs lists the commands for programs on nodes: queries, and starting programs with their own capabilities.
// Privileged programs may use all commands.
var insideVerbs = []string{"inspect", "node", "program", "snapshot", "way", "events", "complete"}

// place returns the location and environment of a node's programs, and opens the node's socket to the fabric. On a
// node, --fabric defaults to this fabric.
func (f *Fabric) place(id topologies.NodeID) (kernel.Location, error) {
	place, err := f.nodes.Location(id)
	place.Routes = f.control != nil
	if f.lockstep != nil {
		place.Environment = append(place.Environment, verbs.Preload())
	}
	if err == nil && f.server != nil {
		place.Environment = append(place.Environment, "PAUSENET_FABRIC="+f.Name)
		err = f.listenInside(id)
	}
	return place, err
}

// listenInside opens a node's socket, unless it is open or the fabric is ending.
func (f *Fabric) listenInside(id topologies.NodeID) error {
	s := f.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.inside[id] != nil || s.hungUp {
		return nil
	}
	fd, err := kernel.SocketIn(f.plane.Fabric().Namespace(id), unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("create the socket for programs on %s: %w", f.Plan.Nodes[id].Name, err)
	}
	file := os.NewFile(uintptr(fd), insidePrefix)
	defer file.Close()
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: insidePrefix + f.Name})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	var l net.Listener
	if err == nil {
		l, err = net.FileListener(file)
	}
	if err != nil {
		return fmt.Errorf("create the socket for programs on %s: %w", f.Plan.Nodes[id].Name, err)
	}
	l = patientListener{l}
	s.inside[id] = l
	s.handlers.Add(1)
	go f.accept(l, true)
	return nil
}

// refusal returns the reason why programs on nodes may not use a command; empty if they may.
func (f *Fabric) refusal(verb string) string {
	if f.options.Privileged || slices.Contains(insideVerbs, verb) || verb == "fault" && f.options.AllowFaults {
		return ""
	}
	if verb == "fault" {
		return "programs on nodes may not inject faults (bring the fabric up with --allow-faults)"
	}
	return fmt.Sprintf("programs on nodes may look at their fabric and run programs on its nodes, but not use %q (use "+
		"it on the machine, or bring the fabric up with --privileged)", verb)
}

// dialInside connects to the named fabric if this process runs on one of its nodes; nil otherwise.
func dialInside(name string) *net.UnixConn {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: insidePrefix + name, Net: "unix"})
	if err != nil {
		return nil
	}
	if !ownedByUs(conn) { // outside of nodes, any user of the machine can bind this name
		conn.Close()
		return nil
	}
	return conn
}

// insideOf returns the name of the fabric on whose node this process runs; empty if it does not.
func insideOf() string {
	sockets, _ := os.ReadFile("/proc/self/net/unix")
	for line := range strings.Lines(string(sockets)) {
		_, name, found := strings.Cut(line, " "+insidePrefix)
		if name = strings.TrimSpace(name); !found || !fabricName().MatchString(name) {
			continue
		}
		if conn := dialInside(name); conn != nil {
			conn.Close()
			return name
		}
	}
	return ""
}
