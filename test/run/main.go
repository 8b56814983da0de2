// Command run runs go test and shows its progress: go run ./test/run go test ./...
//
// It prints each package's result as soon as the package ends, with the output of the tests that failed. go test itself
// prints the packages in the order given, so a slow package hides all those after it. While no package ends, a line
// every ten seconds names the packages that run.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pausenet/pausenet/internal/lists"
)

func main() {
	if len(os.Args) < 3 || os.Args[2] != "test" {
		fmt.Fprintln(os.Stderr, "usage: go run ./test/run go test [flags] packages...")
		os.Exit(2)
	}
	// Packages often wait, for processes, clocks and browsers, so more than one per processor run at once.
	flags := []string{"test", "-json", "-p", strconv.Itoa(runtime.NumCPU() + 2)}
	command := exec.Command(os.Args[1], append(flags, os.Args[3:]...)...)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err != nil {
		fail(err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM) // go test gets them too, and ends
	if err := command.Start(); err != nil {
		fail(err)
	}
	p := newProgress(os.Stdout, time.Now)
	p.verbose = slices.Contains(os.Args, "-v")
	ticker := time.NewTicker(time.Second)
	go func() {
		for range ticker.C {
			p.tick()
		}
	}()
	readError := p.read(events)
	ticker.Stop()
	err = command.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	case err != nil || readError != nil:
		fail(errors.Join(err, readError))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// silence is how long nothing is printed before a line names the packages that run.
const silence = 10 * time.Second

// progress prints the results of packages.
type progress struct {
	verbose  bool // print the output of passing tests too
	mutex    sync.Mutex
	to       io.Writer
	now      func() time.Time
	start    time.Time
	last     time.Time // of the last line
	ended    int
	running  []string
	packages map[string][]event // output not yet printed, by package
}

func newProgress(to io.Writer, now func() time.Time) *progress {
	start := now()
	fmt.Fprintln(to, "building the test programs")
	return &progress{to: to, now: now, start: start, last: start, packages: map[string][]event{}}
}

// read handles all events of a stream.
func (p *progress) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			p.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *progress) line(line []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var e event
	if err := json.Unmarshal(line, &e); err != nil { // not of go test, but of a program that it started
		p.print(string(line))
		return
	}
	switch e.Action {
	case "build-output":
		p.print(e.Output)
	case "start":
		p.running = append(p.running, e.Package)
	case "output":
		p.packages[e.Package] = append(p.packages[e.Package], e)
	case "pass", "skip":
		if e.Test == "" {
			p.end(e.Package, func(e event) bool { return p.verbose || e.Test == "" && e.Output != "PASS\n" })
			return
		}
		if p.verbose {
			return
		}
		p.packages[e.Package] = slices.DeleteFunc(p.packages[e.Package], func(o event) bool {
			return o.Test == e.Test || strings.HasPrefix(o.Test, e.Test+"/")
		})
	case "fail":
		if e.Test == "" {
			p.end(e.Package, func(event) bool { return true })
		}
	}
}

// end prints a package's output as far as it is wanted.
func (p *progress) end(name string, wanted func(event) bool) {
	p.ended++
	p.running = slices.DeleteFunc(p.running, func(n string) bool { return n == name })
	for _, e := range p.packages[name] {
		if wanted(e) {
			p.print(e.Output)
		}
	}
	delete(p.packages, name)
}

func (p *progress) print(text string) {
	_, _ = io.WriteString(p.to, text)
	p.last = p.now()
}

// tick prints the packages that run if nothing else has been printed for a while.
func (p *progress) tick() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := p.now()
	if now.Sub(p.last) < silence {
		return
	}
	names := lists.Map(p.running, path.Base)
	doing := "compiling"
	if len(names) > 0 {
		doing = "running: " + strings.Join(names, ", ")
	}
	p.print(fmt.Sprintf("%v: %d packages done, %s\n", now.Sub(p.start).Round(time.Second), p.ended, doing))
}
