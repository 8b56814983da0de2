package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/pausenet/pausenet/vtime"
)

// packet holds one packet as returned by the library's reader.
type packet struct {
	port string
	ns   int64
	data string
}

// read reads a whole capture. err is io.EOF if it ends where a block ends.
func read(t *testing.T, r io.Reader) (packets []packet, err error) {
	t.Helper()
	ng, err := pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		return nil, err
	}
	for {
		data, info, err := ng.ReadPacketData()
		if err != nil {
			return packets, err
		}
		port, err := ng.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, packet{port.Name, info.Timestamp.UnixNano(), string(data)})
	}
}

// wholeBlocks fails the test if a single write does not consist of whole pcapng blocks.
type wholeBlocks struct {
	t      *testing.T
	b      bytes.Buffer
	writes int
}

func (w *wholeBlocks) Write(p []byte) (int, error) {
	w.writes++
	for rest := p; len(rest) > 0; {
		if len(rest) < 12 {
			w.t.Fatalf("write %d ends in the middle of a block", w.writes)
		}
		n := int(binary.LittleEndian.Uint32(rest[4:]))
		if n > len(rest) || n < 12 || n != int(binary.LittleEndian.Uint32(rest[n-4:])) {
			w.t.Fatalf("write %d ends in the middle of a block", w.writes)
		}
		rest = rest[n:]
	}
	return w.b.Write(p)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestRoundTrip(t *testing.T) {
	out := &wholeBlocks{t: t}
	w := NewWriter(out)
	ports := []string{"leaf0-eth1", "h0-eth0", "äöü"}
	var want []packet
	write := func(id int, at vtime.Time, frame string) {
		t.Helper()
		if err := w.Write(id, at, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		want = append(want, packet{ports[id], int64(at) / 1000, frame})
	}
	for i, name := range ports[:2] {
		if id := must[int](t)(w.AddPort(name)); id != i {
			t.Fatalf("id %d, want %d", id, i)
		}
	}
	write(1, 0, "at the epoch")
	write(0, 209_600, "rounded down to 209 ns")
	write(0, 5*vtime.Second+vtime.Nanosecond, "")
	must[int](t)(w.AddPort(ports[2]))
	write(2, vtime.Never, "as late as can be")
	// Enough of every length modulo 4 to fill the buffer many times, and the longest.
	for i := range 2000 {
		write(i%3, vtime.Time(i)*vtime.Microsecond, string(bytes.Repeat([]byte{byte(i)}, i)))
	}
	write(0, 0, string(make([]byte, maxFrame)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := read(t, &out.b)
	if err != io.EOF || !slices.Equal(got, want) {
		t.Errorf("%d packets, want %d; %v", len(got), len(want), err)
	}
	if out.writes < 8 {
		t.Errorf("only %d writes: the buffer was never full", out.writes)
	}
}

// TestCut: wherever a file is cut, all whole frames before are readable.
func TestCut(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	must[int](t)(w.AddPort("p"))
	var ends []int
	for i := range 5 {
		if err := errors.Join(w.Write(0, vtime.Time(i), make([]byte, 60+i)), w.Flush()); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, b.Len())
	}
	for n := ends[0]; n <= b.Len(); n++ {
		whole, at := 0, false
		for _, end := range ends {
			if end <= n {
				whole++
			}
			at = at || end == n
		}
		got, err := read(t, bytes.NewReader(b.Bytes()[:n]))
		if len(got) != whole || at && err != io.EOF {
			t.Errorf("cut at %d: %d frames, want %d; %v", n, len(got), whole, err)
		}
	}
}

// create writes a capture to the file at path, emptied if it is there.
func create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return NewFile(f), nil
}

// TestKill kills a process that captures continuously and reads the resulting file.
func TestKill(t *testing.T) {
	if path := os.Getenv("CAPTURE_TEST_KILL"); path != "" {
		w := must[*Writer](t)(create(path))
		must[int](t)(w.AddPort("p"))
		frame := make([]byte, 1058)
		for i := 0; ; i++ {
			if err := w.Write(0, vtime.Time(i)*vtime.Nanosecond, frame); err != nil {
				t.Fatal(err)
			}
			if i == 5000 {
				fmt.Println("many") // more than one buffer; the parent kills us now, while we go on
			}
			if i == 200_000 {
				select {} // enough disk used
			}
		}
	}
	path := filepath.Join(t.TempDir(), "killed.pcapng")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKill$")
	cmd.Env = append(os.Environ(), "CAPTURE_TEST_KILL="+path)
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if line != "many\n" {
		t.Fatalf("the child said %q: %v", line, err)
	}
	f := must[*os.File](t)(os.Open(path))
	defer f.Close()
	got, err := read(t, f)
	if len(got) < 5000-bufferSize/1058 || err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%d frames, %v", len(got), err)
	}
	for i, p := range got {
		if p.ns != int64(i) || len(p.data) != 1058 {
			t.Fatalf("frame %d: %d ns, %d B", i, p.ns, len(p.data))
		}
	}
}

func TestDiskFull(t *testing.T) {
	w, err := create("/dev/full")
	if err != nil {
		t.Skip("no /dev/full here")
	}
	must[int](t)(w.AddPort("p"))
	for i := 0; err == nil && i < 1000; i++ {
		err = w.Write(0, 0, make([]byte, 1058))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write: %v, want no space left", err)
	}
	for name, f := range map[string]func() error{
		"Write":   func() error { return w.Write(0, 0, make([]byte, 60)) },
		"Flush":   w.Flush,
		"AddPort": func() error { _, err := w.AddPort("q"); return err },
	} {
		if err := f(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s after the failure: %v", name, err)
		}
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
}

// almostFull writes to a file that has room for so many bytes.
type almostFull struct {
	f    *os.File
	room int
}

func (a *almostFull) Write(p []byte) (int, error) {
	n, err := a.f.Write(p[:min(len(p), a.room)])
	if a.room -= n; err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestDiskFills: the half block that a full disk leaves is cut off again.
func TestDiskFills(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full.pcapng")
	w := must[*Writer](t)(create(path))
	w.buffer.Reset(&almostFull{w.file, 3*bufferSize - 100})
	must[int](t)(w.AddPort("p"))
	var err error
	for i := 0; err == nil; i++ {
		err = w.Write(0, 0, make([]byte, 1058))
	}
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(w.Close(), syscall.ENOSPC) {
		t.Fatal(err)
	}
	f := must[*os.File](t)(os.Open(path))
	defer f.Close()
	if got, err := read(t, f); len(got) < 400 || err != io.EOF {
		t.Errorf("%d frames, %v", len(got), err)
	}
}

func TestMistakes(t *testing.T) {
	w := NewWriter(io.Discard)
	if w.Write(0, 0, nil) == nil {
		t.Error("a frame of no port was accepted")
	}
	must[int](t)(w.AddPort("p"))
	if _, err := w.AddPort(string(make([]byte, 300))); err == nil {
		t.Error("an endless name was accepted")
	}
	for name, err := range map[string]error{
		"port":       w.Write(1, 0, nil),
		"other port": w.Write(-1, 0, nil),
		"time":       w.Write(0, -1, nil),
		"length":     w.Write(0, 0, make([]byte, maxFrame+1)),
	} {
		if err == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
	// A refused frame does not spoil the capture; a closed capture is spoilt.
	if err := errors.Join(w.Write(0, 0, make([]byte, 60)), w.Close()); err != nil {
		t.Error(err)
	}
	if w.Write(0, 0, nil) == nil || w.Flush() == nil || w.Close() == nil {
		t.Error("a closed capture was written to")
	}
}

func TestWriteDoesNotAllocate(t *testing.T) {
	w := NewWriter(io.Discard)
	must[int](t)(w.AddPort("p"))
	frame := make([]byte, 1058)
	if n := testing.AllocsPerRun(1000, func() { _ = w.Write(0, 0, frame) }); n != 0 {
		t.Errorf("Write allocates %v times", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	w := NewWriter(io.Discard)
	if _, err := w.AddPort("p"); err != nil {
		b.Fatal(err)
	}
	frame := make([]byte, 1058)
	for b.Loop() {
		if err := w.Write(0, vtime.Microsecond, frame); err != nil {
			b.Fatal(err)
		}
	}
}
