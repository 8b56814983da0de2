// Package measure computes the numbers of a run: its summary, the statistics of its flows, metrics that scenarios,
// sweeps and tables name, and published figures beside measured ones. It uses topologies, but no engine, files or
// scenarios, and does no IO.
//
// A run makes a FlowRecord of each flow and passes them to its Summary: first to TakeFlows, then to TakeFigures and
// TakeClaims. These two need the statistics, and TakeClaims also needs the verdict. Results in files are read back into
// the same types. A metric that a run does not have is NaN in a Metric and absent from files. A mean uses only runs
// that are Trusted.
//
// Times are virtual nanoseconds if the name or the JSON field ends in ns, and vtime.Time otherwise. Rates are in bits
// per second.
//
// Files:
//
//   - A run in numbers: summary.go, summary_flows.go, summary_pfc.go, summary_faults.go, summary_steps.go (collectives
//     and jobs), links.go, imbalance.go (of equal-cost ports).
//   - Whether the numbers can be trusted: verdict.go.
//   - Flows: statistics.go, sizes.go (bins of equally many flows), ideal.go (the time of a flow alone).
//   - Metrics: metrics.go, metrics_text.go (over several runs, for people).
//   - Published figures: figures.go (sets of flows), published.go (beside measured values), comparison.go (as text).
package measure
