// Package files reads and writes files in places where others may have a hand: what a user names may be a device, a
// pipe that nobody writes into, or larger than the memory, and in a folder that several may write into a name may be a
// link to somebody else's file.
//
// Files:
//
//   - Reading: read.go, dir.go (a folder's files), sources.go (with a note of what was read, or from one); what is
//     refused, and how large a file may be: files.go.
//   - Writing: folder.go (into a folder), named.go (what a user names), replace_unix.go and replace_other.go (whole or
//     not at all), json.go
//     (what a file of JSON begins with).
//   - Who may: lock.go, lock_unix.go and lock_windows.go (one process at a time), owner_unix.go and owner_other.go
//     (whose links are
//     followed), private.go (who reads secrets).
//   - How a file is opened: open_unix.go, open_other.go.
package files
