package planefuzz_test

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// source provides a generator's choices: from a seed, or from rapid, which can shrink them.
type source interface {
	// Int returns a number from lo to hi, both included. lo is the simplest.
	Int(label string, lo, hi int) int
}

type seeded struct{ *rand.Rand }

func fromSeed(seed, stream uint64) chooser {
	return chooser{seeded{rand.New(rand.NewPCG(seed, stream))}}
}

func (s seeded) Int(_ string, lo, hi int) int { return lo + s.IntN(hi-lo+1) }

type fromRapid struct{ *rapid.T }

func (r fromRapid) Int(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(r.T, label) }

// chooser makes the choices that the generators need out of numbers.
type chooser struct{ source }

// chance returns true in this many of 100 cases; false is simpler.
func (d chooser) chance(label string, percent int) bool { return d.Int(label, 0, 99) >= 100-percent }

// scale returns a number from lo to hi, each order of magnitude equally likely.
func (d chooser) scale(label string, lo, hi int) int {
	octaves := 0
	for hi>>octaves > max(lo, 1) {
		octaves++
	}
	top := max(lo, 1) << d.Int(label+"'s octave", 0, octaves)
	return d.Int(label, max(lo, min(hi, top/2)), min(hi, top))
}

func (d chooser) size(label string, lo, hi units.Bytes) units.Bytes {
	return units.Bytes(d.scale(label, int(lo), int(hi)))
}

func (d chooser) time(label string, lo, hi vtime.Time) vtime.Time {
	return vtime.Time(d.scale(label, int(lo), int(hi)))
}

// pick returns one of the items; the first is the simplest.
func pick[T any](d chooser, label string, items ...T) T {
	return items[d.Int(label, 0, len(items)-1)]
}

// drawFabric returns a small fabric of one of the usual shapes, or of none.
func drawFabric(d chooser) fabric {
	f := fabric{
		MTU: pick(d, "mtu", 1000, 1000, 1024, 256, 64, 1500, 4096, 9056, 0),
		NS3: d.chance("framing ns3", 30),
	}
	if f.MTU == 0 {
		f.MTU = d.Int("odd mtu", 64, 9056)
	}
	f.Shape = pick(d, "shape", "star", "star", "leafspine", "leafspine", "fattree", "tree", "tree", "planes", "rail")
	switch f.Shape {
	case "star":
		f.switches(1)
		f.hosts(0, d.Int("hosts", 2, 7))
	case "leafspine":
		spines, leaves := d.Int("spines", 1, 3), d.Int("leaves", 2, 3)
		f.switches(leaves + spines)
		for leaf := range leaves {
			f.hosts(leaf, d.Int("hosts of a leaf", 1, 3))
			for spine := range spines {
				f.trunk(leaf, leaves+spine, 1)
			}
		}
	case "fattree": // two pods
		edges, above, perEdge := d.Int("edges", 1, 2), d.Int("aggregations", 1, 2), d.Int("hosts of an edge", 1, 2)
		f.switches(2*edges + 2*above + above)
		for pod := range 2 {
			for e := range edges {
				f.hosts(pod*edges+e, perEdge)
				for a := range above {
					f.trunk(pod*edges+e, 2*edges+pod*above+a, 1)
				}
			}
			for a := range above {
				f.trunk(2*edges+pod*above+a, 2*edges+2*above+a, 1)
			}
		}
	case "planes", "rail": // the former without what joins the leaves
		n, leaves := d.Int("ports of a host", 2, 3), d.Int("leaves of a plane", 1, 2)
		f.switches(n*leaves + n)
		if f.Shape == "planes" && leaves == 1 {
			f.switches(n)
		}
		for leaf := range leaves {
			for range d.Int("hosts of a leaf", 1, 2) + 2 - leaves {
				h := hostLink{Switch: leaf}
				for plane := 1; plane < n; plane++ {
					h.More = append(h.More, plane*leaves+leaf)
				}
				f.Hosts = append(f.Hosts, h)
			}
		}
		for spine := n * leaves; spine < len(f.Buffers); spine++ {
			for leaf := range n * leaves {
				if f.Shape == "rail" || leaf/leaves == spine-n*leaves {
					f.trunk(leaf, spine, 1)
				}
			}
		}
	case "tree": // with links that close cycles
		n := d.Int("switches", 1, 5)
		f.switches(n)
		linked := map[[2]int]bool{}
		for i := 1; i < n; i++ {
			parent := d.Int("parent", 0, i-1)
			linked[[2]int{parent, i}] = true
			f.trunk(parent, i, pick(d, "parallel links", 1, 1, 1, 2, 3))
		}
		for range d.Int("extra links", 0, 2) {
			a, b := d.Int("end", 0, n-1), d.Int("other end", 0, n-1)
			if pair := [2]int{min(a, b), max(a, b)}; a != b && !linked[pair] {
				linked[pair] = true
				f.trunk(pair[0], pair[1], 1)
			}
		}
		for range d.Int("hosts", 2, 7) {
			f.hosts(d.Int("switch", 0, n-1), 1)
		}
	}
	if f.Shape != "planes" && f.Shape != "rail" && d.chance("hosts of several ports", 20) {
		for i := range f.Hosts {
			for range pick(d, "more ports", 0, 1, 2) {
				f.Hosts[i].More = append(f.Hosts[i].More, d.Int("another switch", 0, len(f.Buffers)-1))
			}
		}
	}
	f.drawCables(d)
	if d.chance("weights", 20) {
		for i := range f.Trunks {
			f.Trunks[i].Weight = d.Int("weight", 1, 5)
		}
	}
	if d.chance("own buffers", 10) {
		for i := range f.Buffers {
			f.Buffers[i] = d.size("own buffer", 10*units.KB, units.MB)
		}
	}
	return f
}

func (f *fabric) switches(n int) { f.Buffers = make([]units.Bytes, n) }

func (f *fabric) hosts(sw, n int) {
	for range n {
		f.Hosts = append(f.Hosts, hostLink{Switch: sw})
	}
}

func (f *fabric) trunk(a, b, count int) { f.Trunks = append(f.Trunks, trunk{A: a, B: b, Count: count}) }

// drawCables gives all links one rate and delay, or those to hosts others than those between switches, or each its own.
func (f *fabric) drawCables(d chooser) {
	how := d.Int("cables differ", 0, 2)
	first := drawCable(d)
	second := first
	if how == 1 {
		second = drawCable(d)
	}
	for i := range f.Hosts {
		if f.Hosts[i].cable = first; how == 2 {
			f.Hosts[i].cable = drawCable(d)
		}
	}
	for i := range f.Trunks {
		if f.Trunks[i].cable = second; how == 2 {
			f.Trunks[i].cable = drawCable(d)
		}
	}
}

func drawCable(d chooser) cable {
	c := cable{
		Rate:  pick[units.Rate](d, "rate", 40, 100, 10, 25, 400, 200, 50, 1, 3, 7, 0) * units.Gbps,
		Delay: pick(d, "delay", vtime.Microsecond, 5*vtime.Microsecond, 100*vtime.Nanosecond, 0),
	}
	if c.Rate == 0 {
		c.Rate = units.Rate(d.scale("odd rate", 1000, 400_000)) * units.Mbps
	}
	if c.Delay == 0 {
		c.Delay = d.time("odd delay", 100*vtime.Nanosecond, 20*vtime.Microsecond)
	}
	return c
}
