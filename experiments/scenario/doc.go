// Package scenario reads scenario files, has the built-in scenarios, and resolves a scenario under one congestion
// control and one seed.
//
// The life of a scenario:
//
//	s, err := scenario.Load("incast", sets)     // read, resolved against its topology, each mistake with its position
//	err = scenario.Check(s, s.Controllers)      // mistakes that show only under a controller and a seed
//	u, err := scenario.NewSetup(s, "dcqcn", 1)  // constants and paths of every flow under one controller and seed
//	v := u.Resolution()                         // for programs, and for the hash that identifies a configuration
//
// A Scenario does not change after it was read: WithSeed and Under return another.
//
//   - Load cannot find mistakes that depend on the controller, such as those in its constants. Check finds them. The
//     runner, the sweep and validate reject exactly the scenarios that Check rejects.
//   - Load and Parse read the files that a scenario names, relative to the scenario's folder.
//   - Several goroutines and runs may read a Scenario at once. None may write to it.
//   - Package lint finds likely mistakes in a valid scenario.
//
// The package uses the parts of the engine that decide a flow's path and a port's thresholds. It runs nothing and
// opens no fabric.
//
// Files:
//
//   - A scenario: scenario.go, variant.go (controllers with their own settings), workload.go (flows by a rule, and
//     seeds), rings.go (large collectives on rings), faults.go, flow_limits.go (by memory), sources.go (built-in
//     scenarios, and the files from which a scenario was read), paths.go (names of files).
//   - Under one controller and seed: setup.go, needs.go (what the controller needs of switches and hosts).
//   - Mistakes: check.go.
//   - The file: keys.go (its keys), spec.go, and one file for each section: spec_flows.go, spec_workload.go with
//     spec_workload_keys.go, spec_workload_parts.go and spec_steps.go (dependent flows), spec_controllers.go (with
//     settings of switches and hosts), spec_faults.go with spec_faults_check.go, spec_end.go (the end of a run),
//     spec_report.go with reference.go (levels in plots), spec_published.go and spec_quick.go (the quick form).
//   - The resolved scenario: spec_view.go for programs, spec_describe.go for people, and parts of these:
//     spec_faults_view.go, workload_view.go, spec_auto.go (values of auto).
//   - Other files: flow_files.go (flows), hpcc_import.go (a scenario from files of HPCC's simulator).
package scenario
