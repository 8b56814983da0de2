// Package files reads and writes files in places where others may have a hand: what a user names may be a device, a pipe that
// nobody writes into, or larger than the memory, and in a folder that several may write into a name may be a link to
// somebody else's file.
package files
