package planefuzz_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// minimise makes a failing case smaller for as long as it fails and the time lasts. fails must not change its case.
func minimise(c *testCase, limit time.Duration, fails func(*testCase) bool) *testCase {
	deadline := time.Now().Add(limit)
	for smaller := true; smaller; {
		smaller = false
		for _, try := range smallerCases(c) {
			if time.Now().After(deadline) {
				return c
			}
			// Steps were made for the case as it was; each applies to what the ones before it left.
			d := c.clone()
			if !try(d) || d.yaml() == c.yaml() || !d.sound() || !fails(d) {
				continue
			}
			c, smaller = d, true
		}
	}
	return c
}

// sound reports whether the flows fit the fabric and the run.
func (c *testCase) sound() bool {
	for _, f := range c.Flows {
		if max(f.From, f.To) >= len(c.Fabric.Hosts) || f.From == f.To || f.Start >= c.Duration {
			return false
		}
		if line := c.Fabric.Hosts[f.From].Rate; f.StartRate > line || f.ConstantRate > line {
			return false
		}
		if f.Stop > 0 && (f.Stop <= f.Start || f.Stop >= c.Duration) {
			return false
		}
	}
	return len(c.Flows) > 0 && len(c.Fabric.Hosts) > 1 && c.Job.Ranks <= len(c.Fabric.Hosts) && c.Job.fits() &&
		c.faultsFit()
}

// faultsFit reports whether the faults' locations exist in the fabric and their flows can repair their losses.
func (c *testCase) faultsFit() bool {
	if (len(c.Faults) > 0 || c.Switch.PFC.Watchdog.On()) && c.Host.RetransmitTimeout == 0 || c.waitsForEver() {
		return false
	}
	for i := range c.Faults {
		f := &c.Faults[i]
		if f.Host >= len(c.Fabric.Hosts) || f.Link != "" && !c.Fabric.linked(f.Link) {
			return false
		}
		if f.Kind == settings.FaultPause && c.Switch.FlowControl == switchagent.FlowCBFC {
			return false
		}
	}
	return true
}

// linked reports whether the link of a fault exists.
func (f *fabric) linked(name string) bool {
	for i, h := range f.Hosts {
		if fmt.Sprintf("h%d:s%d", i, h.Switch) == name {
			return true
		}
	}
	return slices.ContainsFunc(f.Trunks, func(t trunk) bool { return fmt.Sprintf("s%d:s%d", t.A, t.B) == name })
}

// smallerCases returns steps towards a smaller case, the largest first. A step says whether it applies.
func smallerCases(c *testCase) []func(*testCase) bool {
	var steps []func(*testCase) bool
	step := func(f func(*testCase) bool) { steps = append(steps, f) }
	set := func(f func(*testCase)) { step(func(c *testCase) bool { f(c); return true }) }

	for n := len(c.Flows) / 2; n >= 1; n /= 2 {
		for from := len(c.Flows) - n; from >= 0; from -= n {
			step(func(c *testCase) bool {
				if from+n > len(c.Flows) {
					return false
				}
				c.Flows = slices.Delete(c.Flows, from, from+n)
				return true
			})
		}
	}
	for _, part := range []vtime.Time{2, 10} {
		set(func(c *testCase) {
			c.Duration -= c.Duration / part
			c.Flows = slices.DeleteFunc(c.Flows, func(f flow) bool { return f.Start >= c.Duration })
		})
	}
	steps = append(steps, smallerFabrics(c)...)
	defaults, balancing, host := switchagent.Default(), topologies.DefaultBalancing(), hostagent.Default()
	set(func(c *testCase) { c.Switch, c.Balancing, c.Host = defaults, balancing, host })
	set(func(c *testCase) { c.Hash = topologies.HashOwn })
	set(func(c *testCase) { c.Job = job{} })
	set(func(c *testCase) { c.Job.Iterations, c.Job.QPs, c.Job.Barrier = min(c.Job.Iterations, 1), 0, false })
	set(func(c *testCase) { c.Balancing = balancing })
	set(func(c *testCase) { c.Constants = nil })
	set(func(c *testCase) { c.Faults = nil })
	for i := len(c.Faults) - 1; i >= 0; i-- {
		step(func(c *testCase) bool {
			if i >= len(c.Faults) {
				return false
			}
			c.Faults = slices.Delete(c.Faults, i, i+1)
			return true
		})
	}
	set(func(c *testCase) {
		for i := range c.Faults {
			c.Faults[i].Every = 0
		}
	})
	set(func(c *testCase) { c.Switch.PFC.Watchdog = switchagent.Watchdog{} })
	set(func(c *testCase) { c.Switch.PFC.PerRate = 0 })
	set(func(c *testCase) { c.Switch.ECN.PerRate = 0 })
	set(func(c *testCase) { c.Switch.Scheduler = defaults.Scheduler })
	set(func(c *testCase) { c.Switch.CNM = defaults.CNM })
	set(func(c *testCase) { c.Switch.ECN.Mode = switchagent.ECNOff })
	set(func(c *testCase) { c.Switch.ECN.Point = switchagent.ECNByMode })
	set(func(c *testCase) { c.Switch.ECN.Ports = switchagent.ECNPortsAuto })
	set(func(c *testCase) { c.Switch.ECN = defaults.ECN })
	set(func(c *testCase) { c.Switch.PFC = defaults.PFC })
	set(func(c *testCase) {
		c.Switch.PFC.Alpha, c.Switch.PFC.XOFF = 0, max(c.Switch.PFC.XOFF, c.Switch.PFC.XON+1)
	})
	set(func(c *testCase) { c.Switch.PFC.Quanta = defaults.PFC.Quanta })
	set(func(c *testCase) { c.Switch.PFC.Headroom = defaults.PFC.Headroom })
	set(func(c *testCase) { c.Switch.Buffer = defaults.Buffer })
	set(func(c *testCase) { c.Switch.LossyLimit = defaults.LossyLimit })
	set(func(c *testCase) { c.Switch.LossyAlpha, c.Switch.Trim = 0, false })
	set(func(c *testCase) { c.Switch.TrimVictim = switchagent.TrimArriving })
	set(func(c *testCase) { c.Host = host })
	set(func(c *testCase) { c.Host.Recovery, c.Host.Selective = host.Recovery, host.Selective })
	set(func(c *testCase) { c.Host.Selective = host.Selective })
	for _, s := range settings.Switch(&defaults, &balancing) { // each by itself, those without a step of their own too
		if text := s.Text(); s.Kind() != schema.Group && text != "" {
			step(func(c *testCase) bool { return settings.Switch(&c.Switch, &c.Balancing).Set(s.Name, text) == nil })
		}
	}
	set(func(c *testCase) { c.Host.ACKsWithData, c.Host.ACKsWhenPaused = false, false })
	set(func(c *testCase) { c.Host.AckEvery = 1 })
	step(func(c *testCase) bool {
		c.Host.RetransmitTimeout = 0
		return len(c.Faults) == 0 && !c.Switch.PFC.Watchdog.On()
	})
	set(func(c *testCase) { c.Host.CNPInterval, c.Host.NakInterval = host.CNPInterval, host.NakInterval })
	set(func(c *testCase) { c.Controller, c.Constants = "none", nil })
	set(func(c *testCase) { c.Seed = 1 })
	for i := range c.Constants {
		step(func(c *testCase) bool {
			if i >= len(c.Constants) {
				return false
			}
			c.Constants = slices.Delete(c.Constants, i, i+1)
			return true
		})
	}
	for i := range c.Flows {
		each := func(f func(*flow)) {
			step(func(c *testCase) bool {
				if i >= len(c.Flows) {
					return false
				}
				f(&c.Flows[i])
				return true
			})
		}
		each(func(f *flow) { f.Start = 0 })
		each(func(f *flow) { f.StartRate, f.ConstantRate = 0, 0 })
		each(func(f *flow) { f.CC = "" })
		each(func(f *flow) { f.QPs = max(0, f.QPs-1) })
		each(func(f *flow) { f.Priority = 0 })
		each(func(f *flow) { f.Weight = 0 })
		each(func(f *flow) { f.Stop = 0 })
		each(func(f *flow) { f.On, f.Off = 0, 0 })
		each(func(f *flow) { f.QPs, f.Message = 0, 0 })
		each(func(f *flow) {
			if f.Size == 0 {
				f.Size = 100 * units.KB
			}
		})
		each(func(f *flow) { f.Size = max(f.Size/2, 1) })
		each(func(f *flow) { f.Size = max(f.Size-f.Size/10, 1) })
		each(func(f *flow) { f.Size = max(f.Size-units.Bytes(c.Fabric.MTU), 1) })
	}
	return steps
}

// smallerFabrics returns steps towards a smaller and simpler fabric.
func smallerFabrics(c *testCase) []func(*testCase) bool {
	var steps []func(*testCase) bool
	step := func(f func(*testCase)) { steps = append(steps, func(c *testCase) bool { f(c); return true }) }
	step(func(c *testCase) { // a star
		c.Fabric.Buffers, c.Fabric.Trunks = c.Fabric.Buffers[:1], nil
		for i := range c.Fabric.Hosts {
			c.Fabric.Hosts[i].Switch, c.Fabric.Hosts[i].More = 0, nil
		}
	})
	step(func(c *testCase) { // two switches
		if len(c.Fabric.Trunks) > 0 {
			c.Fabric.Buffers = append(c.Fabric.Buffers, 0)[:2]
			c.Fabric.Trunks = []trunk{{A: 0, B: 1, Count: 1, cable: c.Fabric.Trunks[0].cable}}
			for i := range c.Fabric.Hosts {
				c.Fabric.Hosts[i].Switch, c.Fabric.Hosts[i].More = min(c.Fabric.Hosts[i].Switch, 1), nil
			}
		}
	})
	for i := len(c.Fabric.Hosts) - 1; i >= 0; i-- {
		steps = append(steps, func(c *testCase) bool { return c.removeHost(i) })
	}
	for i := len(c.Fabric.Trunks) - 1; i >= 0; i-- {
		steps = append(steps, func(c *testCase) bool {
			if i >= len(c.Fabric.Trunks) || !c.Fabric.connectedWithout(i) {
				return false
			}
			c.Fabric.Trunks = slices.Delete(c.Fabric.Trunks, i, i+1)
			return true
		})
	}
	step(func(c *testCase) { clear(c.Fabric.Buffers) })
	step(func(c *testCase) { c.Fabric.NS3 = false })
	step(func(c *testCase) { c.Fabric.MTU = 1000 })
	plain := cable{40 * units.Gbps, vtime.Microsecond}
	step(func(c *testCase) {
		for i := range c.Fabric.Hosts {
			c.Fabric.Hosts[i].cable = plain
		}
		for i := range c.Fabric.Trunks {
			c.Fabric.Trunks[i].cable, c.Fabric.Trunks[i].Count, c.Fabric.Trunks[i].Weight = plain, 1, 0
		}
	})
	return steps
}

// removeHost removes a host that no flow needs.
func (c *testCase) removeHost(h int) bool {
	if h >= len(c.Fabric.Hosts) || len(c.Fabric.Hosts) == 2 ||
		slices.ContainsFunc(c.Flows, func(f flow) bool { return f.From == h || f.To == h }) {
		return false
	}
	c.Fabric.Hosts = slices.Delete(c.Fabric.Hosts, h, h+1)
	for i := range c.Flows {
		for _, end := range []*int{&c.Flows[i].From, &c.Flows[i].To} {
			if *end > h {
				*end--
			}
		}
	}
	return true
}

// connectedWithout reports whether the switches stay connected without trunk t.
func (f *fabric) connectedWithout(t int) bool {
	reached := map[int]bool{0: true}
	for range f.Buffers {
		for i, l := range f.Trunks {
			if i != t && (reached[l.A] || reached[l.B]) {
				reached[l.A], reached[l.B] = true, true
			}
		}
	}
	return len(reached) == len(f.Buffers)
}
