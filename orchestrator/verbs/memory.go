//go:build linux

package verbs

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
)

// addressSpace is a program's memory, by the file /proc/PID/mem that it opened. The file is of the address space that
// the process had then: a process that begins another program, or ends while somebody else has its socket, has nothing
// read or written of what comes after it.
type addressSpace struct{ fd int }

var memoryPath = regexp.MustCompile(`/([0-9]+)(/task/[0-9]+)?/mem$`)

// numbersOf returns the numbers of a process in the PID namespaces that it is in: a /proc may be of any of them.
func numbersOf(process int) ([]string, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/status")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(status), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line), nil
}

// isMemory fails for a file that is not a process's memory: that of the process with a number here, whose mappings are
// checked (mapping.go), or of any if the number is 0. Any other file could have the engine wait, and this function
// waits for it. The file tells the number that the process has in the PID namespace of its /proc. So a program that has
// made PID namespaces can still pass another of its own processes off as itself.
func isMemory(fd, process int) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	of := memoryPath.FindStringSubmatch(path)
	if fs.Type != unix.PROC_SUPER_MAGIC || of == nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return errors.New("not a process's memory")
	}
	if process == 0 {
		return nil
	}
	numbers, err := numbersOf(process)
	if err == nil && !slices.Contains(numbers, of[1]) {
		err = errors.New("another process's memory")
	}
	return err
}

// transfer reads or writes all of b at an address. It is a raw system call as the engine's goroutine makes it; see the
// driver's thread.
func (a *addressSpace) transfer(call, address uintptr, b []byte) error {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall6(call, uintptr(a.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), address, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return fmt.Errorf("%w: nothing is mapped at %#x", errAccess, address)
		// a process that ends closes its files, its socket here among them, after it has given its address space back
		case n == 0:
			return qp.ErrEnded
		}
		b = b[n:]
		address += n
	}
	return nil
}

func (a *addressSpace) read(address uint64, into []byte) error {
	return a.transfer(unix.SYS_PREAD64, uintptr(address), into)
}

func (a *addressSpace) write(address uint64, from []byte) error {
	return a.transfer(unix.SYS_PWRITE64, uintptr(address), from)
}

func (a *addressSpace) close() { _ = unix.Close(a.fd) }

// Rights to a region, as enum ibv_access_flags has them.
const (
	accessLocalWrite   = 1 << 0
	accessRemoteWrite  = 1 << 1
	accessRemoteRead   = 1 << 2
	accessRemoteAtomic = 1 << 3
	accessKnown        = accessLocalWrite | accessRemoteWrite | accessRemoteRead | accessRemoteAtomic
)

// region is a memory region.
type region struct {
	pd      *domain
	address uint64
	length  uint64
	base    uint64 // of the addresses that peers and work requests have for it
	access  uint64
	key     uint32
}

// domain is a protection domain.
type domain struct{ users int }

// place is where n bytes at an address of the region are in memory.
func (r *region) place(address, n uint64) (uint64, bool) {
	offset := address - r.base
	if address < r.base || offset > r.length || n > r.length-offset {
		return 0, false
	}
	return r.address + offset, true
}

// find is where n bytes at an address are that a key gives rights to within a domain.
func (c *connection) find(pd *domain, key uint32, address, n, access uint64) (uint64, error) {
	r := c.regions[key]
	if r == nil || r.pd != pd {
		return 0, fmt.Errorf("%w: no region has the key %#x", errAccess, key)
	}
	if r.access&access != access {
		return 0, fmt.Errorf("%w: the region with the key %#x has not the right %#x", errAccess, key, access)
	}
	at, ok := r.place(address, n)
	if !ok {
		return 0, fmt.Errorf("%w: %d bytes at %#x are beyond the region with the key %#x", errAccess, n, address, key)
	}
	return at, nil
}
