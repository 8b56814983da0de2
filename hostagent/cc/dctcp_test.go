package cc

import "testing"

func dctcp40(t *testing.T, given map[string]string) *dctcp {
	t.Helper()
	return mustBuild(t, "dctcp", given, env40).(*dctcp)
}

// acks gives the flow ACKs of one packet each up to sequence number to, the first ones marked; 26 packets are in
// flight.
func (d *dctcp) acks(from, to int64, marked int) {
	for sequence := from + 1000; sequence <= to; sequence += 1000 {
		d.OnAck(&Sample{AckedBytes: 1000, AckSequence: sequence, NextSend: sequence + 25_000, CE: marked > 0})
		marked--
	}
}

// DCTCP paper, section 3.1, equations 1 and 2, once an RTT (vectors, DCTCP): RTTs of 26 packets with 0, 13 and 26
// marks.
func TestDCTCPAlphaAndCut(t *testing.T) {
	d := dctcp40(t, nil)
	d.acks(0, 1000, 0)
	if !d.started || d.endAt != 26_000 || d.batch != 27 || d.alpha != 1 || d.rate != 40e9 {
		t.Fatalf("after the first ACK: %+v", d)
	}
	at := int64(1000)
	for _, c := range []struct {
		marks      int
		alpha, cut float64
		rate       float64 // that this sequence leads to
	}{
		{0, 0.9375, 21.25, 40},
		{13, 0.910156250, 21.796875, 21.25},
		{26, 0.915771484, 21.684570312, 11.579589844}, // 21.25 (1 - 0.91015625/2), at the RTT's first mark
	} {
		d.acks(at, at+26_000, c.marks)
		at += 26_000
		expectAlpha(t, d.alpha, c.alpha)
		expect(t, "R", d.Rate(), c.rate)
		fresh := *d
		fresh.rate, fresh.reduced = 40e9, false
		fresh.acks(at, at+1000, 1)
		expect(t, "cut of 40 Gbps", fresh.Rate(), c.cut)
	}
}

func TestDCTCPOneCutPerRTTAndIncrease(t *testing.T) {
	d := dctcp40(t, map[string]string{"ai": "615Mbps"})
	d.acks(0, 1000, 0)
	d.alpha = 0.5
	d.acks(1000, 10_000, 9) // cut at 2000, when 27000 was sent
	expect(t, "R after nine marks within an RTT", d.Rate(), 30)
	d.acks(10_000, 27_000, 0)
	if !d.reduced || d.endAt != 52_000 {
		t.Fatalf("%+v", d)
	}
	expect(t, "R at the end of the RTT of the cut", d.Rate(), 30)
	d.acks(27_000, 52_000, 0)
	expect(t, "R before the end of the next RTT", d.Rate(), 30)
	d.acks(52_000, 53_000, 0)
	expect(t, "R an RTT without marks later", d.Rate(), 30.615)
	if d.reduced {
		t.Error("still reduced")
	}
	d.rate = 39.9e9
	d.acks(53_000, 79_000, 0)
	expect(t, "R at the line's", d.Rate(), 40)
	d.rate, d.alpha = 1.1e9, 1
	d.acks(79_000, 80_000, 1)
	expect(t, "R at its least", d.Rate(), 1)
}

func TestDCTCPCoalescedACKs(t *testing.T) {
	d := dctcp40(t, nil)
	d.OnAck(&Sample{AckedBytes: 3500, AckSequence: 3500, NextSend: 20_000, CE: true})
	if d.marks != 4 {
		t.Errorf("%d marks by an ACK for four packets", d.marks)
	}
}

func TestDCTCPConstants(t *testing.T) {
	for _, c := range []struct {
		env    Env
		given  map[string]string
		ai     float64
		window int64
	}{
		{env40, nil, 200e6, 200_000},
		{env40, map[string]string{"ai": "615Mbps"}, 615e6, 200_000},
		{env100, nil, 615e6, 52_000},
		{env100, map[string]string{"ai": "mtu/rtt", "window": "2bdp"}, 1_923_076_923, 104_000},
	} {
		d := mustBuild(t, "dctcp", c.given, c.env).(*dctcp)
		if d.c.ai != c.ai || d.Window() != c.window || d.c.g != 1./16 || d.c.min != 1e9 || d.alpha != 1 {
			t.Errorf("%v: %+v, window %d", c.given, d.c, d.Window())
		}
		d.rate /= 4
		if d.Window() != c.window/4 {
			t.Errorf("window %d at a quarter of the line rate", d.Window())
		}
	}
	env := env40
	env.BaseRTT = 0
	if _, err := Resolve("dctcp", map[string]string{"window": "9KB"}, env); err == nil {
		t.Error("one packet per unknown RTT was taken")
	}
}

func TestDCTCPPreset(t *testing.T) {
	d := dctcp40(t, nil)
	d.Preset(0, 10e9)
	expect(t, "R", d.Rate(), 10)
	expectAlpha(t, d.alpha, 0.2) // sqrt(2 * 0.2/10)
}
