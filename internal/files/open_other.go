//go:build !unix

package files

// These systems have no such flags. Their files are never pipes, and Open and others check for links before they open.
const noWait, noLink = 0, 0
