package lint

import (
	"strings"
	"testing"
)

// TestWeightAlone checks the warning about a weight without other weights.
func TestWeightAlone(t *testing.T) {
	for second, want := range map[string]bool{
		"from: h0, to: h2": false, "from: h2, to: h1": true, "from: h0, to: h2, priority: 4": true,
	} {
		s := parse(t, "topology: star\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1KB, weight: 2}, {"+
			second+", size: 1KB}]\n")
		warned := strings.Contains(strings.Join(Warnings(s, s.Controllers), "\n"),
			"the weight of flow 0 (flow) has no effect: no other flow of h0 has its priority")
		if warned != want {
			t.Errorf("%s: warned %v", second, warned)
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
		s := parse(t, "topology: {star: {hosts: 2}}\ncontrollers: [none]\nduration: 1ms\nflows: ["+flows+
			"]\n")
		if got := strings.Join(Warnings(s, s.Controllers), "\n"); (want == "") != (got == "") ||
			!strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", flows, got, want)
		}
	}
}
