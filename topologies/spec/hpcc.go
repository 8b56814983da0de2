package spec

import (
	"path/filepath"
	"strconv"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// hpccFile reads a topology file of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, simulation/mix),
// named relative to the spec's folder. The file holds words separated by blanks: the numbers of nodes, switches and
// links; the switches' ids; and for each link its two ends, rate, delay and error rate. hpccFile ignores the rest.
// Nodes are numbered from 0 and get the names s7 and h8. The ports of a node are in the order of its links, like the
// simulator's interfaces.
func (d *draft) hpccFile(v *yamlspec.Value) {
	name := ""
	if !v.String(&name) {
		return
	}
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(filepath.Dir(v.File()), name)
	}
	data, err := v.Report().Sources.Read(path, yamlspec.TableFile)
	if err != nil {
		v.Errorf("%v", err)
		return
	}
	w := v.Report().Words(path, data)
	defer w.Close()
	d.hpccNodes(w)
}

func (d *draft) hpccNodes(w *yamlspec.WordReader) {
	var nodes, switches, links int
	if !w.Int(&nodes, "number of nodes", 1, topologies.MaxHosts+topologies.MaxSwitches) ||
		!w.Int(&switches, "number of switches", 0, topologies.MaxSwitches) ||
		!w.Int(&links, "number of links", 0, maxLinks) {
		return
	}
	count := w.Last()
	isSwitch := make([]*yamlspec.Value, nodes)
	for range switches {
		id := 0
		if !w.Int(&id, "switch", 0, nodes-1) {
			return
		}
		if isSwitch[id] != nil {
			w.Last().Errorf("%d is listed twice", id)
		}
		isSwitch[id] = w.Last()
	}
	for id, at := range isSwitch {
		n := draftNode{name: "h" + strconv.Itoa(id), at: count}
		if at != nil {
			n = draftNode{name: "s" + strconv.Itoa(id), kind: topologies.Switch, at: at}
		}
		d.add(n)
	}
	for range links {
		var a, b int
		var c cable
		if !w.Int(&a, "end of a link", 0, nodes-1) || !w.Int(&b, "end of a link", 0, nodes-1) {
			return
		}
		at := w.Last()
		rate, delay, loss := w.Next("rate of a link"), w.Next("delay of a link"), w.Next("error rate of a link")
		if loss == nil {
			return
		}
		rateOfLinks := rateKey("rate", &c.rate)
		rateOfLinks.Read(rate)
		if c.delay = secondsOrTime(delay); c.delay > maxDelay {
			delay.Errorf("delay %v exceeds the maximum of %v", c.delay, maxDelay)
		}
		if p, err := strconv.ParseFloat(loss.Raw(), 64); err != nil || p != 0 {
			loss.Errorf("error rate %s must be 0: use a fault for links that lose frames", loss.Raw())
		}
		if a == b {
			at.Errorf("a link would connect %d to itself", a)
			continue
		}
		d.link(a, b, c, at)
	}
}

// secondsOrTime decodes a time as ns-3 reads it: "1000ns", "0.001ms", or a number of seconds without a unit.
func secondsOrTime(v *yamlspec.Value) (t vtime.Time) {
	if _, err := strconv.ParseFloat(v.Raw(), 64); err == nil {
		if t, err = units.ParseTime(v.Raw() + "s"); err != nil {
			v.Errorf("%v", err)
		}
		return t
	}
	v.Time(&t)
	return t
}
