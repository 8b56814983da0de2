package switchagent_test

import (
	"encoding/binary"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

var (
	ownAddress = wire.Addr{10, 254, 0, 1}
	askingHost = wire.Addr{10, 0, 0, 2}
	otherHost  = wire.Addr{10, 0, 0, 6}
	stranger   = wire.Addr{192, 0, 2, 1}
	toHost     = switchagent.Link{
		Between: wire.Between{From: wire.MAC{2, 0, 0, 0, 0, 1}, To: wire.MAC{2, 0, 0, 0, 0, 2}},
		Host:    askingHost,
	}
)

func newProcessor() *switchagent.Processor {
	return &switchagent.Processor{Address: ownAddress, Known: func(a wire.Addr) bool {
		return a == ownAddress || a == askingHost || a == otherHost
	}}
}

// answered returns the processor's answer to a frame at a time when it has answered nothing lately.
func answered(t testing.TB, frame []byte, why switchagent.Cause, mtu int) []byte {
	t.Helper()
	buf := make([]byte, switchagent.MostAnswer(len(frame)))
	n := newProcessor().Answer(vtime.Second, buf, frame, &toHost, why, mtu)
	if n == 0 {
		return nil
	}
	if n < wire.MinFrame || wire.Ethernet(buf).Dst() != toHost.To || wire.Ethernet(buf).Src() != toHost.From {
		t.Fatalf("an answer of %d bytes: %x", n, buf[:n])
	}
	checkSums(t, buf[:n])
	return buf[:n]
}

// checkSums recomputes an answer's checksums: over all that they cover, with themselves, a sum in ones' complement is
// 0xffff (RFC 1071).
func checkSums(t testing.TB, frame []byte) {
	t.Helper()
	sum := func(parts ...[]byte) uint16 {
		var s uint32
		for _, p := range parts {
			for i, b := range p {
				s += uint32(b) << (8 * (1 - i&1))
			}
		}
		for s>>16 != 0 {
			s = s>>16 + s&0xffff
		}
		return uint16(s)
	}
	p := frame[14:]
	switch wire.Ethernet(frame).Type() {
	case wire.EtherTypeIPv4:
		if n := wire.IPv4(p).TotalLen(); sum(p[:20]) != 0xffff || n > len(p) || sum(p[20:n]) != 0xffff {
			t.Fatalf("wrong checksums: %x", frame)
		}
	case wire.EtherTypeIPv6:
		n := wire.IPv6(p).PayloadLen()
		if 40+n > len(p) || sum(p[8:40], []byte{byte(n >> 8), byte(n), 0, wire.ProtocolICMPv6}, p[40:40+n]) != 0xffff {
			t.Fatalf("wrong checksum: %x", frame)
		}
	}
}

// ethernet returns a frame from the asking host.
func ethernet(ethertype uint16, payload []byte) []byte {
	f := make([]byte, max(60, 14+len(payload)))
	wire.Ethernet(f).SetDst(toHost.From)
	wire.Ethernet(f).SetSrc(toHost.To)
	wire.Ethernet(f).SetType(ethertype)
	copy(f[14:], payload)
	return f
}

func ipv4(src, dst wire.Addr, protocol uint8, body ...byte) []byte {
	p := append(make([]byte, 20), body...)
	p[0], p[1], p[8], p[9] = 0x45, 0x68, 1, protocol
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], src[:])
	copy(p[16:], dst[:])
	wire.IPv4(p).UpdateChecksum()
	return ethernet(wire.EtherTypeIPv4, p)
}

func ipv6(src, dst wire.Addr6, next uint8, body ...byte) []byte {
	p := append(make([]byte, 40), body...)
	binary.BigEndian.PutUint32(p, 6<<28|0x68<<20)
	binary.BigEndian.PutUint16(p[4:], uint16(len(body)))
	p[6], p[7] = next, 255
	copy(p[8:], src[:])
	copy(p[24:], dst[:])
	return ethernet(wire.EtherTypeIPv6, p)
}

func arp(operation byte, sender, target wire.Addr) []byte {
	p := make([]byte, 28)
	copy(p, []byte{0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 2})
	copy(p[14:], sender[:])
	copy(p[24:], target[:])
	return ethernet(wire.EtherTypeARP, p)
}

func solicitation(src wire.Addr6, target wire.Addr) []byte {
	to := wire.Map(target)
	body := append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, to[:]...)
	return ipv6(src, wire.Addr6{0: 0xff, 1: 2, 11: 1, 12: 0xff, 15: to[15]}, wire.ProtocolICMPv6, body...)
}

func TestProcessorAnswersForTheFabric(t *testing.T) {
	reply := answered(t, arp(1, askingHost, otherHost), switchagent.CauseOwn, 0)
	if reply == nil {
		t.Fatal("no answer")
	}
	if p := wire.ARP(reply[14:]); p.Operation() != 2 || p.Sender() != otherHost || p.Target() != askingHost ||
		wire.MAC(p[8:14]) != toHost.From {
		t.Errorf("ARP reply %x", p[:28])
	}
	advert := answered(t, solicitation(wire.Map(askingHost), otherHost), switchagent.CauseOwn, 0)
	if advert == nil {
		t.Fatal("no answer")
	}
	p := wire.IPv6(advert[14:])
	body := p[40:]
	if p.Src() != wire.Map(otherHost) || p.Dst() != wire.Map(askingHost) || p.HopLimit() != 255 || body[0] != 136 ||
		body[4]>>5 != 7 ||
		wire.Addr6(body[8:]) != wire.Map(otherHost) || body[24] != 2 || body[25] != 1 || wire.MAC(body[26:]) != toHost.From {
		t.Errorf("neighbour advertisement %x", advert)
	}
	for name, frame := range map[string][]byte{
		"its own address":         arp(1, wire.Addr{}, askingHost),
		"an announcement":         arp(1, otherHost, otherHost),
		"nobody's address":        arp(1, askingHost, stranger),
		"a reply":                 arp(2, askingHost, otherHost),
		"its own address by IPv6": solicitation(wire.Addr6{}, askingHost),
		"nobody's by IPv6":        solicitation(wire.Map(askingHost), stranger),
	} {
		if got := answered(t, frame, switchagent.CauseOwn, 0); got != nil {
			t.Errorf("%s: answered by %x", name, got)
		}
	}
	if got := answered(t, solicitation(wire.Addr6{}, otherHost), switchagent.CauseOwn, 0); got == nil ||
		wire.IPv6(got[14:]).Dst() != (wire.Addr6{0: 0xff, 1: 2, 15: 1}) {
		t.Errorf("a solicitation from nowhere is answered by %x", got)
	}
}

func TestProcessorSendsICMP(t *testing.T) {
	udp := []byte{0x80, 0, 0x82, 0x9b, 0, 12, 0, 0, 1, 2, 3, 4, 5}
	echo := []byte{8, 0, 0, 0, 0x12, 0x34, 0, 1, 'a', 'b', 'c'}
	echo6 := append([]byte{128}, echo[1:]...)
	from, other, own := wire.Map(askingHost), wire.Map(otherHost), wire.Map(ownAddress)
	for _, c := range []struct {
		name       string
		frame      []byte
		why        switchagent.Cause
		kind, code uint8
		rest       uint32
		quotes     bool
	}{
		{"TTL", ipv4(askingHost, otherHost, 17, udp...), switchagent.CauseTTL, 11, 0, 0, true},
		{"no way", ipv4(askingHost, stranger, 6, udp...), switchagent.CauseRoute, 3, 0, 0, true},
		{"too long", ipv4Whole(ipv4(askingHost, otherHost, 17, udp...)), switchagent.CauseSize, 3, 4, 1400, true},
		{"UDP to the switch", ipv4(askingHost, ownAddress, 17, udp...), switchagent.CauseTTL, 3, 3, 0, true},
		{"OSPF to the switch", ipv4(askingHost, ownAddress, 89, udp...), switchagent.CauseOwn, 3, 2, 0, true},
		{"ping", ipv4(askingHost, ownAddress, 1, echo...), switchagent.CauseOwn, 0, 0, 0x12340001, false},
		{"hop limit", ipv6(from, other, 17, udp...), switchagent.CauseTTL, 3, 0, 0, true},
		{"no way, IPv6", ipv6(from, wire.Addr6{0: 0x20}, 17, udp...), switchagent.CauseRoute, 1, 0, 0, true},
		{"too long, IPv6", ipv6(from, other, 17, udp...), switchagent.CauseSize, 2, 0, 1400, true},
		{"UDP to the switch, IPv6", ipv6(from, own, 17, udp...), switchagent.CauseTTL, 1, 4, 0, true},
		{"OSPF to the switch, IPv6", ipv6(from, own, 89, udp...), switchagent.CauseOwn, 4, 1, 6, true},
		{"ping, IPv6", ipv6(from, own, 58, echo6...), switchagent.CauseOwn, 129, 0, 0x12340001, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := answered(t, c.frame, c.why, 1400)
			if got == nil {
				t.Fatal("no answer")
			}
			class, message := wire.PriorityOf(got), got[34:]
			asked := c.frame[14:]
			if wire.Ethernet(got).Type() == wire.EtherTypeIPv6 {
				asked = asked[:40+wire.IPv6(asked).PayloadLen()]
				message = got[54:]
				if p := wire.IPv6(got[14:]); p.Src() != own || p.Dst() != from {
					t.Errorf("from %x to %x", p.Src(), p.Dst())
				}
			} else if p, n := wire.IPv4(got[14:]), wire.IPv4(asked).TotalLen(); p.Src() != ownAddress || p.Dst() != askingHost {
				t.Errorf("from %v to %v", p.Src(), p.Dst())
			} else {
				asked = asked[:n]
			}
			if message[0] != c.kind || message[1] != c.code || binary.BigEndian.Uint32(message[4:]) != c.rest {
				t.Errorf("message %x, want type %d, code %d, %#x", message[:8], c.kind, c.code, c.rest)
			}
			switch {
			case c.quotes && (string(message[8:8+len(asked)]) != string(asked) || class != 6):
				t.Errorf("it quotes %x of %x, in priority %d", message[8:], asked, class)
			case !c.quotes && (string(message[8:11]) != "abc" || class != 3):
				t.Errorf("it echoes %x, in priority %d", message[8:], class)
			}
		})
	}
}

// ipv4Whole forbids that a packet is fragmented.
func ipv4Whole(frame []byte) []byte {
	frame[20] |= 0x40
	wire.IPv4(frame[14:]).UpdateChecksum()
	return frame
}

// What must not be answered (RFC 1122, section 3.2.2; RFC 1812, section 4.3.2.7; RFC 4443, section 2.4).
func TestProcessorIsSilent(t *testing.T) {
	udp := []byte{0x80, 0, 0x82, 0x9b, 0, 12, 0, 0, 1, 2, 3, 4}
	group := func(f []byte) []byte { f[0] |= 1; return f }
	fragment := ipv4(askingHost, otherHost, 17, udp...)
	fragment[21] = 9
	for name, c := range map[string]struct {
		frame []byte
		why   switchagent.Cause
	}{
		"an error of ICMP":    {ipv4(askingHost, otherHost, 1, 11, 0, 0, 0, 0, 0, 0, 0), switchagent.CauseTTL},
		"an answer to a ping": {ipv4(askingHost, otherHost, 1, 0, 0, 0, 0, 0, 0, 0, 0), switchagent.CauseTTL},
		"an error of ICMPv6": {
			ipv6(wire.Map(askingHost), wire.Map(otherHost), 58, 3, 0, 0, 0, 0, 0, 0, 0),
			switchagent.CauseTTL,
		},
		"for a group":              {group(ipv4(askingHost, ownAddress, 17, udp...)), switchagent.CauseOwn},
		"from who is not there":    {ipv4(stranger, otherHost, 17, udp...), switchagent.CauseTTL},
		"from nowhere":             {ipv6(wire.Addr6{}, wire.Map(otherHost), 17, udp...), switchagent.CauseTTL},
		"a later fragment":         {fragment, switchagent.CauseTTL},
		"too long, fragments may":  {ipv4(askingHost, otherHost, 17, udp...), switchagent.CauseSize},
		"longer than its frame":    {ethernet(wire.EtherTypeIPv4, []byte{0x45, 0, 5, 0}), switchagent.CauseTTL},
		"a header that is too big": {ethernet(wire.EtherTypeIPv4, []byte{0x4f, 0, 0, 30}), switchagent.CauseTTL},
		"neither":                  {ethernet(0x88b5, nil), switchagent.CauseOwn},
	} {
		if got := answered(t, c.frame, c.why, 1400); got != nil {
			t.Errorf("%s is answered by %x", name, got)
		}
	}
}

// TestProcessorIsLimited: a processor limits the rate of its answers.
func TestProcessorIsLimited(t *testing.T) {
	p := newProcessor()
	frame := ipv4(askingHost, otherHost, 17, 1, 2, 3, 4, 5, 6, 7, 8)
	buf := make([]byte, switchagent.MostAnswer(len(frame)))
	count := func(now vtime.Time) (n int) {
		for p.Answer(now, buf, frame, &toHost, switchagent.CauseTTL, 0) > 0 {
			n++
		}
		return n
	}
	for _, c := range []struct {
		at   vtime.Time
		want int
	}{{vtime.Second, 100}, {vtime.Second, 0}, {vtime.Second + 7*vtime.Microsecond, 7}, {2 * vtime.Second, 100}} {
		if got := count(c.at); got != c.want {
			t.Errorf("at %v %d answers, want %d", c.at, got, c.want)
		}
	}
}

// FuzzProcessor gives a processor any frame: go test -fuzz FuzzProcessor ./switchagent. What it answers is well formed,
// goes to who is known, and answers no answer.
func FuzzProcessor(f *testing.F) {
	udp := []byte{0x80, 0, 0x82, 0x9b, 0, 12, 0, 0, 1, 2, 3, 4}
	for i, frame := range [][]byte{
		arp(1, askingHost, otherHost), solicitation(wire.Map(askingHost), otherHost), ipv4(askingHost, otherHost, 17, udp...),
		ipv4(askingHost, ownAddress, 17, udp...),
		ipv4(askingHost, ownAddress, 1, 8, 0, 0, 0, 0, 0, 0, 0), ipv6(wire.Map(askingHost), wire.Map(otherHost), 17, udp...),
		ipv6(wire.Map(askingHost), wire.Map(ownAddress), 58, 128, 0, 0, 0, 0, 0, 0, 0),
		ipv6(wire.Map(askingHost), wire.Addr6{0: 0xff}, 0, 58, 0, 5, 2, 0, 0, 1, 0, 143, 0),
	} {
		f.Add(frame, byte(i))
	}
	f.Fuzz(func(t *testing.T, frame []byte, why byte) {
		if len(frame) < 14 || len(frame) > 9216 {
			t.Skip()
		}
		if len(frame) < 60 {
			frame = append(frame, make([]byte, 60-len(frame))...)
		}
		switchagent.MembershipOf(frame)
		switchagent.Ends(frame)
		got := answered(t, frame, switchagent.Cause(why%4), 1400)
		if got == nil {
			return
		}
		if len(got) > max(len(frame), 14+1280) {
			t.Fatalf("%d bytes answer %d", len(got), len(frame))
		}
		_, to := switchagent.Ends(got)
		if solicited := wire.Ethernet(got).Type() == wire.EtherTypeIPv6 && got[54] == 136; !solicited &&
			wire.Ethernet(got).Type() != wire.EtherTypeARP && to != askingHost && to != otherHost && to != ownAddress {
			t.Fatalf("an answer to %v: %x", to, got)
		}
		// What answers it, a switch on its way would not answer again, unless it is an echo.
		for _, why := range []switchagent.Cause{switchagent.CauseTTL, switchagent.CauseRoute, switchagent.CauseOwn} {
			if second := answered(t, got, why, 1400); second != nil {
				t.Fatalf("%x is answered by %x, and that by %x", frame, got, second)
			}
		}
	})
}
