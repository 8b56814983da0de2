// Package report writes the results of a scenario's runs as one self-contained HTML page, with the controllers side by
// side on the same scales. It also writes each plot to files of its own: SVG, PNG or PDF, with its points as CSV.
//
// The page can be read without a network and without colour. Its script draws the plots by uPlot (package pages).
// Without the script, the page describes the plots in words. It contains no wall-clock time except the seconds that a
// caller may put into Speed, so equal runs give equal bytes. The package knows no scenario: callers provide all texts
// about the meaning of plots.
//
// Files:
//
//   - Input: report.go and summary.go (a scenario's runs), sweep.go (a sweep, and its page), lines.go (line charts
//     alone).
//   - A scenario's page: page.go, with panel.go (plots over time), cdf.go (distributions), groups.go (by tag and size),
//     bysize.go (charts over size), links.go, spread.go (PAUSE and its victims, fairness, losses, jobs and
//     collectives), events.go (faults, storms and deadlocks), published.go (a source's figures beside the
//     runs') and settings.go.
//   - A chart: chart.go, with axis.go and decimate.go (as few points as its picture needs). data.go encodes it for the
//     page's script. The script and the style are in page, and bundled in bundle by "make pages".
//   - A page of texts and tables: sheet.go.
//   - HTML: html.go (parts of a page, with escaped texts) and pagehtml.go (a scenario's page).
//   - Numbers: table.go, repeats.go (several seeds), unit.go.
//   - A plot in a file: export.go (all plots of a page), figure.go (a run's), drawing.go (the layout), plotaxes.go (a
//     chart's axes and margins), plot.go (its lines), canvas.go (SVG, PNG and PDF, by gonum/plot's canvases) and
//     canvas_js.go, which replaces it in a browser.
//   - On the page and in files: palette.go (colours and dashes).
package report
