package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// acceptRetryDelay is the time between two attempts to accept a connection after one has failed.
const acceptRetryDelay = time.Second

// serveSocket answers clients of a Unix socket until a signal.
func serveSocket(ctx context.Context, path string, complaints io.Writer) error {
	ctx, stop := shutdown.Context(ctx)
	defer stop()
	listener, err := listenUnix(path)
	if err != nil {
		return err
	}
	defer listener.Close() // removes the socket
	defer startServing()()
	start, err := os.Getwd()
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	s := &socketServer{start: start, complaints: complaints}
	defer s.clients.Wait()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		c, err := listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return &exitError{exitVerdict, errors.New("interrupted")}
		case errors.Is(err, net.ErrClosed):
			return &exitError{exitEnvironment, err}
		case err != nil:
			s.complain(fmt.Errorf("cannot accept a connection: %w (trying again)", err))
			select {
			case <-ctx.Done():
			case <-time.After(acceptRetryDelay):
			}
		default:
			s.clients.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { _ = c.CloseRead() })() // ends the wait of answer for a request
				s.answer(c)
			})
		}
	}
}

// socketServer serves the clients of a socket.
type socketServer struct {
	start   string // the working directory at the start
	clients sync.WaitGroup
	turn    sync.Mutex // locked while a command runs

	writing    sync.Mutex
	complaints io.Writer
}

func (s *socketServer) complain(err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	fmt.Fprintf(s.complaints, "pausenet: %v\n", err)
}

// answer answers the requests of a client. Only its own requests change its working directory.
func (s *socketServer) answer(c *net.UnixConn) {
	at := s.start
	present := func() (context.Context, context.CancelFunc) { return whileConnected(c) }
	a := answering{name: "the connection", turn: &s.turn, present: present, directory: func(r *serveRequest) {
		if r.Directory != "" && !filepath.IsAbs(r.Directory) {
			r.Directory = filepath.Join(at, r.Directory)
		}
		if r.Directory == "" {
			r.Directory = at
		} else if isFolder(r.Directory) {
			at = r.Directory
		}
	}}
	err := a.answer(c, c)
	var mistake *exitError
	if errors.As(err, &mistake) && mistake.code == exitBadInput {
		_ = json.NewEncoder(c).Encode((&serveRequest{}).refuse(err)) // the client may have gone
	} else if err != nil && !shutdown.Begun() {
		s.complain(fmt.Errorf("a connection: %w", err))
	}
}

// hangUpPeriod is the time between two checks whether a client is still connected.
const hangUpPeriod = 100 * time.Millisecond

// whileConnected returns a context that ends soon after the client has closed the connection.
func whileConnected(c *net.UnixConn) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for !hungUp(c) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(hangUpPeriod):
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// listenUnix listens on a socket that only this user may use. It replaces the socket of a process that was killed.
func listenUnix(path string) (*net.UnixListener, error) {
	if strings.HasPrefix(path, "@") { // an abstract name, which any user may connect to
		return nil, badInput(fmt.Errorf("--socket %s: expected a file's path (write ./%[1]s for a file of this name)", path))
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, badInput(fmt.Errorf("--socket %s: the file is not a socket (choose another path)", path))
		}
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return nil, &exitError{
				exitEnvironment,
				fmt.Errorf("--socket %s: another process listens there (choose another path)",
					path),
			}
		}
		if err := os.Remove(path); err != nil {
			return nil, &exitError{
				exitEnvironment,
				fmt.Errorf("--socket: cannot replace the socket of an ended process: %w", err),
			}
		}
	}
	listener, err := (&net.ListenConfig{Control: private}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, &exitError{
			exitEnvironment,
			fmt.Errorf("--socket: %w (choose a path of at most 100 characters in a folder that you may "+
				"write to)", err),
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, &exitError{exitEnvironment, errors.Join(err, listener.Close())}
	}
	return listener.(*net.UnixListener), nil
}
