//go:build linux

package live

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// compiled compiles test/verbs/calls.c against the machine's headers of libibverbs and librdmacm.
func compiled(t *testing.T) string {
	t.Helper()
	program(t, "gcc", "gcc")
	verbsFolder(t)
	file := filepath.Join(t.TempDir(), "calls")
	command := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-o", file, "../../test/verbs/calls.c", "-libverbs",
		"-lrdmacm", "-lpthread")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestVerbsCalls makes each call that the headers of libibverbs and librdmacm declare, and compares the results with
// the table in docs/verbs.md. With -update it writes the table.
func TestVerbsCalls(t *testing.T) {
	t.Parallel()
	file := compiled(t)
	f := bringUp(t, "")
	defer down(t, f)
	results := map[string][]string{}
	called := map[string]bool{}
	for line := range strings.Lines(onRDMA(t, f, "h1", file, "10.0.0.2")) {
		i := strings.LastIndexByte(line, ' ')
		name, result := line[:i], strings.TrimSpace(line[i:])
		if !strings.HasPrefix(name, "pausenet:") { // a refusal's message
			call, _, _ := strings.Cut(name, ",")
			called[call] = true
			results[result] = append(results[result], "`"+name+"`")
		}
	}
	for call := range declared(t) {
		if !called[call] {
			results["not called"] = append(results["not called"], "`"+call+"`")
		}
	}
	var table strings.Builder
	table.WriteString("| result | calls |\n|---|---|\n")
	for _, row := range [][2]string{
		{"works", "work"},
		{"EOPNOTSUPP", "refused with `EOPNOTSUPP`"},
		{"not called", "not called by this test"},
	} {
		slices.Sort(results[row[0]])
		fmt.Fprintf(&table, "| %s | %s |\n", row[1], strings.Join(slices.Compact(results[row[0]]), ", "))
		delete(results, row[0])
	}
	if len(results) > 0 {
		t.Errorf("calls that fail in another way: %v", results)
	}
	const page, begin, end = "../../docs/verbs.md", "<!-- calls -->\n", "<!-- end of calls -->"
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, _ := strings.Cut(string(text), begin)
	old, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	case *testenv.Update:
		must(t, os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644))
	case old != table.String():
		t.Errorf("%s (go test -run TestVerbsCalls -update writes it) has\n%s\nnot\n%s", page, old, table.String())
	}
}

// declared returns the functions that the headers declare.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, header := range []string{"infiniband/verbs.h", "rdma/rdma_cma.h", "rdma/rdma_verbs.h"} {
		text, err := os.ReadFile("/usr/include/" + header)
		must(t, err)
		code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAll(text, nil)
		for _, m := range regexp.MustCompile(`(?m)^(?:[a-z][\w \t*]*[ *]|)((?:ibv|rdma|mult_to|mbps_to)_\w+) ?\([^;{]*[;{]`).
			FindAllSubmatch(code, -1) {
			names[string(m[1])] = true
		}
	}
	delete(names, "ibv_static_providers") // of a static libibverbs
	return names
}

// writer runs test/verbs/calls.c as a program that writes when it is told to, with a queue pair's timeout and retries.
type writer struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWriter(t *testing.T, f *Fabric, file string, timeout, retries int) *writer {
	t.Helper()
	cmd := rdma(t, file, fmt.Sprint(timeout), fmt.Sprint(retries))
	in, toProgram, err := os.Pipe()
	must(t, err)
	fromProgram, out, err := os.Pipe()
	must(t, err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
	go func() {
		_ = f.Run("h1", cmd)
		in.Close()
		out.Close()
	}()
	w := &writer{toProgram, bufio.NewScanner(fromProgram)}
	t.Cleanup(func() { toProgram.Close(); fromProgram.Close() })
	w.expect(t, "ready")
	return w
}

func (w *writer) expect(t *testing.T, want string) {
	t.Helper()
	if !w.out.Scan() || w.out.Text() != want {
		t.Fatalf("the program printed %q, want %q", w.out.Text(), want)
	}
}

// post makes the program post a write.
func (w *writer) post(t *testing.T) {
	t.Helper()
	_, err := w.in.Write([]byte("\n"))
	must(t, err)
	w.expect(t, "posted")
}

// status returns the status of the write, the virtual times before and after it was posted, and that of its completion.
func (w *writer) status(t *testing.T) (status int, before, after, completed vtime.Time) {
	t.Helper()
	var ns [3]int64
	if !w.out.Scan() {
		t.Fatal("the program has ended")
	}
	if _, err := fmt.Sscan(w.out.Text(), &status, &ns[0], &ns[1], &ns[2]); err != nil {
		t.Fatalf("the program printed %q", w.out.Text())
	}
	of := func(ns int64) vtime.Time { return vtime.FromDuration(time.Duration(ns)) }
	return status, of(ns[0]), of(ns[1]), of(ns[2])
}

// TestVerbsOutage has a program's link lose all frames for less time than its queue pair retries, and for more. The
// first write completes after the outage. The second fails with IBV_WC_RETRY_EXC_ERR when each retry has waited for the
// local ACK timeout, 4.096 us * 2^timeout (IBTA volume 1 section 9.9.2.1.2). Times are virtual, so load does not matter.
func TestVerbsOutage(t *testing.T) {
	t.Parallel()
	file := compiled(t)
	f := bringUp(t, "", "host.retransmit_timeout=500us")
	defer down(t, f)
	now := func() (at vtime.Time) {
		must(t, f.Do(func(e *engine.Engine) error { at = e.Now(); return nil }))
		return at
	}
	fault := func(state string) {
		_, _, err := f.Fault([]string{"link", "h1", state})
		must(t, err)
	}
	const retryExceeded = 12

	// The queue pair would retry for 8 * 8.59 s; the host's own timeout retransmits earlier, and never gives up.
	long := startWriter(t, f, file, 21, 7)
	long.post(t)
	if status, _, _, _ := long.status(t); status != 0 {
		t.Fatalf("status %d before the outage", status)
	}
	fault("loss=100%")
	long.post(t)
	up := now()
	fault("normal")
	status, before, _, completed := long.status(t)
	if status != 0 || before >= up || completed < up {
		t.Errorf("a short outage: status %d, posted after %v, the outage ended after %v, completed at %v", status, before, up, completed)
	}

	const n, retries = 8, 3
	budget := (retries + 1) * 4096 * vtime.Nanosecond << n
	short := startWriter(t, f, file, n, retries)
	fault("loss=100%")
	short.post(t)
	// The timer runs on while its own link is down, too, once a packet has left.
	for sent := now() + 20*vtime.Microsecond; now() < sent; {
		time.Sleep(time.Millisecond)
	}
	fault("down")
	status, before, after, completed := short.status(t)
	// The requester looks at its clock once per retransmission timeout of the host.
	if late := budget + 500*vtime.Microsecond; status != retryExceeded || completed-before < budget || completed-after > late {
		t.Errorf("a long outage: status %d, %v after it was posted at the latest and %v at the earliest, want %d, between %v and %v",
			status, completed-after, completed-before, retryExceeded, budget, late)
	}
	t.Logf("given up %v to %v after it was posted; the standard's time is %v", completed-after, completed-before, budget)
}
