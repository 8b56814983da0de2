package experiments

import (
	"path/filepath"
	"strings"
	"testing"
)

const referring = `
name: small
topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}}
switch: {pfc: {xoff: 100KB}, ecn: {kmin: 20KB, kmax: 80KB, per_rate: 25Gbps}, cnm: {ecn_threshold: 60KB}, tcd: {q_len: 7KB}}
flows:
  - {tag: incast, from: [h0..h3], to: h7, size: 30KB}
  - {tag: other, from: h7, to: h0, size: 10KB, constant_rate: 2Gbps}
duration: 100us
drain: true
controllers:
  - dcqcn
  - none
  - dcon
  - dcqcn+tcd
  - hpcc
  - {name: deep, cc: dcqcn, switch: {pfc: {xoff: 200KB}, ecn: {kmax: 90KB}}}
  - {name: dynamic, cc: dcqcn, switch: {pfc: {alpha: 1/4}}}
  - {name: lossy, cc: dcqcn, switch: {pfc: {priorities: []}}}
  - {name: credits, cc: dcqcn, switch: {flow_control: cbfc, cbfc: {buffer: 200KB}}}
report:
  - title: Ingress
    series:
      - {ingress: "leaf1:spine0", reference: pfc.xoff}
      - {ingress: "leaf1:spine1", reference: pfc.xon}
      - {ingress: "leaf1:h7", reference: cbfc.buffer}
  - title: Egress
    series:
      - {queue: "leaf1:h7", reference: ecn.kmax}
      - {queue: "leaf1:spine0", reference: ecn.kmax}
      - {queue: "leaf1:spine0", reference: ecn.kmin}
      - {queue: "leaf1:h6", reference: cnm.ecn_threshold}
      - {queue: "leaf1:h5", reference: cnm.threshold}
      - {queue: "leaf1:h4", reference: tcd.q_len}
  - title: Rates
    series:
      - {goodput: incast, reference: payload/2, reference_label: half}
      - {rate: incast, reference: line}
      - {rate: other, reference: constant_rate}
      - {goodput: other, reference: 3Gbps}
`

// TestReferences: a reference that is a setting is the run's, as --set, a variant or the controller have made it; where the run
// has none, there is none.
func TestReferences(t *testing.T) {
	const payload = 25e9 * 1000 / 1082 / 2 // Ethernet's framing around 1000 B
	levels := func(name string, sets ...string) (values [3][]float64, labels string) {
		t.Helper()
		u, err := NewSetup(parse(t, referring, sets...), name, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range u.resolution().Configuration.Report {
			for _, s := range p.Series {
				values[i] = append(values[i], s.Reference)
				labels += s.ReferenceLabel + ";"
			}
		}
		return values, labels
	}
	same := func(a, b []float64) bool {
		for i := range b {
			if len(a) != len(b) || a[i] < b[i]*0.999999 || a[i] > b[i]*1.000001 {
				return false
			}
		}
		return true
	}
	rates := []float64{payload, 25e9, 2e9, 3e9}
	for _, c := range []struct {
		controller string
		sets       []string
		want       [3][]float64
	}{
		{"dcqcn", nil, [3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"none", nil, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 0}, rates}},
		{"dcon", nil, [3][]float64{{100e3, 98e3, 0}, {60e3, 240e3, 0, 60e3, 0, 0}, rates}},
		{"dcon", []string{"switch.cnm.threshold=90KB"}, [3][]float64{{100e3, 98e3, 0}, {60e3, 240e3, 0, 60e3, 90e3, 0}, rates}},
		{"dcqcn+tcd", nil, [3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 7e3}, rates}},
		{"dcqcn+tcd", []string{"switch.ecn.mode=step"}, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 7e3}, rates}},
		{"hpcc", nil, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 0}, {25e9 * 1000 / 1124 / 2, 25e9, 2e9, 3e9}}},
		{"deep", nil, [3][]float64{{200e3, 198e3, 0}, {90e3, 360e3, 80e3, 0, 0, 0}, rates}},
		{"deep", []string{"switch.pfc.xoff=640KB"}, [3][]float64{{200e3, 198e3, 0}, {90e3, 360e3, 80e3, 0, 0, 0}, rates}},
		{"dcqcn", []string{"switch.pfc.xoff=640KB"}, [3][]float64{{640e3, 638e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"dynamic", nil, [3][]float64{{100e3, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"dynamic", []string{"controllers.dynamic.switch.pfc.xoff=0B"}, [3][]float64{{0, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"lossy", nil, [3][]float64{{0, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"credits", nil, [3][]float64{{0, 0, 200e3}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"dcqcn", []string{"flows.other.constant_rate=5Gbps"}, [3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, {payload, 25e9, 5e9, 3e9}}},
	} {
		got, labels := levels(c.controller, c.sets...)
		for i := range got {
			if !same(got[i], c.want[i]) {
				t.Errorf("%s %v: panel %d has %v, want %v", c.controller, c.sets, i, got[i], c.want[i])
			}
		}
		xoff := "XOFF;"
		if c.controller == "dynamic" {
			xoff = "XOFF at most;"
		}
		if want := xoff + "XON;credits' buffer;ECN kmax;ECN kmax;ECN kmin;Q_ECN;Q_CNM;q_len;half;line rate;constant rate;3Gbps;"; labels != want {
			t.Errorf("%s: labels %q, want %q", c.controller, labels, want)
		}
	}
}

// TestReferencesDrawn: the page, and one that compares runs, draw what each run had.
func TestReferencesDrawn(t *testing.T) {
	low, _ := runSuite(t, referring, []string{"dcqcn"}, []uint64{1})
	high, _ := runSuite(t, referring, []string{"dcqcn", "deep"}, []uint64{1}, "switch.pfc.xoff=150KB")
	page := contentOf(t, high)[filepath.Join(high, "small", "report.html")]
	if !strings.Contains(page, "Reference XOFF 150\u00a0KB") || !strings.Contains(page, "Reference XOFF 200\u00a0KB") || strings.Contains(page, "XOFF 100\u00a0KB") {
		t.Error("the page's lines are not the runs'")
	}
	c, err := CompareFolders([]string{low, filepath.Join(high, "small", "dcqcn")})
	if err != nil {
		t.Fatal(err)
	}
	both, err := c.page.render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Reference XOFF 100\u00a0KB", "Reference XOFF 150\u00a0KB"} {
		if n := strings.Count(string(both), want); n != 1 {
			t.Errorf("%q is in the comparison %d times, want once", want, n)
		}
	}
}
