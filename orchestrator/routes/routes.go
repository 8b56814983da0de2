//go:build linux

// Package routes reads the route tables that the kernel has in the namespaces of a live fabric's switches, and follows
// their changes. Programs such as BIRD and FRR write these tables.
package routes

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// Config configures Follow.
type Config struct {
	Plan      *topologies.Plan
	Namespace func(node topologies.NodeID) int // a node's network namespace, an open file
	// Changed receives the routes as they are, and after each change. It is called by one goroutine.
	Changed func(*topologies.Routes) error
	Failed  func(error) // receives the error that ends the following
}

// Follower follows the route tables of a fabric's switches.
type Follower struct {
	config  Config
	tables  []*netlink.Handle // by switch
	sockets []*os.File        // for notifications, by switch
	dirty   chan struct{}
	closing chan struct{}
	running sync.WaitGroup
}

// Groups of notifications that concern routes (linux/rtnetlink.h).
const (
	groupLink      = 1
	groupIPv4Route = 7
	groupNexthop   = 32
)

// Follow reads all tables and starts to follow them.
func Follow(c Config) (f *Follower, err error) {
	f = &Follower{config: c, dirty: make(chan struct{}, 1), closing: make(chan struct{})}
	defer kernel.CloseFailed(&f, &err)
	for _, id := range c.Plan.Switch {
		name := c.Plan.Nodes[id].Name
		table, err := netlink.NewHandleAt(netns.NsHandle(c.Namespace(id)), unix.NETLINK_ROUTE)
		if err != nil {
			return f, fmt.Errorf("read the routes of %s: %w", name, err)
		}
		f.tables = append(f.tables, table)
		fd, err := kernel.SocketIn(c.Namespace(id), unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK,
			unix.NETLINK_ROUTE)
		if err != nil {
			return f, fmt.Errorf("follow the routes of %s: %w", name, err)
		}
		f.sockets = append(f.sockets, os.NewFile(uintptr(fd), "netlink"))
		if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return f, fmt.Errorf("follow the routes of %s: %w", name, err)
		}
		for _, group := range []int{groupLink, groupIPv4Route, groupNexthop} {
			if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group); err != nil {
				return f, fmt.Errorf("follow the routes of %s: %w", name, err)
			}
		}
	}
	routes, err := f.read()
	if err != nil {
		return f, err
	}
	if err := c.Changed(routes); err != nil {
		return f, err
	}
	for _, socket := range f.sockets {
		f.running.Go(func() { f.listen(socket) })
	}
	f.running.Go(func() {
		if err := f.follow(routes); err != nil {
			c.Failed(err)
		}
	})
	return f, nil
}

// listen marks the tables as changed at each notification. Their content does not matter: the tables are read.
func (f *Follower) listen(socket *os.File) {
	buffer := make([]byte, 1<<16)
	for {
		if _, err := socket.Read(buffer); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return
		}
		select {
		case f.dirty <- struct{}{}:
		default:
		}
	}
}

// follow reads the tables after each change, until Close.
func (f *Follower) follow(last *topologies.Routes) error {
	for {
		select {
		case <-f.closing:
			return nil
		case <-f.dirty:
		}
		routes, err := f.read()
		if err != nil {
			return err
		}
		if reflect.DeepEqual(routes, last) {
			continue
		}
		if err := f.config.Changed(routes); err != nil {
			return err
		}
		last = routes
	}
}

// Close ends the following. Afterwards Changed is not running.
func (f *Follower) Close() error {
	if f == nil {
		return nil
	}
	close(f.closing)
	errs := lists.Map(f.sockets, func(s *os.File) error { return s.Close() })
	f.running.Wait()
	for _, t := range f.tables {
		t.Close()
	}
	return errors.Join(errs...)
}

// read returns the routes of all switches.
func (f *Follower) read() (*topologies.Routes, error) {
	tables := make([]Table, len(f.tables))
	for i, t := range f.tables {
		all, err := dump(t)
		if err != nil {
			return nil, fmt.Errorf("read the routes of %s: %w", f.config.Plan.Nodes[f.config.Plan.Switch[i]].Name, err)
		}
		tables[i] = NewTable(all)
	}
	return Resolve(f.config.Plan, tables), nil
}

// dump returns a switch's main table. The kernel interrupts a dump when the table changes.
func dump(t *netlink.Handle) (all []netlink.Route, err error) {
	for range 100 {
		all, err = t.RouteListFiltered(unix.AF_INET, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// Table holds the usable routes of a switch: interfaces by destination.
type Table map[netip.Prefix][]int

// unusable holds the flags of a next hop whose interface has no carrier, or whose gateway is gone.
const unusable = unix.RTNH_F_DEAD | unix.RTNH_F_LINKDOWN

// NewTable returns the usable ones of the kernel's routes. Of routes to one destination, that with the lowest metric
// counts.
func NewTable(all []netlink.Route) Table {
	t := Table{}
	metrics := map[netip.Prefix]int{}
	for i := range all {
		r := &all[i]
		to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if r.Dst != nil {
			address, ok := netip.AddrFromSlice(r.Dst.IP)
			bits, size := r.Dst.Mask.Size()
			if address = address.Unmap(); !ok || !address.Is4() {
				continue
			}
			to = netip.PrefixFrom(address, bits-(size-address.BitLen()))
		}
		if before, known := metrics[to]; known && before <= r.Priority {
			continue
		}
		metrics[to] = r.Priority
		var by []int
		switch {
		case r.Type != unix.RTN_UNICAST: // blackhole, unreachable, prohibit: no port
		case len(r.MultiPath) > 0:
			for _, hop := range r.MultiPath {
				if hop.Flags&unusable == 0 {
					by = append(by, hop.LinkIndex)
				}
			}
		case r.Flags&unusable == 0:
			by = []int{r.LinkIndex}
		}
		slices.Sort(by)
		t[to] = slices.Compact(by)
	}
	return t
}

// lookup returns the interfaces of the longest prefix of an address.
func (t Table) lookup(to netip.Addr) []int {
	for bits := to.BitLen(); bits >= 0; bits-- {
		prefix, err := to.Prefix(bits)
		if err != nil {
			return nil
		}
		if by, known := t[prefix]; known {
			return by
		}
	}
	return nil
}

// Resolve returns the ports that switches' tables, by switch, choose for each host. The pipelines forward by the leaf
// of a host. If a table has different ports for hosts of one leaf, the ports that most of them have count.
func Resolve(plan *topologies.Plan, tables []Table) *topologies.Routes {
	base := plan.Routes()
	r := &topologies.Routes{
		Leaves: base.Leaves, Leaf: base.Leaf, Last: make([]int32, len(base.Last)), ToLeaf: make([]int32, len(base.ToLeaf)),
	}
	stored := map[string]int32{}
	store := func(ports []topologies.PortID) int32 {
		key := fmt.Sprint(ports)
		g, known := stored[key]
		if !known {
			g = int32(len(r.Groups))
			stored[key] = g
			r.Groups = append(r.Groups, ports)
		}
		return g
	}
	for sw, id := range plan.Switch {
		votes := make([]map[int32]int, base.Leaves)
		for to, host := range plan.Interfaces {
			leaf := int(base.Leaf[to])
			var ports []topologies.PortID
			for _, index := range tables[sw].lookup(plan.Address(host)) {
				if place := index - int(fill.InnerIfindex(&plan.Ports[plan.Nodes[id].Ports[0]])); place >= 0 &&
					place < len(plan.Nodes[id].Ports) {
					ports = append(ports, plan.Nodes[id].Ports[place])
				}
			}
			if base.ToLeaf[sw*base.Leaves+leaf] == topologies.AtLeaf {
				if last := plan.Ports[host].Peer; !slices.Contains(ports, last) {
					ports = nil
				} else {
					ports = []topologies.PortID{last}
				}
				r.Last[to] = store(ports)
				continue
			}
			if votes[leaf] == nil {
				votes[leaf] = map[int32]int{}
			}
			votes[leaf][store(ports)]++
		}
		for leaf, of := range votes {
			at := sw*base.Leaves + leaf
			if base.ToLeaf[at] == topologies.AtLeaf {
				r.ToLeaf[at] = topologies.AtLeaf
				continue
			}
			best := int32(-1)
			for _, g := range slices.Sorted(maps.Keys(of)) {
				if best < 0 || of[g] > of[best] {
					best = g
				}
			}
			if best < 0 {
				best = store(nil)
			}
			r.ToLeaf[at] = best
		}
	}
	return r
}
