// Package animation draws runs as an animated GIF, or as a PNG of one moment: the fabric with its links, queues and
// PAUSE, and below it a plot of the scenario's report. Two runs stand side by side on the same scales. It needs no
// browser. Equal runs and options give equal bytes.
//
// Files:
//
//   - Options and results: animation.go. GIF files: gif.go.
//   - The state of a run at a moment: run.go. The default interval to draw: interval.go.
//   - A frame: scene.go, with its parts fabric.go, chart.go and legend.go. Positions of nodes: layout.go.
//   - Lines and letters: pen.go. Colours: colours.go. Formatted numbers: numbers.go.
package animation
