// Package report writes what a scenario's runs came to as one self-contained HTML page: the controllers side by side,
// on the same scales. It also makes each plot a file of its own, SVG, PNG or PDF, with its points as CSV.
//
// The page needs no network and no colour to be read. Its script draws the plots by uPlot (package pages); where it
// does not run the page says in words what they would show. It has no clock in it: equal runs give equal bytes, except
// for the wall-clock seconds a caller chooses to put into Speed. It knows nothing of any scenario: every word about
// what the plots mean comes from the caller.
//
// Files:
//
//   - What a caller gives: report.go and summary.go (a scenario's runs), sweep.go (a sweep, and its page), lines.go
//     (line charts alone).
//   - A scenario's page: page.go, of panel.go (plots over time), cdf.go (distributions), groups.go (by tag and size),
//     bysize.go (charts
//     over size), links.go, spread.go (PAUSE and its victims, fairness, losses, jobs and collectives), events.go
//     (faults, storms and deadlocks), published.go (beside
//     what a source says) and settings.go.
//   - A chart: chart.go, with axis.go and decimate.go (as few points as its picture needs); for the page's script
//     data.go. The script and the
//     style are below page, and bundled below bundle: make pages.
//   - A page of texts and tables: sheet.go.
//   - HTML: html.go (a page's parts, with escaped texts) and pagehtml.go (a scenario's page).
//   - Numbers: table.go, repeats.go (several seeds), unit.go.
//   - A plot in a file: export.go (all those of a page), figure.go (a run's), drawing.go (the layout), plotaxes.go (a
//     chart's axes and margins), plot.go (its lines), canvas.go (SVG, PNG and PDF, by gonum/plot's canvases) and, in a
//     browser, where there are none, canvas_js.go.
//   - On the page and in files: palette.go (colours and dashes).
package report
