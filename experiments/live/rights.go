//go:build linux

package live

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sendFiles sends a reply together with its open files. A path below /proc could refer to another process by the
// time it is read.
func sendFiles(conn net.Conn, r Reply) error {
	if len(r.files) == 0 {
		return send(conn, r)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	n, _, err := conn.(*net.UnixConn).WriteMsgUnix(line, unix.UnixRights(r.files...), nil)
	if err == nil {
		_, err = conn.Write(line[n:])
	}
	return err
}

// receiver reads from a fabric's socket. files holds the files received with the data.
type receiver struct {
	conn  *net.UnixConn
	files []*os.File
	space [64]byte // for more than a node's
}

func (r *receiver) Read(p []byte) (int, error) {
	n, control, _, _, err := r.conn.ReadMsgUnix(p, r.space[:])
	if errors.Is(err, io.EOF) {
		return 0, io.EOF // for io.Copy
	}
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(r.space[:control])
	if err != nil {
		return n, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return n, err
		}
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "from a fabric"))
		}
	}
	return n, nil
}

// take returns and clears the received files.
func (r *receiver) take() []*os.File {
	files := r.files
	r.files = nil
	return files
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
