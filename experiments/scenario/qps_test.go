package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/units"
)

func TestQPsSplit(t *testing.T) {
	for _, c := range []struct {
		qps  QPs
		size units.Bytes
		want []units.Bytes
	}{
		{QPs{}, 5000, []units.Bytes{5000}},
		{QPs{Count: 3}, 0, []units.Bytes{0, 0, 0}},
		{QPs{Count: 2}, 4000, []units.Bytes{2000, 2000}},
		{QPs{Count: 3}, 4500, []units.Bytes{2000, 2000, 500}}, // packets of 1000 B: 2, 2 and 1
		{QPs{Count: 8}, 2500, []units.Bytes{1000, 1000, 500}}, // no more QPs than packets
		{QPs{Count: 4}, 1, []units.Bytes{1}},
		{QPs{Count: 2, Message: 3000}, 10000, []units.Bytes{6000, 4000}}, // messages 0 and 2; 1 and 3
		{QPs{Count: 3, Message: 3000}, 10000, []units.Bytes{4000, 3000, 3000}},
		{QPs{Count: 3, Message: 700}, 1000, []units.Bytes{700, 300}},
	} {
		got := c.qps.Split(c.size, 1000)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v of %+v: %v, want %v", c.size, c.qps, got, c.want)
		}
		sum := units.Bytes(0)
		for _, share := range got {
			sum += share
		}
		if sum != c.size {
			t.Errorf("%v of %+v: %v in all", c.size, c.qps, sum)
		}
	}
}

// QPs that no flow of a tag has a packet or a message for are warned of, and others are not.
func TestWarningsOfQPs(t *testing.T) {
	const flow = "{from: h0, to: h1, size: "
	for flows, want := range map[string]string{
		flow + "8KB, qps: 8}":       "",
		flow + "7001B, qps: 8}":     "",
		flow + "unbounded, qps: 8}": "",
		flow + "7KB, qps: 8}": "flows flow have 8 QPs, but the longest flow is 7KB, " +
			"7 packets of 1000B: the other QPs carry nothing; set qps to 7",
		flow + "1KB, qps: 8}": "flows flow have 8 QPs, but the longest flow is 1KB, " +
			"1 packet of 1000B: the other QPs",
		flow + "1KB, qps: 8}, " + flow + "80KB, qps: 8}":         "",
		flow + "1KB, qps: 8}, " + flow + "unbounded, qps: 8}":    "",
		flow + "1KB, qps: 8, tag: a}, " + flow + "80KB, qps: 8}": "flows a have 8 QPs",
		flow + "80KB, qps: {count: 4, message: 40KB}}": "flows flow have 4 QPs, but the longest flow is 80KB, " +
			"2 messages of 40KB: the other QPs carry nothing; set qps to 2",
		flow + "2KB, qps: 1}": "",
	} {
		s, err := Parse("x.yaml", []byte("topology: {star: {hosts: 2}}\ncontrollers: [none]\nduration: 1ms\nflows: ["+flows+
			"]\n"), nil)
		if err != nil {
			t.Fatalf("%s: %v", flows, err)
		}
		if got := strings.Join(Warnings(s, s.Controllers), "\n"); (want == "") != (got == "") ||
			!strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", flows, got, want)
		}
	}
}
