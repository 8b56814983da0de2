// Package observe has observers of runs: they write files about a run beside its own (runner.Options.Observers).
//
//   - why.go: where each flow's time goes (orchestrator/provenance).
//   - record.go: all ports over time, for a replay.
//   - trace.go: a trace for ui.perfetto.dev.
//   - capture.go: frames of some ports, as pcapng.
package observe
