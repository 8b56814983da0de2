//go:build !unix

package files

// These systems have no pipes among files, and links are checked before a file is opened.
const noWait, noLink = 0, 0
