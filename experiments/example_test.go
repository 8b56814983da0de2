package experiments_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pausenet/pausenet/experiments"
)

// A built-in scenario under two congestion controls, with a threshold of one's own.
func Example() {
	for _, cc := range []string{"dcqcn", "swift"} {
		r, err := experiments.Run(context.Background(), "incast",
			experiments.Options{Controller: cc, Set: []string{"switch.pfc.xoff=80KB"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s, %d of %d flows done, %d PAUSE frames\n", cc, r.Verdict.Status, r.Flows.Completed, r.Flows.Count,
			r.PFC.Pauses)
	}
	// Output:
	// dcqcn: PASS, 4 of 4 flows done, 16 PAUSE frames
	// swift: PASS, 4 of 4 flows done, 0 PAUSE frames
}

// A scenario that the program writes itself, and each flow of it.
func ExampleRunText() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	r, err := experiments.RunText(context.Background(), "two.yaml", `
topology: {star: {hosts: 3, rate: 100Gbps}}
duration: 1ms
controllers: [dcqcn]
flows:
  - {from: h0, to: h2, size: 1MB}
  - {from: h1, to: h2, size: 1MB, start: 20us}
`, experiments.Options{Directory: folder})
	if err != nil {
		fmt.Println(err)
		return
	}
	for f, err := range r.EachFlow() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("flow %d from %s: %v, %.2f times what it takes alone\n", f.Number, f.Source, f.FCT, f.Slowdown())
	}
	// Output:
	// flow 0 from h0: 161.47us, 1.78 times what it takes alone
	// flow 1 from h1: 157.224us, 1.73 times what it takes alone
}
