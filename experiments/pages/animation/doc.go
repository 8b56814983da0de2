// Package animation draws runs as an animated GIF or as a PNG of one moment: the fabric with its links, queues and
// PAUSE, and below it a plot of the scenario's report. Two runs stand side by side on the same scales. It needs no
// browser. Equal runs and options give equal bytes.
//
// Files:
//
//   - What a caller gives and gets: animation.go. GIF files: gif.go.
//   - A run at a moment: run.go. Which time is drawn, if the caller does not say: stretch.go.
//   - A frame: scene.go, with its parts fabric.go, chart.go and legend.go. Where nodes stand: layout.go.
//   - Lines and letters: pen.go. Colours: colours.go. Numbers as people read them: numbers.go.
package animation
