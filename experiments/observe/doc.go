// Package observe provides observers of runs (runner.Options.Observers), which write further files about a run.
//
//   - why.go: the causes of each flow's completion time (experiments/observe/provenance).
//   - record.go: the state of all ports over time, for a replay.
//   - trace.go: a trace for ui.perfetto.dev.
//   - capture.go: frames of some ports, as pcapng.
package observe
