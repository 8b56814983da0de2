// Package runner runs a scenario under one congestion control and says what came of it.
//
// Run resolves the scenario (scenario.NewSetup), opens a plane, builds an engine with the scenario's flows and faults, and has a
// recorder take its measurements: samples at fixed times, and what the engine tells. When the run has ended, or was ended, it
// sums up (summarise*.go), closes the books (verdict*.go), and leaves everything in a folder (package rundir). Watch does the
// same without a folder, for who learns from a run.
//
// An error of Run leaves what was measured, marked partial. An EnvironmentError says that the machine is at fault. Equal
// scenarios, controllers and seeds give equal fingerprints and files, on both planes, but for the speed in summary.json.
package runner
