//go:build linux

package verbs

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// quota limits the resources that the programs of one host may hold at once, so that they cannot exhaust those of other
// hosts. The zero value permits nothing.
type quota struct {
	mutex sync.Mutex
	left  holdings
}

// holdings counts resources of the server.
type holdings struct {
	connections int
	files       int // descriptors of the server process
	objects     int
	ring        int // bytes of completion queues
	work        int // capacity of queues in work requests
	mappings    int // memory mappings of the server process: completion queues, and a page for each open device
}

// ofHost returns a host's quota, on a fabric with the given number of hosts.
func ofHost(hosts int) holdings {
	files := 4096
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		files = min(files, int(min(limit.Cur, 1<<30))/2/hosts)
	}
	mappings := 4096
	if b, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		// the rest is for the process itself, which ends without
		if most, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			mappings = min(mappings, most/2/hosts)
		}
	}
	return holdings{
		connections: max(8, files/4), files: max(16, files), objects: 1 << 17, ring: 512 << 20, work: 1 << 21,
		mappings: max(16, mappings),
	}
}

func (h holdings) minus(o holdings) holdings {
	return holdings{
		h.connections - o.connections, h.files - o.files, h.objects - o.objects, h.ring - o.ring,
		h.work - o.work, h.mappings - o.mappings,
	}
}

// take reserves resources. It reports false, and reserves nothing, if there are not enough.
func (q *quota) take(h holdings) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	left := q.left.minus(h)
	if left.connections < 0 || left.files < 0 || left.objects < 0 || left.ring < 0 || left.work < 0 || left.mappings < 0 {
		return false
	}
	q.left = left
	return true
}

// give releases resources.
func (q *quota) give(h holdings) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.left = q.left.minus(holdings{}.minus(h))
}
