package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pausenet/pausenet/experiments/sweep"
)

func archiveOf(t *testing.T, names ...string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return &b
}

// TestUnpackTakesFilesOfARunAlone: nothing else that a worker sends reaches the disk, and nothing twice.
func TestUnpackTakesFilesOfARunAlone(t *testing.T) {
	if err := unpack(archiveOf(t, "manifest.json", "flows.csv", "SHA256SUMS"), t.TempDir()); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]string{
		{"report.html"}, {"zz.sh"}, {"../flows.csv"}, {"FLOWS.CSV"}, {"a/flows.csv"}, {".hidden"}, {""}, {"flows.csv", "flows.csv"}, {"flows.csv", "x0"},
	} {
		dir := t.TempDir()
		if err := unpack(archiveOf(t, bad...), dir); err == nil || !strings.Contains(err.Error(), "no file of a run's") {
			t.Errorf("%q: error %v", bad, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > len(bad)-1 {
			t.Errorf("%q: %d files are there", bad, len(entries))
		}
	}
}

// TestUnpackRefusesLinksAndBulk: nothing but regular files is taken, and of these largestPoint bytes in all. Of a file that is let in too
// little comes: then that is the error.
func TestUnpackRefusesLinksAndBulk(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Size: size, Typeflag: tar.TypeReg}
	}
	for name, c := range map[string]struct {
		headers []tar.Header
		want    string
	}{
		"a symbolic link":          {[]tar.Header{{Name: "flows.csv", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, "no file of a run's"},
		"a link":                   {[]tar.Header{{Name: "flows.csv", Linkname: "manifest.json", Typeflag: tar.TypeLink}}, "no file of a run's"},
		"a folder":                 {[]tar.Header{{Name: "flows.csv", Typeflag: tar.TypeDir}}, "no file of a run's"},
		"a device":                 {[]tar.Header{{Name: "flows.csv", Typeflag: tar.TypeChar}}, "no file of a run's"},
		"the largest":              {[]tar.Header{file("flows.csv", largestPoint)}, "unexpected EOF"},
		"a byte more":              {[]tar.Header{file("flows.csv", largestPoint+1)}, "is larger than"},
		"the largest of two files": {[]tar.Header{file("ports.csv", 1), file("flows.csv", largestPoint-1)}, "unexpected EOF"},
		"a byte more of two files": {[]tar.Header{file("ports.csv", 1), file("flows.csv", largestPoint)}, "is larger than"},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for i := range c.headers {
			if err := w.WriteHeader(&c.headers[i]); err != nil {
				t.Fatal(err)
			}
			if c.headers[i].Size == 1 {
				if _, err := w.Write([]byte{'x'}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&b, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func TestSealedMessages(t *testing.T) {
	honest, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	data, err := honest.seal("a.sign", &sign{Worker: "w"})
	if err != nil {
		t.Fatal(err)
	}
	var s sign
	if key, err := unseal("a.sign", data, &s); err != nil || key != honest.public || s.Worker != "w" {
		t.Errorf("key %q, worker %q, error %v", key, s.Worker, err)
	}
	if _, err := unseal("a.proof", data, &s); !errors.Is(err, errSeal) {
		t.Errorf("under another subject: error %v", err)
	}
	other, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unseal("a.sign", bytes.Replace(data, []byte(honest.public), []byte(other.public), 1), &s); !errors.Is(err, errSeal) {
		t.Errorf("under another key: error %v", err)
	}
	for _, bad := range []string{"", "{}", `{"key":"x"}`, `{"key":"` + honest.public + `"}`} {
		if _, err := unseal("a.sign", []byte(bad), &s); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ü": "plain, ü", "a\x1b[2Jb\nc\x07": "a\ufffd[2Jb\ufffdc\ufffd", strings.Repeat("x", mostText+1): strings.Repeat("x", mostText) + "...",
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestNobodySpeaksForAnother: a joined worker's name does nothing under another key.
func TestNobodySpeaksForAnother(t *testing.T) {
	honest, _ := newIdentity()
	impostor, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{ID: "w-1", Key: honest.public}
	c := &Coordinator{
		ID: "x", n: "x", Say: func(string) {}, Runner: &sweep.Runner{Points: make([]sweep.Point, 1)},
		points: make([]point, 1), workers: map[string]*Worker{"w-1": w}, joining: map[string]*candidate{},
	}
	for _, by := range []*identity{impostor, honest} {
		hello, _ := by.seal("join", &hello{Worker: "w-1"})
		proof, _ := by.seal("proof", &proof{Worker: "w-1"})
		sign, err := by.seal("sign", &sign{Worker: "w-1", Running: []string{"p\x1b"}})
		if err != nil {
			t.Fatal(err)
		}
		refused := c.join(t.Context(), "join", hello).(*welcome).Refused
		unknown := c.hear(t.Context(), "sign", sign).(*word).Unknown
		_ = c.prove(t.Context(), "proof", proof)
		if by == impostor && (!strings.Contains(refused, "another worker") || !unknown || w.running != nil) {
			t.Errorf("refused %q, unknown %v, running %q", refused, unknown, w.running)
		}
		if by == honest && (unknown || len(w.running) != 1 || w.running[0] != "p\ufffd") {
			t.Errorf("the worker itself: unknown %v, running %q", unknown, w.running)
		}
	}
	if err := c.take(t.Context(), &result{Worker: "w-1", Error: "lie"}, impostor.public); err != nil || c.points[0].Failures != 0 || w.Out != "" {
		t.Errorf("a result by the impostor: %+v, out %q, error %v", c.points[0], w.Out, err)
	}
}

// slowServer is a results' store that never answers in time.
type slowServer struct{ jetstream.ObjectStore }

func (slowServer) Get(context.Context, string, ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	return nil, nats.ErrTimeout
}
func (slowServer) Delete(context.Context, string) error { return nil }

type forgetful struct{ jetstream.KeyValue }

func (forgetful) Put(context.Context, string, []byte) (uint64, error) { return 0, nil }

// delivery is a message as it is delivered for the nth time.
type delivery struct {
	jetstream.Msg
	data       []byte
	nth        uint64
	again, end bool
}

func (d *delivery) Subject() string { return "pausenet.x.result.0" }
func (d *delivery) Data() []byte    { return d.data }
func (d *delivery) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: d.nth}, nil
}
func (d *delivery) NakWithDelay(time.Duration) error { d.again = true; return nil }
func (d *delivery) DoubleAck(context.Context) error  { d.end = true; return nil }

// TestUnreachableResultIsSetAside: a result that the server does not give is tried again, and does not end the sweep.
func TestUnreachableResultIsSetAside(t *testing.T) {
	key, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	private := t.TempDir()
	c := &Coordinator{
		ID: "x", n: "x", Private: private, Say: func(string) {}, Runner: &sweep.Runner{Points: []sweep.Point{{Hash: "h"}}},
		points: []point{{Failures: mostFailures - 1}}, workers: map[string]*Worker{"w-1": {ID: "w-1", Key: key.public}}, objects: slowServer{}, kv: forgetful{},
	}
	data, err := key.seal("pausenet.x.result.0", &result{Worker: "w-1", Hash: "h", Object: "o"})
	if err != nil {
		t.Fatal(err)
	}
	for nth := uint64(1); nth <= mostDeliveries; nth++ {
		d := &delivery{data: data, nth: nth}
		if err := c.takeMessage(t.Context(), d); err != nil {
			t.Fatalf("delivery %d: error %v", nth, err)
		}
		if last := nth == mostDeliveries; d.again == last || d.end != last {
			t.Errorf("delivery %d: again %v, acknowledged %v", nth, d.again, d.end)
		}
	}
	aside, err := os.ReadFile(filepath.Join(private, asideFile))
	if err != nil || !strings.Contains(string(aside), `"w-1"`) || strings.Count(string(aside), "\n") != 1 {
		t.Errorf("set aside %q, error %v", aside, err)
	}
	if p := c.points[0]; p.Failures != mostFailures || !strings.Contains(p.Error, "worker w-1") {
		t.Errorf("point %+v", p)
	}
}

// TestPrivateFolderIsAFolder: a file, or a link to a folder, in its place is refused, whoever owns it.
func TestPrivateFolderIsAFolder(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link": func(path string) error { return os.Symlink(t.TempDir(), path) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, ".cluster")); err != nil {
			t.Fatal(err)
		}
		if _, err := PrivateFolder(dir); err == nil || !strings.Contains(err.Error(), "is not a folder of yours alone") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestCertificateIsAServers: it is good for the name by which workers call the coordinator, and for nothing but a server.
func TestCertificateIsAServers(t *testing.T) {
	s, err := newSecrets()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(s.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	for _, c := range []struct {
		name string
		use  x509.ExtKeyUsage
		good bool
	}{{"pausenet", x509.ExtKeyUsageServerAuth, true}, {"pausenet", x509.ExtKeyUsageClientAuth, false}, {"other", x509.ExtKeyUsageServerAuth, false}} {
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.name, KeyUsages: []x509.ExtKeyUsage{c.use}}); (err == nil) != c.good {
			t.Errorf("%s, use %d: error %v", c.name, c.use, err)
		}
	}
}
