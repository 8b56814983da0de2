// Package runner runs a scenario under one congestion control and returns its results.
//
// Run resolves the scenario (scenario.NewSetup), opens a plane, builds an engine with the scenario's flows and faults,
// and measures with a recorder: samples at fixed times, and events of the engine. When the run ends, it computes the
// summary, checks the invariants, and leaves everything in a folder (package rundir). Watch does the same without a
// folder, for code that reads samples during the run, such as training. Observers (Options.Observers) write further
// files. See the example.
//
//   - Run returns no error for a verdict of FAIL: check Summary.Verdict before you use the numbers.
//   - If Run returns an error, the files hold what was measured until then, marked partial, and a Result may come with
//     the error. An EnvironmentError means that this machine cannot run the fabric.
//   - The kernel plane needs root and Linux, the wasm plane neither. Equal scenarios, controllers and seeds give equal
//     fingerprints and files on both planes, except for the speed in summary.json.
//   - Run overwrites the results in its folder: call suite.Suite.Overwrites before it to learn which would be lost.
//     Callers that may use one folder at the same time lock it (files.Folder.Lock).
//   - Several Runs of one Scenario may go on at once in different folders. Each calls its Options.Progress and
//     Replacing from its own goroutine.
//   - Cancelling the context ends a run between two events. If a call of a congestion control never returns, package
//     shutdown ends the process.
//
// Files:
//
//   - A run: run.go, watch.go (without a folder), drive.go (the engine, and its panics), faults.go (schedules a
//     scenario's faults), progress.go (reports progress, and cancels), manifest.go.
//   - Measurements during the run: recorder.go, events.go (faults, storms and deadlocks), panels.go (those of a
//     report), rtt.go, fairness.go, congestion.go with intervals.go (when ports were congested or paused), spread.go
//     (how far PAUSE goes).
//   - Further files: observer.go (the interface; package observe has observers), hpcc.go (files as HPCC's simulator
//     writes them).
//   - Flows that wait for other flows: steps.go (operations and their results).
//   - Results: records.go (flows), qps.go (the QPs of each flow together), summarise.go, summarise_links.go,
//     summarise_victims.go, summarise_losses.go (drops by port and cause, and repairs).
//   - Verdict: verdict.go, verdict_flows.go (unfinished flows), verdict_unused.go (unused mechanisms, and settings
//     without effect), checkpoints.go (compares a run with a second one without a setting).
package runner
