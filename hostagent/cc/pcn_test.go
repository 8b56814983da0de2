package cc

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/units"
)

// report returns a CNP of PCN's receiver. Only its receiving rate matters if congested, and nothing otherwise.
func report(congested bool, rate units.Rate) *Sample {
	return &Sample{CE: congested, Received: 40, ReceivingRate: rate}
}

func pcn40(t *testing.T, given map[string]string) *pcn {
	t.Helper()
	return mustBuild(t, "pcn", given, env40).(*pcn)
}

// The rules of the PCN paper's sender with the constants of its authors' simulator (vectors, PCN).
func TestPCNVectors(t *testing.T) {
	p := pcn40(t, nil)
	expect(t, "R of a new flow", p.Rate(), 40)
	p.OnCNP(report(true, 8160*units.Mbps))
	expect(t, "R when congested", p.Rate(), 8.09625)
	if p.w != 1./128 {
		t.Errorf("w is %g", p.w)
	}
	for _, want := range []struct{ rate, w float64 }{
		{8.345498047, 0.009704590},
		{8.652692005, 0.012036558},
		{9.030005703, 0.014900819},
		{9.491483985, 0.018403989},
		{10.052962391, 0.022666280},
		{10.731750329, 0.027819090},
	} {
		p.OnCNP(report(false, units.Mbps))
		expect(t, "R", p.Rate(), want.rate)
		near(t, "w", p.w, want.w, 0.6e-9)
	}
	p.rate = 5e9
	p.OnCNP(report(true, 8160*units.Mbps))
	expect(t, "R below the rate of arrival", p.Rate(), 5)
	if p.w != 1./128 {
		t.Errorf("w is %g", p.w)
	}
	p.OnCNP(report(true, 50*units.Mbps))
	expect(t, "R at its least", p.Rate(), 0.1)
}

// TestPCNRecovery: from C/128 to 0.95 C it takes 26 reports, or 15 with the paper's w_max.
func TestPCNRecovery(t *testing.T) {
	for wMax, want := range map[string]int{"1/4": 26, "1/2": 15} {
		p := pcn40(t, map[string]string{"w_max": wMax})
		p.Preset(0, 40e9/128)
		n := 0
		for ; p.Rate() < 0.95*40e9 && n < 100; n++ {
			p.OnCNP(report(false, 0))
		}
		if n != want {
			t.Errorf("w_max %s: %d reports, want %d", wMax, n, want)
		}
		for range 1000 {
			p.OnCNP(report(false, 0))
		}
		if p.Rate() > 40e9 || p.Rate() < 39.999e9 {
			t.Errorf("R comes to %g", p.Rate())
		}
	}
}

func TestPCNWithoutReport(t *testing.T) {
	p := pcn40(t, nil)
	p.Preset(0, 10e9)
	p.OnCNP(cnp(0))
	expect(t, "R after a CNP without a report", p.Rate(), 10)
}

func TestPCNRefusals(t *testing.T) {
	_, err := Resolve("pcn", map[string]string{"w_min": "1/2"}, env40)
	if err == nil || !strings.Contains(err.Error(), "pcn.w_min 0.5 is above w_max, 0.25") {
		t.Errorf("%v", err)
	}
}
