package fill

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// What a fabric's cables are to its switches: a leaf's, to hosts and to spines.
func TestCables(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte(
		"name: t\ndelay: 2us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 40Gbps}\n"))
	if err != nil {
		t.Fatal(err)
	}
	leaf := plan.NodeByName("leaf0").ID
	host := switchagent.Cable{
		Rate: 10 * units.Gbps, PeerRate: 10 * units.Gbps, Delay: 2 * vtime.Microsecond, PeerDelay: 2 * vtime.Microsecond,
		Full: 1058, Longest: 1116, LongestLine: 1140, PFCLine: 84, AheadLine: 1140,
	}
	spine := host
	host.ToHost = true
	spine.Rate, spine.PeerRate = 40*units.Gbps, 40*units.Gbps
	if got := Cables(plan, leaf, false); !slices.Equal(got, []switchagent.Cable{host, spine}) {
		t.Errorf("%+v", got)
	}
	// Programs send frames of up to the interfaces' MTU.
	jumbo, err := spec.Parse("t.yaml", []byte("interface_mtu: 9100\nstar: {hosts: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	// A frame of 9100 B of IP, 14 of Ethernet and 24 beside it may be ahead of a PAUSE, and lossless frames are no
	// longer.
	if got := Cables(jumbo, jumbo.Switch[0], false)[0]; got.AheadLine != 9138 || got.LongestLine != 1140 {
		t.Errorf("with interfaces for 9100 B: %+v", got)
	}
	if got := Cables(plan, leaf, true)[0]; got.Longest != 1514 || got.LongestLine != 1538 || got.Full != 1058 {
		t.Errorf("live: %+v", got)
	}
}

func TestFillSwitch(t *testing.T) {
	s := switchagent.Settings{
		Buffer: 10_000_000,
		PFC:    switchagent.PFC{Priorities: 0b1001_1000, XOFF: 3, XON: 2, XOFFToXON: 1, Headroom: 100_000, Quanta: 77},
		ECN:    switchagent.ECN{Mode: switchagent.ECNRED, Priorities: 8, KMin: 5, KMax: 6, PMax: 0.25},
		CNM: switchagent.CNM{
			QECN: 11, QCNM: 12, Window: 13, Repeat: 14, AtOnset: true,
			SharedBy: switchagent.SharedByOther,
		},
	}
	want := ebpf.SwitchState{
		Buffer: 10_000_000, XoffToXon: 1, Lossless: 0b1001_1000, Quanta: 77,
		EcnMode: ebpf.ECNRED, EcnPriorities: 8, EcnPmax: 1 << 30,
		Q_cnm: 12, CnmWindow: 13, CnmRepeat: 14, SharedAtOnset: 1, SharedBy: ebpf.SharedByOther,
	}
	at := &want.Profiles[0]
	*at = ebpf.Profile{EcnKmin: 5, EcnKmax: 6, Xoff: 3, Xon: 2, Q_ecn: 11}
	var got ebpf.SwitchState
	write := func(ports int) {
		buffer, thresholds := s.Resolve(slices.Repeat([]switchagent.Cable{{Rate: 40 * units.Gbps}}, ports))
		Switch(&got, make([]ebpf.Port, ports), &s, buffer, thresholds)
	}
	write(4)
	if got != want {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	// What is no setting stays; thresholds that were there before are gone.
	got.Used, got.HeadroomUsed, got.Uncounted, got.IntOn, got.Choice, got.Cnm, got.Seed, got.EcmpSeed =
		5, 6, 7, 8, 9, 10, 11, 12
	want.Used, want.HeadroomUsed, want.Uncounted, want.IntOn, want.Choice, want.Cnm, want.Seed, want.EcmpSeed =
		5, 6, 7, 8, 9, 10, 11, 12
	got.Profiles[3].Xoff = 1
	write(4)
	if got != want {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	// A dynamic threshold shares out what is not headroom: 4 ports of 3 lossless priorities.
	s.PFC.Alpha = 0.125
	write(4)
	at.Alpha, want.Buffer = 1<<13, 10_000_000-4*3*100_000
	if got != want {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	// Headroom for more than there is leaves nothing, not a wrapped number.
	write(1000)
	if got.Buffer != 0 {
		t.Errorf("buffer %d", got.Buffer)
	}
	s.ECN.PMax, s.PFC.Alpha = 1, 64
	write(4)
	if got.EcnPmax != 1<<32 || got.Profiles[0].Alpha != 64<<16 {
		t.Errorf("Pmax %#x, alpha %#x", got.EcnPmax, got.Profiles[0].Alpha)
	}
	// When packets are marked: the step's at enqueue and RED's at dequeue unless it is said.
	for point, want := range map[switchagent.ECNPoint][2]uint32{
		switchagent.ECNByMode: {0, 1}, switchagent.ECNEnqueue: {1, 1}, switchagent.ECNDequeue: {0, 0},
	} {
		for i, mode := range []switchagent.ECNMode{switchagent.ECNRED, switchagent.ECNStep} {
			s.ECN.Mode, s.ECN.Point = mode, point
			if write(4); got.EcnAtEnqueue != want[i] {
				t.Errorf("mode %d, point %d: at enqueue %d", mode, point, got.EcnAtEnqueue)
			}
		}
	}
	// The modes, and what makes a port shared, have the same numbers on both sides.
	for mode, want := range map[switchagent.ECNMode]uint32{
		switchagent.ECNOff: ebpf.ECNOff, switchagent.ECNRED: ebpf.ECNRED, switchagent.ECNStep: ebpf.ECNStep,
		switchagent.ECNPCN: ebpf.ECNPCN,
	} {
		if uint32(mode) != want {
			t.Errorf("mode %d is %d to the pipelines", mode, want)
		}
	}
	for by, want := range map[switchagent.SharedBy]uint32{
		switchagent.SharedByEdge: ebpf.SharedByEdge, switchagent.SharedByAny: ebpf.SharedByAny,
		switchagent.SharedByOther: ebpf.SharedByOther,
	} {
		if uint32(by) != want {
			t.Errorf("shared by %v is %d to the pipelines", by, want)
		}
	}
}

// Ports of different rates have profiles of their own, and know which.
func TestFillSwitchByRate(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte(
		"name: t\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 3, host_rate: 100Gbps, fabric_rate: 400Gbps}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cables := Cables(plan, plan.Switch[0], false)
	s := switchagent.Default()
	s.Buffer = 22 * units.MB
	write := func() (sw ebpf.SwitchState, registers []ebpf.Port) {
		registers = make([]ebpf.Port, len(cables))
		buffer, thresholds := s.Resolve(cables)
		Switch(&sw, registers, &s, buffer, thresholds)
		return sw, registers
	}
	sw, registers := write()
	for i := range registers {
		want := ebpf.Profile{EcnKmin: 12_500, EcnKmax: 500_000, Xoff: 800_000, Xon: 798_000, Q_ecn: 500_000}
		if cables[i].Rate == 400*units.Gbps {
			want = ebpf.Profile{EcnKmin: 50_000, EcnKmax: 2_000_000, Xoff: 3_200_000, Xon: 3_198_000, Q_ecn: 2_000_000}
		}
		if got := sw.Profiles[registers[i].Profile]; got != want {
			t.Errorf("port of %v: %+v, want %+v", cables[i].Rate, got, want)
		}
	}
	// Numbers that are in proportion to the rate.
	s.PFC.Alpha, s.PFC.XOFF, s.PFC.Headroom, s.PFC.PerRate = 0.125, 320*units.KB, 37_500, 100*units.Gbps
	s.ECN.KMin, s.ECN.KMax, s.ECN.PerRate, s.CNM.QECN = 400*units.KB, 1600*units.KB, 100*units.Gbps, 200*units.KB
	sw, registers = write()
	for i, want := range []ebpf.Profile{
		{EcnKmin: 400_000, EcnKmax: 1_600_000, Xoff: 320_000, Xon: 318_000, Alpha: 1 << 13, Q_ecn: 200_000},
		{EcnKmin: 1_600_000, EcnKmax: 6_400_000, Xoff: 320_000, Xon: 318_000, Alpha: 1 << 15, Q_ecn: 200_000},
		{},
	} {
		if got := sw.Profiles[i]; got != want {
			t.Errorf("profile %d: %+v, want %+v", i, got, want)
		}
	}
	if registers[0].Profile != 0 || registers[4].Profile != 1 {
		t.Errorf("%+v", registers)
	}
	if want := uint64(22_000_000 - 3*37_500 - 2*150_000); sw.Buffer != want {
		t.Errorf("buffer %d, want %d", sw.Buffer, want)
	}
}

// TestCheckThresholds: the number of profiles for kinds of ports is limited. More kinds are possible only if their
// thresholds are stated.
func TestCheckThresholds(t *testing.T) {
	for _, n := range []int{ebpf.Profiles, ebpf.Profiles + 1} {
		text := "name: t\nnodes: [{name: s, kind: switch}, {name: h0..h39, kind: host}]\nlinks:\n"
		for i := range 40 {
			text += fmt.Sprintf("  - {from: h%d, to: s, rate: %dGbps}\n", i, 10+min(i, n-1))
		}
		plan, err := spec.Parse("t.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s := switchagent.Default()
		if err := CheckThresholds(plan, &s); (err != nil) != (n > ebpf.Profiles) {
			t.Errorf("%d rates: %v", n, err)
		}
		s.PFC.XOFF, s.ECN.KMin, s.ECN.KMax, s.CNM.QECN = 320*units.KB, 5*units.KB, 200*units.KB, 200*units.KB
		if err := CheckThresholds(plan, &s); err != nil {
			t.Errorf("%d rates, settings stated: %v", n, err)
		}
		s.PFC.Alpha, s.PFC.PerRate = 1./64, units.Gbps
		if err := CheckThresholds(plan, &s); (err != nil) != (n > ebpf.Profiles) {
			t.Errorf("%d rates, settings by rate: %v", n, err)
		}
	}
	plan, err := spec.Parse("t.yaml", []byte("name: t\nrate: 10Gbps\nstar: {hosts: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := switchagent.Default()
	s.PFC.XON = 80 * units.KB
	if err := CheckFlowControl(plan, &s); err == nil ||
		err.Error() != "pfc.xon 80KB must be below XOFF, which is 80KB at s0-eth1 (10Gbps, 1us)" {
		t.Errorf("XON at XOFF: %v", err)
	}
	s.FlowControl = switchagent.FlowCBFC
	for _, check := range []func(*topologies.Plan, *switchagent.Settings) error{CheckThresholds, CheckFlowControl} {
		if err := check(plan, &s); err != nil {
			t.Errorf("without PFC: %v", err)
		}
		if err := check(nil, &s); err != nil {
			t.Error(err)
		}
	}
}
