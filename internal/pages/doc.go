// Package pages has what the pages that pausenet writes and serves share: uPlot, which draws their plots. Its files,
// below uplot, are those of the npm package uplot 1.6.32, unchanged.
//
// A page is ES modules and a style sheet, in the folder page of its package. esbuild has bundled them, with uPlot, into
// the folder bundle, which the package embeds: make pages. Nothing of this is needed to build pausenet.
package pages
