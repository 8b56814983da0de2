// Package measure has what a run comes to, in numbers: the summary of a run, the statistics of its flows, the metrics
// that scenarios, sweeps and tables name, and published figures beside measured ones. It knows topologies and nothing
// of engines, files or scenarios, and does no IO.
//
// A run makes a FlowRecord of each flow, and hands them to the Summary that it fills: TakeFlows first, then TakeFigures
// and TakeClaims, which need the statistics and, the latter, the verdict. Results that were written are read back into
// the same types. A metric that a run has none of is NaN in a Metric and absent from what is written; a mean takes only
// runs that are Trusted.
//
// Times are virtual nanoseconds where a name or a JSON field says so (_ns), and vtime.Time otherwise; rates are bits
// per second.
//
// Files:
//
//   - A run in numbers: summary.go, summary_flows.go, summary_pfc.go, summary_faults.go and summary_steps.go
//     (collectives and jobs); links.go,
//     imbalance.go (of equal-cost ports).
//   - Whether they can be trusted: verdict.go.
//   - Flows: statistics.go, sizes.go (bins of as many flows), ideal.go (the time of a flow alone).
//   - Metrics: metrics.go, and metrics_text.go (over several runs, for people).
//   - Published figures: figures.go (which flows one is of), published.go (beside what was measured), comparison.go (as
//     text).
package measure
