// Package runner runs a scenario under one congestion control and says what came of it.
//
// Run resolves the scenario (scenario.NewSetup), opens a plane, builds an engine with the scenario's flows and faults,
// and has a recorder take its measurements: samples at fixed times, and what the engine tells. When the run has ended,
// or was ended, it sums up, checks the invariants, and leaves everything in a folder (package rundir). Watch does the
// same without a folder, for code that learns from a run. See the example.
//
//   - A run whose verdict is FAIL is no error of Run: look at Summary.Verdict before using its numbers.
//   - An error of Run leaves what was measured, marked partial, and a Result may come with the error. An
//     EnvironmentError says that the
//     machine is at fault.
//   - The kernel plane needs root and Linux, the wasm plane neither. Equal scenarios, controllers and seeds give equal
//     fingerprints and
//     files, on both planes, but for the speed in summary.json.
//   - Run takes the place of what is in its folder. It asks nobody: suite.Suite.Overwrites says before what would be
//     lost. Nothing
//     keeps two Runs out of one folder either: whoever runs has it locked (files.Folder.Lock).
//   - Several Runs may go on at once, in different folders, of one Scenario. Options.Progress and Begun are called from
//     the goroutine of
//     their own run.
//   - Cancelling the context ends a run between two events. A congestion control that does not come back from a call
//     cannot be ended:
//     then the process is (package shutdown).
//
// Where what is:
//
//   - A run: run.go, watch.go (without a folder), drive.go (the engine, and panics under it), faults.go (a scenario's,
//     on an engine),
//     progress.go (how far it is), manifest.go.
//   - What is measured meanwhile: recorder.go, events.go (faults, storms and deadlocks), panels.go (those of a report),
//     rtt.go,
//     fairness.go, congestion.go with stretches.go (when ports were congested or paused), spread.go (how far PAUSE
//     goes).
//   - What else is written: observer.go (who adds files; package observe has such observers), hpcc.go (files as HPCC's
//     simulator has them).
//   - Flows that wait: steps.go (operations, and what they came to).
//   - What it came to: records.go (flows), qps.go (with all their QPs), summarise.go, summarise_links.go,
//     summarise_victims.go,
//     summarise_losses.go (drops by port and cause, and repairs).
//   - Whether that can be trusted: verdict.go, verdict_flows.go (flows that did not end), verdict_unused.go (what was
//     not needed, and
//     settings without effect).
package runner
