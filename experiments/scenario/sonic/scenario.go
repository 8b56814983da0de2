package sonic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// mostSenders limits the senders of the scenario's incasts.
const mostSenders = 8

// headers holds the maximum size of a packet's headers, from IP up.
const headers = 160

// quantum sets the quantum, in bytes, for a weight of 1. Bandwidth depends only on the ratios of quanta. Small quanta
// share it fairly even over short intervals.
const quantum = 100

// Scenario returns the text of a scenario with the switch's settings, and notes on those that it omits or changes. from
// names the switch's file. topology is a built-in's name or a file's path, whose switches all get the settings. If it
// is empty, the scenario has a single switch with a host at each port.
func (s *Switch) Scenario(from, name, topology string) (text string, notes []string) {
	notes = slices.Clone(s.Notes)
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	var b strings.Builder
	fmt.Fprintf(&b, "# From %s, by pausenet import sonic: the settings of its ports %s.\nname: %s\n", from,
		portRange(s.Ports), name)
	fmt.Fprintf(&b, "description: Buffers, PFC and ECN of a SONiC switch\n")
	senders := mostSenders
	if topology != "" {
		fmt.Fprintf(&b, "topology: %s\n", topology)
		if s.Delay > 0 {
			note("CABLE_LENGTH is ignored: the topology has its own delays")
		}
		if s.MTU > 0 {
			note("PORT's mtu %d is ignored: the topology has its own interface_mtu", s.MTU)
		}
	} else {
		delay := s.Delay
		if delay == 0 {
			delay = vtime.Microsecond
			note("CABLE_LENGTH is missing for these ports: the scenario assumes 1us (200 m)")
		}
		mtu := ""
		if s.LosslessMTU > 0 {
			mtu = fmt.Sprintf("mtu: %d, ", s.LosslessMTU)
		}
		switch usual := max(1500, s.LosslessMTU+headers); {
		case s.MTU >= usual:
			mtu += fmt.Sprintf("interface_mtu: %d, ", s.MTU)
		case s.MTU > 0:
			note("PORT's mtu %d is ignored: the longest frames are assumed to be lossless packets of %d B and their headers",
				s.MTU, cmp.Or(s.LosslessMTU, 1000))
		}
		fmt.Fprintf(&b, "topology: {%sstar: {hosts: %d, rate: %v, delay: %v}}\n", mtu, max(2, len(s.Ports)), s.rate(), delay)
		senders = min(senders, max(2, len(s.Ports))-1)
	}
	fmt.Fprintf(&b, "switch:\n")
	if s.Pool > 0 {
		buffer := s.Pool
		private := s.Headroom * int64(len(s.Lossless)*len(s.Ports))
		if s.Shared > 0 {
			buffer += s.Shared
			if private > s.Shared {
				note("the shared headroom pool, %v, covers the headroom of %d of %d lossless priority groups at a time; "+
					"here each group has its own, so the buffer grows by %v",
					units.Bytes(s.Shared), s.Shared/s.Headroom, len(s.Lossless)*len(s.Ports), units.Bytes(private-s.Shared))
				buffer += private - s.Shared
			}
		} else if !s.Auto {
			buffer += private
		}
		if topology == "" {
			fmt.Fprintf(&b, "  buffer: %dB\n", buffer)
		} else {
			note("the buffer is auto, the size that the topology's switches need: the file's buffer of %v is for %d ports",
				units.Bytes(buffer),
				len(s.Ports))
		}
	} else if len(s.Lossless) > 0 {
		note("BUFFER_POOL has no size for the ingress pool of lossless traffic, so the buffer is auto, the size " +
			"that these ports need")
	}
	data := 0
	if len(s.Lossless) == 0 {
		fmt.Fprintf(&b, "  pfc: {priorities: []}\n")
	} else {
		data = s.Lossless[0]
		fmt.Fprintf(&b, "  pfc:\n    priorities: %s\n", list(s.Lossless))
		if s.Alpha > 0 {
			fmt.Fprintf(&b, "    alpha: %g\n    xoff: %dB\n", s.Alpha, s.XOFF)
		} else {
			fmt.Fprintf(&b, "    xoff: %dB\n", s.XOFF)
		}
		switch {
		case s.XONOffset >= 0:
			fmt.Fprintf(&b, "    xoff_to_xon: %dB\n", s.XONOffset)
		case s.XON >= 0 && s.Alpha == 0:
			fmt.Fprintf(&b, "    xon: %dB\n", s.XON)
		case s.XON >= 0:
			note("xon %d without xon_offset is ignored: with a dynamic XOFF, RESUME is sent xoff_to_xon below XOFF", s.XON)
		}
		if !s.Auto {
			fmt.Fprintf(&b, "    headroom: %dB\n", s.Headroom)
		} else {
			note("SONiC computes headroom from its ASIC's cell size and response time, which the file does not have: " +
				"set switch.pfc.cell_size and switch.pfc.response")
		}
		if s.SmallPackets > 0 {
			fmt.Fprintf(&b, "    small_packets: %g\n", s.SmallPackets)
		}
		if w := s.Watchdog; w != nil {
			fmt.Fprintf(&b, "    watchdog: {detect: %v, restore: %v, action: %s}\n", w.Detect, w.Restore, w.Action)
		}
	}
	if e := s.ECN; e != nil {
		fmt.Fprintf(&b, "  ecn: {mode: red, priorities: %s, kmin: %dB, kmax: %dB, pmax: %g}\n", list(e.Priorities), e.KMin,
			e.KMax, e.PMax)
	} else {
		fmt.Fprintf(&b, "  ecn: {mode: \"off\"}\n")
	}
	if len(s.Weights) > 0 {
		var parts []string
		for _, n := range slices.Sorted(maps.Keys(s.Weights)) {
			parts = append(parts, fmt.Sprintf("%d: %dB", n, quantum*s.Weights[n]))
		}
		fmt.Fprintf(&b, "  scheduler: {dwrr: {%s}}\n", strings.Join(parts, ", "))
	}
	fmt.Fprintf(&b, "host: {data_priority: %d}\ncontrollers: [dcqcn, none]\nduration: 2ms\ndrain: true\n", data)
	if topology == "" {
		from := "h1"
		if senders > 1 {
			from = fmt.Sprintf("h1..h%d", senders)
		}
		fmt.Fprintf(&b, "flows:\n  - {tag: incast, from: %s, to: h0, size: 1MB}\n", from)
		for _, n := range s.Lossless[min(1, len(s.Lossless)):] {
			fmt.Fprintf(&b, "  - {tag: incast-%d, from: %s, to: h0, size: 1MB, priority: %d}\n", n, from, n)
		}
	} else {
		fmt.Fprintf(&b, "workloads:\n  - {tag: all, permutation: {size: 1MB}}\n")
		for _, n := range s.Lossless[min(1, len(s.Lossless)):] {
			fmt.Fprintf(&b, "  - {tag: all-%d, priority: %d, permutation: {size: 1MB}}\n", n, n)
		}
	}
	return b.String(), notes
}

// list returns a list of numbers in YAML.
func list(n []int) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ", ") }

// portRange returns a port's name, or the first and the last of several.
func portRange(ports []Port) string {
	if len(ports) == 1 {
		return ports[0].Name
	}
	return fmt.Sprintf("%s to %s (%d)", ports[0].Name, ports[len(ports)-1].Name, len(ports))
}

// GroupOf returns the group that contains a port, or nil.
func GroupOf(groups []*Switch, port string) *Switch {
	for _, g := range groups {
		for _, p := range g.Ports {
			if p.Name == port {
				return g
			}
		}
	}
	return nil
}

// LeftOut returns a note for each reason why ports cannot be imported.
func LeftOut(left []*Unsupported) (notes []string) {
	type kind struct {
		reason string
		speed  int64
	}
	var kinds []kind
	ports := map[kind][]Port{}
	for _, u := range left {
		k := kind{u.Reason, u.Port.Speed}
		if ports[k] == nil {
			kinds = append(kinds, k)
		}
		ports[k] = append(ports[k], u.Port)
	}
	for _, k := range kinds {
		names, are := make([]string, len(ports[k])), "are"
		for i, p := range ports[k] {
			names[i] = p.Name
		}
		if len(names) == 1 {
			are = "is"
		}
		notes = append(notes, fmt.Sprintf("%s (%v) %s ignored: %s", strings.Join(names, ", "), rate(k.speed), are, k.reason))
	}
	return notes
}

// Others returns notes on the groups that are not imported.
func Others(groups []*Switch, chosen *Switch) (notes []string) {
	for _, g := range groups {
		if g != chosen {
			format := "%s (%v) have other settings (%s) and are ignored: import them with --port %s"
			if len(g.Ports) == 1 {
				format = "%s (%v) has other settings (%s) and is ignored: import it with --port %s"
			}
			notes = append(notes, fmt.Sprintf(format, portRange(g.Ports), g.rate(), strings.Join(differ(g, chosen), ", "),
				g.Ports[0].Name))
		}
	}
	return notes
}
