package topologies

import (
	"fmt"
	"net/netip"
	"slices"
)

// Programs describes the environment of a node's programs in a live fabric: files, variables, commands and access to
// the machine. A run has no programs. The zero value gives programs the machine's files and no access to its network.
type Programs struct {
	// Image names the source of the node's files: a root folder, or a container image (package orchestrator/image).
	// Changes by programs are private to the node. nil: the machine's files.
	Image *Text `json:"image,omitempty"`
	// Mounts lists mounts over the node's files, parents before their children.
	Mounts []Mount   `json:"mounts,omitempty"`
	Env    []Text    `json:"env,omitempty"`  // "NAME=value", sorted
	Exec   []Text    `json:"exec,omitempty"` // command lines for sh, executed in order as the fabric starts
	NAT    bool      `json:"nat,omitempty"`  // gives access to the machine's network
	Ports  []Forward `json:"ports,omitempty"`
}

// OutsideGateway holds the address by which hosts reach the machine's network, and of the machine's name server. It
// belongs to a range for device tests (RFC 2544, section C.2.2), which no network routes.
var OutsideGateway = netip.MustParseAddr("198.19.255.254")

// WithNAT returns the plan with access to the machine's network for all hosts.
func (p *Plan) WithNAT() *Plan {
	q := *p
	q.Nodes = slices.Clone(p.Nodes)
	for _, id := range q.Hosts {
		n := &q.Nodes[id]
		own := Programs{}
		if n.Programs != nil {
			own = *n.Programs
		}
		own.NAT = true
		n.Programs = &own
	}
	return &q
}

// Text holds a text in a file with its position.
type Text struct {
	Text string
	Position
}

// MarshalText returns the text without its position.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// Position holds a position in a file. The zero value is none.
type Position struct{ In Place }

// Place represents a value of a file. Who reads the file implements it.
type Place interface {
	// Refuse reports a mistake at the value. The error holds all mistakes reported for the file since it was read.
	Refuse(format string, args ...any) error
	// String returns the file and the line.
	String() string
}

// Refuse reports a mistake at the position that shows only when a fabric starts. The error holds all mistakes reported
// for the file since it was read.
func (p Position) Refuse(format string, args ...any) error {
	if p.In == nil {
		return fmt.Errorf(format, args...)
	}
	return p.In.Refuse(format, args...)
}

// String returns the file and the line.
func (p Position) String() string {
	if p.In == nil {
		return ""
	}
	return p.In.String()
}

// MountKind names the kind of a mount.
type MountKind string

// Kinds of mounts.
const (
	Bind    MountKind = "bind"    // a file or folder of the machine
	Private MountKind = "private" // an empty folder in memory, private to the node
	Overlay MountKind = "overlay" // a folder of the machine; changes are private to the node, in memory
)

// Mount describes a mount on a node.
type Mount struct {
	Kind     MountKind `json:"kind"`
	Source   string    `json:"source,omitempty"` // for a bind: an absolute path
	Target   string    `json:"target"`           // an absolute path, clean
	ReadOnly bool      `json:"read_only,omitempty"`
	Position `json:"-"`
}

// Forward forwards a port of the machine to a port of a host.
type Forward struct {
	Machine  netip.AddrPort `json:"machine"`
	Port     uint16         `json:"port"` // of the host
	Protocol string         `json:"protocol"`
	Position `json:"-"`
}

// Command describes a user-defined verb for the shell of a live fabric.
type Command struct {
	Name     string   `json:"name"`
	Lines    []string `json:"lines"`
	Position `json:"-"`
}
