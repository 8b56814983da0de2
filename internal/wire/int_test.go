package wire

import (
	"bytes"
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
	"pgregory.net/rapid"
)

// The frames that testdata/int.py prints.
const (
	intSent = "020000000101 020000000001 0800 4502006e000040004011267b0a0000010a000002 c00112b7005a0000 ca40ffff00000012800000ff " +
		"00*42 0000000000001000 0000abcd 00000008 0001020304050607 3d3d07e4"
	intStamped = "020000000101 020000000001 0800 4502006e000040004011267b0a0000010a000002 c00112b7005a0000 ca40ffff00000012800000ff " +
		"2b03 25bcd1501e8400c8 400000100001ffff 00*24 0000000000001000 0000abcd 00000008 0001020304050607 3d3d07e4"
	intAck = "020000000101 020000000001 0800 4500005a00004000401126910a0000020a000001 c00112b700460000 d140ffff00000034000000ff " +
		"1f000001 2b03 25bcd1501e8400c8 400000100001ffff 00*24 dc602e9c"
)

// intStamps lists the telemetry of the two switches of int.py.
var intStamps = []struct {
	id  uint16
	hop INTHop
}{
	{0x101, INTHop{
		Rate: 40 * units.Gbps, Departed: 123_456_789 * vtime.Nanosecond, TxBytes: 1_000_000,
		QueueBytes: 16_000,
	}},
	{0xfa02, INTHop{
		Rate: 100 * units.Gbps, Departed: 16_777_217 * vtime.Nanosecond, TxBytes: 134_217_856,
		QueueBytes: 6_000_000,
	}},
}

// TestINTExamples builds, stamps, reads and answers the packet of int.py.
func TestINTExamples(t *testing.T) {
	data, back := newHeader(t, exampleData), newHeader(t, exampleBack)
	data.SetMessage(0x1000, 8)
	frame := put(func(b []byte) int { return PutData(b, data, OpWriteOnly.WithINT(), 0xff, 8, true, true) })
	if want := unhex(t, intSent); !bytes.Equal(frame, want) {
		t.Fatalf("sent:\ngot  %x\nwant %x", frame, want)
	}
	var p Packet
	if err := Parse(frame, &p); err != nil || p.INT().Hops() != 0 || p.INT().PathID() != 0 {
		t.Fatalf("%v: %x", err, p.INT())
	}
	for _, s := range intStamps {
		p.INT().Stamp(s.id, s.hop)
	}
	if want := unhex(t, intStamped); !bytes.Equal(frame, want) {
		t.Fatalf("stamped:\ngot  %x\nwant %x", frame, want)
	}
	if !p.ICRCValid() {
		t.Error("a stamp breaks the ICRC")
	}
	ack := put(func(b []byte) int { return PutAckINT(b, back, SyndromeAck, 0xff, 1, p.INT()) })
	if want := unhex(t, intAck); !bytes.Equal(ack, want) {
		t.Fatalf("ACK:\ngot  %x\nwant %x", ack, want)
	}
	if err := Parse(ack, &p); err != nil || p.Kind != KindAck || p.MSN != 1 {
		t.Fatalf("%v: %+v", err, p)
	}
	if p.INT().Hops() != 2 || p.INT().PathID() != 0xb03 {
		t.Errorf("%d hops, path %#x", p.INT().Hops(), p.INT().PathID())
	}
	want := [2]INTHop{
		{40 * units.Gbps, 6_016_277 * vtime.Nanosecond, 999_936, 16_000}, // 123456789 - 7*2^24; 7812 units of 128 B
		{100 * units.Gbps, vtime.Nanosecond, 128, 5_242_800},
	}
	if got := [2]INTHop{p.INT().Hop(0), p.INT().Hop(1)}; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestINTFull: the sixth switch finds no slot and leaves all as it is.
func TestINTFull(t *testing.T) {
	b := make(INT, INTLen)
	for id := range uint16(INTHops) {
		b.Stamp(1<<id, INTHop{TxBytes: int64(id) * 128})
	}
	before := bytes.Clone(b)
	b.Stamp(0x800, INTHop{TxBytes: 1 << 20})
	if !bytes.Equal(b, before) || b.Hops() != INTHops || b.PathID() != 0x1f || b.Hop(4).TxBytes != 512 {
		t.Errorf("%x, then %x", before, []byte(b))
	}
	b[0] = 0xff // no switch of ours wrote that
	if b.Hops() != INTHops {
		t.Errorf("%d hops of %d slots", b.Hops(), INTHops)
	}
}

func TestINTRates(t *testing.T) {
	for code, megabits := range []units.Rate{
		10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 1000, 800_000, 1_600_000, 2500, 5000, 100, 10,
	} {
		got, known := INTRateCode(megabits * units.Mbps)
		if int(got) != code || !known || ParseINTSlot(uint64(code)<<60).Rate != megabits*units.Mbps {
			t.Errorf("%d Mbps has code %d, %v; want %d", megabits, got, known, code)
		}
	}
	code, known := INTRateCode(20 * units.Gbps)
	if known || ParseINTSlot(uint64(code)<<60).Rate != 0 || ParseINTSlot(INTHop{Rate: 20 * units.Gbps}.Slot()).Rate != 0 {
		t.Errorf("20 Gbps has code %d", code)
	}
}

// TestINTSince: what two packets' hops are apart is what their ports' counters grew by, once round at most.
func TestINTSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 1<<40).Draw(t, "ns")
		sent := rapid.Int64Range(0, 1<<40).Draw(t, "units of 128 B")
		queue := rapid.Int64Range(0, 1<<17).Draw(t, "units of 80 B")
		later, more := rapid.Int64Range(0, 1<<24-1).Draw(t, "later"), rapid.Int64Range(0, 1<<20-1).Draw(t, "more")
		// What is below the format's units does not show.
		below := rapid.Int64Range(0, 79).Draw(t, "below")
		slot := func(ns, units128 int64) INTHop {
			return ParseINTSlot(INTHop{
				Departed: vtime.Time(ns)*vtime.Nanosecond + vtime.Time(below), TxBytes: units128*128 + below,
				QueueBytes: queue*80 + below,
			}.Slot())
		}
		before, now := slot(at, sent), slot(at+later, sent+more)
		elapsed, bytes := now.Since(&before)
		if elapsed != vtime.Time(later)*vtime.Nanosecond || bytes != more*128 || now.QueueBytes != min(queue, 65535)*80 {
			t.Fatalf("%v, %d B after %d ns, %d units; queue %d", elapsed, bytes, later, more, now.QueueBytes)
		}
	})
}
