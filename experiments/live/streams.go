//go:build linux

package live

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"time"
)

// closed returns a channel that is closed when the client closes its side.
func closed(conn net.Conn) <-chan struct{} {
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(stop)
	}()
	return stop
}

// beatEvery sets the interval of keep-alives on an idle stream, because clients give up after answerTimeout.
const beatEvery = 5 * time.Second

// serveNode keeps the connection of a client that has a node's namespaces open. Its end tells the client that the
// fabric has ended.
func (f *Fabric) serveNode(c *connection, _ Request, first Reply) {
	if sendFiles(c.UnixConn, first) == nil {
		<-closed(c)
	}
}

// serveEvents sends events, a line of JSON each, until the client closes. Empty lines are keep-alives.
func (f *Fabric) serveEvents(c *connection, r Request, first Reply) {
	stop := closed(c)
	if send(c, first) == nil {
		_ = f.streamEvents(c, r.Kinds, stop)
	}
	_ = c.Close()
	<-stop
}

func (f *Fabric) streamEvents(w io.Writer, kinds []string, stop <-chan struct{}) error {
	r, err := f.read(eventBacklog, kinds)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(w)
	lines := json.NewEncoder(buffer)
	last := time.Now()
	return f.follow(r, func(e *Event) error { return lines.Encode(e) }, func() error {
		now := time.Now()
		if buffer.Buffered() == 0 && now.Sub(last) >= beatEvery {
			_ = buffer.WriteByte('\n') // an error is Flush's too
		}
		if buffer.Buffered() > 0 {
			last = now
		}
		return buffer.Flush()
	}, stop)
}

func (f *Fabric) write(r *reader, w io.Writer, stop <-chan struct{}) error {
	buffer := bufio.NewWriter(w)
	lines := json.NewEncoder(buffer)
	return f.follow(r, func(e *Event) error { return lines.Encode(e) }, buffer.Flush, stop)
}

// serveLine runs a line in the fabric's shell. The client interrupts it by closing its side.
func (f *Fabric) serveLine(c *connection, r Request, first Reply) {
	stop := closed(c)
	if send(c, first) == nil {
		last := Reply{End: true}
		quiet := beat(c)
		err := f.options.Line(f, r.Line, output{c}, stop)
		quiet()
		if err != nil {
			last.Error = err.Error()
		}
		_ = send(c, last)
	}
	_ = c.Close()
	<-stop
}

// beat sends empty replies until quiet is called.
func beat(c *connection) (quiet func()) {
	tick := time.NewTicker(beatEvery)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-tick.C:
				if send(c, Reply{}) != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(stop)
		<-done
	}
}

// output sends its input as replies.
type output struct{ conn net.Conn }

func (o output) Write(p []byte) (int, error) {
	if err := send(o.conn, Reply{Output: string(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}
