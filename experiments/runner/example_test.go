package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// A built-in scenario with a setting of one's own: it is loaded and checked, run without root, and its summary read.
// The files that reports are made of are in the folder afterwards.
func Example() {
	s, err := scenario.Load("incast", []string{"switch.pfc.xoff=80KB"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := scenario.Check(s, []string{"dcqcn"}); err != nil {
		fmt.Println(err)
		return
	}
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	result, err := runner.Run(context.Background(), s, runner.Options{
		Controller: "dcqcn", Plane: wasmplane.Open, Seed: s.Seed, Directory: filepath.Join(folder, "dcqcn"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := &result.Summary
	fmt.Printf("%s under %s: %s\n", sum.Scenario, sum.Controller, sum.Verdict.Status)
	fmt.Printf("%d of %d flows done, the mean after %v\n", sum.Flows.Completed, sum.Flows.Count,
		vtime.Time(sum.Flows.FCT.Mean)*vtime.Nanosecond)
	fmt.Printf("%d PAUSE frames, %d ECN marks, %d frames dropped\n", sum.PFC.Pauses, sum.ECNMarks, sum.Drops.Frames)
	// Output:
	// incast under dcqcn: PASS
	// 4 of 4 flows done, the mean after 435.443us
	// 16 PAUSE frames, 1109 ECN marks, 0 frames dropped
}
