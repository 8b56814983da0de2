//go:build linux

package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/internal/lazy"
)

// Folder holds the sockets and records of this user's fabrics; nobody else can access it. That of root is
// /run/pausenet.
var Folder = ownFolder()

// ownFolder returns /run/pausenet for root. Other users, also if they are root in a user namespace of their own, have a
// folder in $XDG_RUNTIME_DIR or /tmp.
func ownFolder() string {
	if os.Geteuid() == 0 && unix.Access("/run", unix.W_OK) == nil {
		return "/run/pausenet"
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) && unix.Access(run, unix.W_OK) == nil {
		return filepath.Join(run, "pausenet")
	}
	return fmt.Sprintf("/tmp/pausenet-%d", machineUser())
}

// machineUser returns the number that this user has outside of the process's user namespace.
func machineUser() int {
	own := os.Geteuid()
	data, _ := os.ReadFile("/proc/self/uid_map")
	for line := range strings.Lines(string(data)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && inside <= own && own < inside+size {
			return outside + own - inside
		}
	}
	return own
}

// makeFolder creates Folder. In /tmp somebody else may have created it first.
func makeFolder() error {
	if err := os.MkdirAll(Folder, 0o700); err != nil {
		return err
	}
	var is unix.Stat_t
	if err := unix.Lstat(Folder, &is); err != nil {
		return err
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR || int(is.Uid) != os.Geteuid() || is.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not a folder that only you can access: remove it, or set XDG_RUNTIME_DIR", Folder)
	}
	return nil
}

// maxRequest limits a request, a line of JSON, in bytes.
const maxRequest = 1 << 16

// Request represents a request of another terminal to a fabric: one line of JSON.
type Request struct {
	Verb string `json:"verb"` // inspect, node, program, capture, down, snapshot, counters, way, events, set, fault,
	// line, complete
	Node string `json:"node,omitempty"`
	Port string `json:"port,omitempty"` // for capture: a neighbour's name or a port number; empty for all
	// Kinds selects the kinds of events; empty means all.
	Kinds []string `json:"kinds,omitempty"`
	// Line holds the line to run (line) or complete (complete), or the setting to change (set).
	Line string `json:"line,omitempty"`
	Flow int    `json:"flow,omitempty"` // for way: the flow's number
	// Command, Environment and Folder apply to program; Command also holds the words of fault.
	Command     []string `json:"command,omitempty"`
	Environment []string `json:"environment,omitempty"`
	Folder      string   `json:"folder,omitempty"`
}

// Reply answers a request: one line of JSON. For capture, the data follows.
type Reply struct {
	Error   string       `json:"error,omitempty"`
	Inspect *Description `json:"inspect,omitempty"`
	// Privileged means that programs on nodes have all capabilities of root. A node's namespaces arrive with it, as
	// open files.
	Privileged bool `json:"privileged,omitempty"`
	// Routes means that programs that route run there; see kernel.Location.
	Routes bool `json:"routes,omitempty"`
	// Environment holds variables of a node's programs, "NAME=value".
	Environment []string         `json:"environment,omitempty"`
	Folder      string           `json:"folder,omitempty"` // initial folder of programs; empty for the default
	Snapshot    *Snapshot        `json:"snapshot,omitempty"`
	Counters    *counters.Fabric `json:"counters,omitempty"`
	// Lines holds completions (complete), interfaces (way), or warnings (set). Output holds a part of a line's
	// output; the last part has End set.
	Lines  []string `json:"lines,omitempty"`
	Output string   `json:"output,omitempty"`
	End    bool     `json:"end,omitempty"`
	Status uint32   `json:"status,omitempty"` // in the last reply to program: its wait(2) status
	// Verdict answers down.
	Verdict *Verdict `json:"verdict,omitempty"`
	// EndsNS answers fault: the virtual time at which it ends by itself; 0 if it lasts. WaitNS holds the wall-clock time
	// until then.
	EndsNS int64 `json:"ends_ns,omitempty"`
	WaitNS int64 `json:"wait_ns,omitempty"`

	files []int // file descriptors sent with the reply
}

var fabricName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func socketPath(name string) string { return filepath.Join(Folder, name+".sock") }

func send(w io.Writer, r Reply) error { return json.NewEncoder(w).Encode(r) }

// ended reports whether an error of Dial means that the fabric has ended: its process no longer exists, or has just
// removed the socket.
func ended(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// crowded reports whether an error of Dial means that the socket's queue is full.
func crowded(err error) bool { return errors.Is(err, unix.EAGAIN) }
