package topologies

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"unicode/utf8"
)

var (
	viewBox   = regexp.MustCompile(`viewBox="([-0-9.]+) 0 ([0-9.]+) ([0-9.]+)"`)
	flushText = regexp.MustCompile(`<text class="(title|sub|tier)" x="([-0-9.]+)" y="([-0-9.]+)">([^<]*)</text>`)
)

// TestLegendFits: title and legend lie within the drawing, whatever the fabric's size and however many kinds of cable it has, and no
// two pieces on each other.
func TestLegendFits(t *testing.T) {
	plans := map[string]*Plan{}
	for _, name := range BuiltinNames() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = p
	}
	for _, spec := range []string{
		"star: {hosts: 2}",
		"star: {hosts: 2}\nrate: 2.5Gbps\ndelay: 1.234567us",
		"leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 40Gbps}",
		"name: a-long-name-of-a-fabric-of-one-switch\nstar: {hosts: 2}",
		"nodes: [{name: s0, kind: switch}, {name: h0..h5, kind: host}]\nlinks: [{from: h0, to: s0, rate: 10Gbps}, {from: h1, to: s0, rate: 25Gbps}, " +
			"{from: h2, to: s0, rate: 40Gbps}, {from: h3, to: s0, rate: 50Gbps}, {from: h4, to: s0, rate: 100Gbps}, {from: h5, to: s0, delay: 1234567ps}]",
	} {
		plans[spec] = mustParse(t, spec)
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, p := range plans {
		var b bytes.Buffer
		if err := p.SVG(&b); err != nil {
			t.Fatal(err)
		}
		box := viewBox.FindStringSubmatch(b.String())
		right := number(box[1]) + number(box[2])
		ends := map[string]float64{} // of the text so far, by line
		for _, m := range flushText.FindAllStringSubmatch(b.String(), -1) {
			letter := 6.0 // of the 12 px that most fonts take for 20 letters and more
			if m[1] == "title" {
				letter = 10.5
			}
			x := number(m[2])
			end := x + letter*float64(utf8.RuneCountInString(m[4]))
			if end > right {
				t.Errorf("%s: %q ends at %.0f, the drawing at %.0f", name, m[4], end, right)
			}
			if last, ok := ends[m[3]]; ok && x < last {
				t.Errorf("%s: %q begins at %.0f, within what ends at %.0f", name, m[4], x, last)
			}
			ends[m[3]] = end
		}
	}
}
