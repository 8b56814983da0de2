package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

var (
	viewBox   = regexp.MustCompile(`viewBox="([-0-9.]+) 0 ([0-9.]+) ([0-9.]+)"`)
	flushText = regexp.MustCompile(`<text class="(title|sub|tier)" x="([-0-9.]+)" y="([-0-9.]+)">([^<]*)</text>`)
)

// TestLegendFits checks that title and legend lie within the drawing, for any size of the fabric and number of kinds of
// cable, and that their parts do not overlap.
func TestLegendFits(t *testing.T) {
	plans := map[string]*topologies.Plan{}
	for _, name := range spec.BuiltinNames() {
		p, err := spec.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		plans[name] = p
	}
	for _, spec := range []string{
		"star: {hosts: 2}",
		"rail: {rails: 2, groups: 2, hosts_per_group: 2, spines: 2}",
		"star: {hosts: 2}\nrate: 2.5Gbps\ndelay: 1.234567us",
		"leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 40Gbps}",
		"name: a-long-name-of-a-fabric-of-one-switch\nstar: {hosts: 2}",
		"nodes: [{name: s0, kind: switch}, {name: h0..h5, kind: host}]\nlinks: [{from: h0, to: s0, rate: 10Gbps}, " +
			"{from: h1, to: s0, rate: 25Gbps}, {from: h2, to: s0, rate: 40Gbps}, {from: h3, to: s0, rate: 50Gbps}, " +
			"{from: h4, to: s0, rate: 100Gbps}, {from: h5, to: s0, delay: 1234567ps}]",
	} {
		plans[spec] = parse(t, spec)
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
		if err := SVG(&b, p); err != nil {
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
			if strings.HasPrefix(m[4], "of ") && strings.Contains(m[4], " ports") {
				t.Errorf("%s: the line %q begins with the hosts' ports", name, m[4])
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

func TestGraphs(t *testing.T) {
	p, err := spec.Builtin("leafspine")
	if err != nil {
		t.Fatal(err)
	}
	for ext, draw := range map[string]func(io.Writer, *topologies.Plan) error{
		"dot": Dot, "mermaid": Mermaid, "svg": SVG,
	} {
		var b bytes.Buffer
		if err := draw(&b, p); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
		testenv.Golden(t, "testdata/leafspine."+ext, b.String())
	}
}

// Every drawing is well-formed XML, refers to nothing outside, and stays inside its frame.
func TestSVG(t *testing.T) {
	for _, spec := range []string{
		"star: {hosts: 2}", "star: {hosts: 100}", "fattree: {k: 4}", "fattree: {k: 16}",
		"leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}", "leafspine: {spines: 40, leaves: 1, hosts_per_leaf: 2}",
		"nodes: [{name: s0..s3, kind: switch}, {name: h0..h3, kind: host}]\n" +
			"links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: h2, to: s2}, {from: h3, to: s3}, " +
			"{from: s0, to: s1, count: 2}, {from: s0, to: [s2, s3]}]",
	} {
		p := parse(t, spec)
		var b bytes.Buffer
		if err := SVG(&b, p); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", spec, err)
				break
			}
		}
		text := strings.Replace(b.String(), "http://www.w3.org/2000/svg", "", 1)
		if strings.Contains(text, "http") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: the drawing has an address or a number that is none", spec)
		}
		l := arrange(p)
		for id, n := range l.nodes {
			if n.x-n.w/2 < 0 || n.x+n.w/2 > l.width || n.y-n.h/2 < 0 || n.y+n.h/2 > l.height {
				t.Errorf("%s: %s is outside the drawing", spec, p.Nodes[id].Name)
			}
		}
		for a, n := range l.nodes {
			for b, m := range l.nodes {
				if a < b && abs(n.x-m.x) < (n.w+m.w)/2-0.01 && abs(n.y-m.y) < (n.h+m.h)/2-0.01 {
					t.Fatalf("%s: %s and %s overlap", spec, p.Nodes[a].Name, p.Nodes[b].Name)
				}
			}
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

func parse(t testing.TB, text string) *topologies.Plan {
	t.Helper()
	p, err := spec.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
