// Package files reads and writes files in folders that others may write, too. A file named by the user may be a device,
// a pipe without a writer, or larger than the memory. In a shared folder, a name may be a link to somebody else's file.
//
// Files:
//
//   - Reading: read.go, dir.go (a folder's files), sources.go (records the files read, or reads recorded ones),
//     files.go (errors, and limits on sizes).
//   - Writing: folder.go (into a folder), named.go (files named by the user), replace_unix.go and replace_other.go
//     (whole or not at all).
//   - Access: lock.go, lock_unix.go and lock_windows.go (one process at a time), owner_unix.go and owner_other.go
//     (whose links are followed), private.go (who can read secrets).
//   - Flags for opening files: open_unix.go, open_other.go.
package files
