//go:build !unix

package files

// There are no pipes among the files there, and a link is looked for before a file is opened.
const noWait, noLink = 0, 0
