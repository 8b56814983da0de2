package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

// Fabric represents the devices and cables that files describe.
type Fabric struct {
	Switches []*Switch
	Hosts    []*Host
	Links    []Link
	Tree     []Branch // by the scheduler's topology
}

// Branch represents a device below a switch in a scheduler's topology.
type Branch struct {
	Switch, Device string
	Place          Place
}

// Switch represents a switch's configuration.
type Switch struct {
	Name   string
	Ports  []*Port
	Pools  map[string]*Pool
	Lookup []*Profile // rows of pg_profile_lookup.ini, with Speed and Metres
	Seed   int        // of ECMP's hash; -1: unknown
	// SeedPlace holds where the seed comes from.
	SeedPlace Place
	// LosslessMTU holds the MTU of lossless packets, by LOSSLESS_TRAFFIC_PATTERN; 0: unknown.
	LosslessMTU int
	Poll        int  // interval of the watchdog, in ms; 0: unknown
	Whole       bool // a file has the ports, so that a missing table means that the switch does not have it
	// Stated reports whether the file lists all ports with PFC, so that PFC is off on a port that is not listed.
	Stated  bool
	Missing []Missing
	Unread  []Place // statements about classes, PFC or buffers that no reader understands
	Place   Place
	device  string // the name by its files
	// words replaces SONiC's names of settings in messages; nil: none.
	words *strings.Replacer
}

// Missing represents a reference to a row that does not exist.
type Missing struct {
	Place
	Table, Name string
}

// Port represents a front-panel port with its settings resolved.
type Port struct {
	Switch *Switch
	Name   string
	Alias  string // another name in cabling; "": none
	Up     bool
	Speed  int64  // Mb/s; 0: unknown
	MTU    int    // bytes of a packet; 0: unknown
	FEC    string // "": unknown
	Metres int64  // of cable; -1: unknown
	PFC    Priorities
	// QoS reports whether the port has a row in PORT_QOS_MAP.
	QoS       bool
	Trusted   bool // has a map of DSCPs
	Unmapped  bool // no file has that map
	NoPGMap   bool // no file has the map of traffic classes to priority groups
	DSCP      [64]int
	TCToPG    [mostTC + 1]int
	TCToQueue [mostTC + 1]int
	PFCToPG   [8]int
	// PFCQueue maps a received PAUSE's priority to a queue.
	PFCQueue [8]int
	Groups   [8]*Profile // lossless profiles, by priority group
	Queues   [8]Queue
	Watchdog *Watchdog
	Places   map[string]Place // of settings: speed, mtu, fec, cable, pfc_enable, dscp, ...
}

// Label returns switch:port.
func (p *Port) Label() string { return p.Switch.Name + ":" + p.Name }

// place returns where a setting stands, or the switch's configuration.
func (p *Port) place(setting string) Place {
	if at, found := p.Places[setting]; found {
		return at
	}
	return p.Switch.Place
}

// Pool represents a buffer pool.
type Pool struct {
	Name   string
	Size   int64 // bytes; 0: unknown
	Shared int64 // bytes of shared headroom; 0: none
	Place  Place
}

// Profile represents a lossless buffer profile: of BUFFER_PROFILE, or a row of a lookup table.
type Profile struct {
	Name    string
	Speed   int64 // Mb/s, of a lookup's row
	Metres  int64
	Size    int64
	XOFF    int64 // headroom, in bytes
	XON     int64 // -1: none
	Offset  int64 // xon_offset; -1: none
	Alpha   float64
	Static  int64 // static threshold; 0: dynamic
	Pool    string
	Dynamic bool // SONiC computes the headroom
	Place   Place
}

// threshold returns XOFF of one priority group when n groups of a pool are congested at the same time; ok is false if
// the pool's size is unknown.
func (p *Profile) threshold(pool *Pool, n int) (bytes int64, ok bool) {
	if p.Static > 0 {
		return p.Static, true
	}
	if pool == nil || pool.Size == 0 || p.Alpha == 0 {
		return 0, false
	}
	return int64(math.Floor(p.Alpha * float64(pool.Size) / (1 + p.Alpha*float64(n)))), true
}

// Queue represents an egress queue.
type Queue struct {
	WRED      *WRED
	Scheduler string // STRICT, DWRR, WRR; "": unknown
	Place     Place
}

// WRED represents a WRED profile.
type WRED struct {
	Name       string
	Unknown    bool // no file has the row
	ECN        bool
	KMin, KMax int64  // in Unit
	Unit       string // "": bytes
	PMax       float64
	Place      Place
}

// Watchdog represents a port's PFC watchdog.
type Watchdog struct {
	Detect, Restore int // ms; -1: not stated
	Action          string
	Place           Place
	Poll            int // ms; 0: that of the switch
}

// Host represents a server's NIC, or one of its ports.
type Host struct {
	Name  string
	NIC   string // interface; "": the only one
	Trust string // dscp or pcp; "": unknown
	// Prio maps a DSCP to a priority, if HasPrio.
	Prio    [64]int
	HasPrio bool
	PFC     Priorities
	HasPFC  bool
	ToS     int // traffic class of RDMA CM, 0..255; -1: unknown
	CNPDSCP int // -1: unknown
	CNPPrio int // -1: unknown
	MTU     int
	Speed   int64 // Mb/s
	FEC     string
	Places  map[string]Place
}

// Label returns host or host:interface.
func (h *Host) Label() string {
	if h.NIC == "" {
		return h.Name
	}
	return h.Name + ":" + h.NIC
}

func (h *Host) place(setting string) Place {
	if at, found := h.Places[setting]; found {
		return at
	}
	for _, name := range sortedKeys(h.Places) {
		return h.Places[name]
	}
	return Place{}
}

// dscp returns the DSCP of data packets; ok is false if it is unknown.
func (h *Host) dscp() (int, bool) { return h.ToS >> 2, h.ToS >= 0 }

// End represents an end of a cable, by names.
type End struct{ Device, Port string }

// Link represents a cable. A side has a switch's port or a host, or neither if no file describes the device.
type Link struct {
	Ends  [2]End
	Ports [2]*Port
	Hosts [2]*Host
	Place Place
}

// String returns both ends.
func (l *Link) String() string {
	return fmt.Sprintf("%s:%s - %s:%s", l.Ends[0].Device, l.Ends[0].Port, l.Ends[1].Device, l.Ends[1].Port)
}

// Priorities represents a set of priorities.
type Priorities uint8

// Has reports whether the set has a priority.
func (p Priorities) Has(n int) bool { return n >= 0 && n < 8 && p>>n&1 == 1 }

// String returns the priorities, such as 3,4.
func (p Priorities) String() string {
	var all []string
	for n := range 8 {
		if p.Has(n) {
			all = append(all, fmt.Sprint(n))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ",")
}

// All returns the priorities in order.
func (p Priorities) All() (all []int) {
	for n := range 8 {
		if p.Has(n) {
			all = append(all, n)
		}
	}
	return all
}

// plainPort returns a port whose maps are identities, to be filled from a node and what it refers to.
func (s *Switch) plainPort(name string, at *node) *Port {
	p := &Port{Switch: s, Name: name, Up: true, Metres: -1, Places: map[string]Place{}}
	for _, setting := range []string{"speed", "mtu", "fec", "cable", "pfc", "dscp", "pg", "queue"} {
		p.Places[setting] = at.place()
	}
	for d := range p.DSCP {
		p.DSCP[d] = d / 8
	}
	for n := range p.TCToPG {
		p.TCToPG[n], p.TCToQueue[n] = min(n, 7), n
	}
	for n := range 8 {
		p.PFCToPG[n], p.PFCQueue[n] = n, n
	}
	s.Ports = append(s.Ports, p)
	return p
}

// port returns a switch's port by name or alias.
func (s *Switch) port(name string) *Port {
	for _, p := range s.Ports {
		if p.Name == name || p.Alias == name && name != "" {
			return p
		}
	}
	return nil
}

// active returns the ports that are up and have lossless priorities.
func (s *Switch) active() (all []*Port) {
	return lists.Filter(s.Ports, func(p *Port) bool { return p.Up && p.PFC != 0 })
}

// pool returns a profile's pool.
func (s *Switch) pool(p *Profile) *Pool {
	return s.Pools[cmp.Or(p.Pool, "ingress_lossless_pool")]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
