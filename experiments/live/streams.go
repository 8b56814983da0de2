//go:build linux

package live

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
)

// closed is closed when the other end has closed its side.
func closed(conn net.Conn) <-chan struct{} {
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(stop)
	}()
	return stop
}

// serveEvents writes events, a line of JSON each, until the other end closes.
func (f *Fabric) serveEvents(conn net.Conn, r Request) {
	stop := closed(conn)
	if send(conn, Reply{}) == nil {
		_ = f.WriteEvents(conn, r.Kinds, stop)
	}
	_ = conn.Close()
	<-stop
}

// WriteEvents writes events, of the kinds named or all, a line of JSON each, until stop is closed or the fabric ends.
func (f *Fabric) WriteEvents(w io.Writer, kinds []string, stop <-chan struct{}) error {
	r, err := f.read(eventBacklog, kinds)
	if err != nil {
		return err
	}
	return f.write(r, w, stop)
}

func (f *Fabric) write(r *reader, w io.Writer, stop <-chan struct{}) error {
	buffer := bufio.NewWriter(w)
	lines := json.NewEncoder(buffer)
	return f.follow(r, func(e *Event) error { return lines.Encode(e) }, buffer.Flush, stop)
}

// serveLine does what a line says as the fabric's shell would. The other end closes its side to interrupt it.
func (f *Fabric) serveLine(conn net.Conn, r Request) {
	stop := closed(conn)
	if send(conn, Reply{}) == nil {
		last := Reply{End: true}
		if err := f.options.Line(f, r.Line, output{conn}, stop); err != nil {
			last.Error = err.Error()
		}
		_ = send(conn, last)
	}
	_ = conn.Close()
	<-stop
}

// output sends what is written to it as replies.
type output struct{ conn net.Conn }

func (o output) Write(p []byte) (int, error) {
	if err := send(o.conn, Reply{Output: string(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}
