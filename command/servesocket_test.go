//go:build linux

package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// listening starts serve on a socket, and waits until it listens.
func listening(t *testing.T, pausenet, socket, folder string) *exec.Cmd {
	t.Helper()
	c := exec.Command(pausenet, "serve", "--socket", socket)
	c.Dir, c.Stderr = folder, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for {
		if client, err := net.Dial("unix", socket); err == nil {
			client.Close()
			return c
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestServeSocket has several clients at once, each with its own directory, and replaces the socket of a killed process.
func TestServeSocket(t *testing.T) {
	t.Parallel()
	folder, pausenet := program(t)
	socket := filepath.Join(folder, "s")
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := listening(t, pausenet, socket, folder)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if out, err := exec.Command(pausenet, "serve", "--socket", socket).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "another process listens there") {
		t.Errorf("a second server: %v\n%s", err, out)
	}
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	server = listening(t, pausenet, socket, folder)

	clients := map[string]net.Conn{}
	readers := map[string]*bufio.Reader{}
	for _, name := range []string{"a", "b"} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients[name], readers[name] = c, bufio.NewReader(c)
	}
	call := func(client, request string) (reply serveReply) {
		t.Helper()
		if _, err := fmt.Fprintln(clients[client], request); err != nil {
			t.Fatal(err)
		}
		line, err := readers[client].ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &reply)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", request, err, line)
		}
		return reply
	}
	list := `{"command": ["list", "--cc", "own.star"]%s}`
	own := "def init(flow):\n    flow.rate = path.line_rate\n"
	if err := os.WriteFile(filepath.Join(folder, "a", "own.star"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		client, directory string
		code              int
	}{{"a", "a", exitFine}, {"b", "b", exitBadInput}, {"a", "", exitFine}, {"b", "../a", exitFine}, {"a", "../none", exitBadInput}} {
		more := ""
		if r.directory != "" {
			more = fmt.Sprintf(`, "directory": %q`, r.directory)
		}
		if reply := call(r.client, fmt.Sprintf(list, more)); reply.ExitCode != r.code {
			t.Errorf("%+v: %+v", r, reply)
		}
	}
	if r := call("a", `run incast`); r.ExitCode != exitBadInput || !strings.Contains(r.Stderr, "line 4 of the connection is no request") {
		t.Errorf("a mistake: %+v", r)
	}
	if r := call("b", `{"command": ["version"]}`); r.ExitCode != 0 { // another client's mistake is its own
		t.Errorf("%+v", r)
	}
	gone, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(gone, `{"command": ["run", "incast", "--cc", "none", "--seeds", "1..10000", "--out", "left"]}`); err != nil {
		t.Fatal(err)
	}
	gone.Close()
	if r := call("b", `{"command": ["version"]}`); r.ExitCode != 0 { // it does not wait for the 10 000 runs
		t.Errorf("%+v", r)
	}
	if runs, err := filepath.Glob(filepath.Join(folder, "left", "*", "*")); err != nil || len(runs) >= 10_000 {
		t.Errorf("%d runs of a client that has gone, %v", len(runs), err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	if _, err := os.Lstat(socket); err == nil || server.ProcessState.ExitCode() != exitVerdict {
		t.Errorf("after SIGTERM: exit code %d, and the socket: %v", server.ProcessState.ExitCode(), err)
	}
}

// TestHungUp checks that only a closed connection interrupts a command, and not the end of its requests.
func TestHungUp(t *testing.T) {
	t.Parallel()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := client.CloseWrite(); err != nil || hungUp(c) {
		t.Errorf("after the last request: %v, hung up %t", err, hungUp(c))
	}
	client.Close()
	ctx, stop := whileConnected(c)
	defer stop()
	<-ctx.Done()
	a := answering{turn: &sync.Mutex{}, present: func() (context.Context, context.CancelFunc) { return ctx, func() {} }}
	if r, err := a.carryOut(&serveRequest{Command: []string{"version"}}); err != nil || r.ExitCode == 0 || r.Stdout != "" {
		t.Errorf("a request of a client that has gone: %+v, %v", r, err)
	}
	if _, err := listenUnix("@name"); err == nil || !strings.Contains(err.Error(), "./@name") {
		t.Errorf("a socket without a file: %v", err)
	}
}
