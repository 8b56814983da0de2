// Package scenario is the language of experiments: scenario files, the scenarios that come with the program, and what a
// scenario comes to under one congestion control and one seed.
//
// A scenario's life:
//
//	s, err := scenario.Load("incast", sets)     // read, resolved against its topology, each mistake with its place
//	err = scenario.Check(s, s.Controllers)      // what shows only under a controller and a seed
//	u, err := scenario.NewSetup(s, "dcqcn", 1)  // under one: constants and paths of every flow
//	v := u.Resolution()                         // for programs, and for the hash that says whether two runs are the same
//
// A Scenario is not changed once it has been read: WithSeed and Under give another.
//
//   - Load alone does not make a scenario that runs: what depends on the controller, such as its constants, is found by
//     Check. The runner,
//     the sweep and validate refuse what Check refuses, and nothing more.
//   - Load and Parse read the files that a scenario names, in the folder of the scenario's own name.
//   - A Scenario may be read by several goroutines, and by several runs at once. Nobody may write to it.
//   - Warnings are no errors: what is off but can be run. Whoever runs a scenario for people shows them.
//
// Of the engine the package uses what decides a flow's path and a port's thresholds; it runs nothing and opens no
// fabric.
//
// Files:
//
//   - A scenario: scenario.go, variant.go (controllers under settings of their own), workload.go (flows by a rule, and
//     seeds); sources.go
//     has those that come with the program, and what any was read from, to be read again.
//   - Under one controller and seed: setup.go, and needs.go (what the controller has switches and hosts be).
//   - What is wrong with it: check.go.
//   - Likely mistakes in a valid scenario: warnings.go, and a file for each subject: warnings_loss.go (lossless frames
//     may be dropped), warnings_pause.go (PAUSE and priorities), warnings_signals.go (marks and telemetry),
//     warnings_cycle.go (routes that can deadlock), warnings_balancing.go (load balancing), warnings_flows.go (flows
//     and
//     their controllers), warnings_idle.go (settings without effect).
//   - Its file: keys.go (its keys), spec.go, and a section each spec_flows.go, spec_workload.go with
//     spec_workload_keys.go, spec_workload_parts.go and spec_steps.go (flows that wait), spec_controllers.go (with
//     settings of switches and hosts), spec_faults.go with spec_faults_check.go, spec_end.go (how it ends),
//     spec_report.go with reference.go (levels in plots), spec_published.go and spec_quick.go (the quick form).
//   - As it resolves: spec_view.go for programs and spec_describe.go for people; parts of these: spec_faults_view.go,
//     workload_view.go and spec_auto.go (what auto comes to).
//   - Files beside it: flow_files.go (flows), hpcc_import.go (a scenario of the files of HPCC's simulator).
package scenario
