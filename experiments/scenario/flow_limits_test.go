package scenario

import (
	"fmt"
	"strings"
	"testing"
)

// TestFlowLimits checks that the memory limits flows, messages less than others, and those of rings least.
func TestFlowLimits(t *testing.T) {
	const fabric = "topology: {rate: 100Gbps, delay: 1us, star: {hosts: 1024}}\nduration: 1ms\ncontrollers: [dcqcn]\n"
	flows := func(n int) string {
		return fmt.Sprintf("workloads: [{poisson: {size: 1KB, flows: %d, interval: 10ns}}]\n", n)
	}
	reduce := func(algorithm string, iterations int) string {
		return fmt.Sprintf("workloads: [{job: {iterations: %d, steps: [{collective: {kind: allreduce, algorithm: %s, size: 2MB}}]}}]\n",
			iterations, algorithm)
	}
	for _, c := range []struct {
		text   string
		memory int64
		want   string // empty: it is read
	}{
		{flows(5_000_000), 0, "the scenario has about 5000000 flows: it may have at most 4000000"},
		{flows(5_000_000), 1 << 30, "the scenario has about 5000000 flows, which take about 2.25 GB of memory: 1.07 GB are available"},
		{flows(5_000_000), 4e9, ""},
		{reduce("direct", 3), 0, "the scenario has about 6285312 flows: it may have at most 4000000"},
		{reduce("direct", 3), 1 << 30, "the scenario has about 6285312 flows, which take about 3.77 GB of memory: 1.07 GB are available"},
		{reduce("ring", 3), 0, ""},
		{reduce("ring", 30), 1 << 30, "the scenario has about 62853120 flows, which take about 1.76 GB of memory: 1.07 GB are available"},
		{reduce("ring", 600), 0, "the scenario has about 1257062400 flows: it may have at most 1073741824"},
	} {
		s, err := Reading{Memory: c.memory, Count: true}.Parse("x.yaml", []byte(fabric+c.text))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, %d bytes of memory: %v", c.text, c.memory, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, %d bytes of memory: %v, want %s", c.text, c.memory, err, c.want)
		case c.want == "" && s.FlowCount() < 5_000_000:
			t.Errorf("%s: %d flows", c.text, s.FlowCount())
		}
	}
}
