package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/orchestrator/engine"
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

// TestUnpackTakesFilesOfARunAlone checks that only the files of a run are written to disk, each once.
func TestUnpackTakesFilesOfARunAlone(t *testing.T) {
	if err := unpack(archiveOf(t, "manifest.json", "flows.csv", "SHA256SUMS"), 1<<10, t.TempDir()); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]string{
		{"report.html"},
		{"zz.sh"},
		{"../flows.csv"},
		{"FLOWS.CSV"},
		{"a/flows.csv"},
		{".hidden"},
		{""},
		{"flows.csv", "flows.csv"},
		{"flows.csv", "x0"},
	} {
		dir := t.TempDir()
		if err := unpack(archiveOf(t, bad...), 1<<10, dir); err == nil ||
			!strings.Contains(err.Error(), "not a regular file of a run") {
			t.Errorf("%q: error %v", bad, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > len(bad)-1 {
			t.Errorf("%q: %d files are there", bad, len(entries))
		}
	}
}

// TestUnpackRefusesLinksAndBulk checks that only regular files are extracted. Together they hold at most largestPoint
// bytes, and at most smallBulk plus mostRatio times the archive's size. A file within these limits is cut short here:
// the error is then that of an unexpected end.
func TestUnpackRefusesLinksAndBulk(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Size: size, Typeflag: tar.TypeReg}
	}
	const large, small, bulk = int64(largestPoint), int64(1000), int64(smallBulk + mostRatio*1000)
	for name, c := range map[string]struct {
		size    int64
		headers []tar.Header
		want    string
	}{
		"a symbolic link": {large, []tar.Header{{
			Name: "flows.csv", Linkname: "/etc/passwd",
			Typeflag: tar.TypeSymlink,
		}}, "not a regular file of a run"},
		"a link": {large, []tar.Header{{
			Name: "flows.csv", Linkname: "manifest.json",
			Typeflag: tar.TypeLink,
		}}, "not a regular file of a run"},
		"a folder":    {large, []tar.Header{{Name: "flows.csv", Typeflag: tar.TypeDir}}, "not a regular file of a run"},
		"a device":    {large, []tar.Header{{Name: "flows.csv", Typeflag: tar.TypeChar}}, "not a regular file of a run"},
		"the largest": {large, []tar.Header{file("flows.csv", largestPoint)}, "unexpected EOF"},
		"a byte more": {large, []tar.Header{file("flows.csv", largestPoint+1)}, "unpacks to more than"},
		"the largest of two files": {
			large,
			[]tar.Header{file("ports.csv", 1), file("flows.csv", largestPoint-1)},
			"unexpected EOF",
		},
		"bulk":                  {small, []tar.Header{file("flows.csv", bulk)}, "unexpected EOF"},
		"a byte more than bulk": {small, []tar.Header{file("flows.csv", bulk+1)}, "unpacks to more than"},
		"a byte more of two files": {
			large,
			[]tar.Header{file("ports.csv", 1), file("flows.csv", largestPoint)},
			"unpacks to more than",
		},
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
		if err := unpack(&b, c.size, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func newIdentity(t *testing.T) *Identity {
	t.Helper()
	key, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSealedMessages(t *testing.T) {
	honest, other := newIdentity(t), newIdentity(t)
	data, err := honest.seal("a.sign", []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := unseal(honest.public, "a.sign", data); err != nil || string(body) != "body" {
		t.Errorf("body %q, error %v", body, err)
	}
	changed := bytes.Replace(data, []byte("body"), []byte("bode"), 1)
	for name, c := range map[string]struct {
		key, context string
		data         []byte
	}{
		"another context": {honest.public, "a.proof", data}, "another key": {other.public, "a.sign", data},
		"no key":       {"x", "a.sign", data},
		"another body": {honest.public, "a.sign", changed},
		"cut":          {honest.public, "a.sign", data[:63]}, "nothing": {honest.public, "a.sign", nil},
	} {
		if _, err := unseal(c.key, c.context, c.data); !errors.Is(err, errSeal) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// newCoordinator returns a coordinator of some points that serves nobody yet, and its workers' keys.
func newCoordinator(t *testing.T, points int, workers ...string) (*Coordinator, map[string]*Identity) {
	t.Helper()
	r := &sweep.Runner{Points: make([]sweep.Point, points)}
	c := &Coordinator{
		ID: "x", n: "x", Private: t.TempDir(), Say: func(line string) { t.Log(line) },
		Runner: r, points: pointsOf(r), workers: map[string]*workerState{}, leases: map[int][]*lease{},
		failure: make(chan error, 1), making: make(chan struct{}, ownJobs),
	}
	if err := os.Mkdir(filepath.Join(c.Private, incomingFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.openState(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.state.Close() })
	keys := map[string]*Identity{}
	for _, id := range workers {
		keys[id] = newIdentity(t)
		c.workers[id] = &workerState{ID: id, Key: keys[id].public, Seen: time.Now()}
	}
	return c, keys
}

// TestNobodySpeaksForAnother checks that a joined worker's name has no effect with another key.
func TestNobodySpeaksForAnother(t *testing.T) {
	c, keys := newCoordinator(t, 1, "w-1")
	w, honest, impostor := c.workers["w-1"], keys["w-1"], newIdentity(t)
	refused := c.join(t.Context(), impostor.public, &hello{Worker: "w-1"}).(*welcome).Refused
	out := c.prove(t.Context(), impostor.public, &proof{Worker: "w-1"}).(*word).Out
	unknown := c.hear(t.Context(), impostor.public, &sign{Worker: "w-1", Running: []int{0}}).(*word).Unknown
	if !strings.Contains(refused, "another worker") || !strings.Contains(out, "another worker") || !unknown ||
		w.Out != "" || w.running != nil {
		t.Errorf("refused %q, out %q, unknown %v, the worker %+v", refused, out, unknown, w)
	}
	for range mostFailures {
		if got := c.take(t.Context(), impostor.public, &result{Worker: "w-1", Error: "lie"}).(*word); !got.Unknown ||
			c.points[0].Failures != 0 {
			t.Errorf("a result by the impostor: %+v, point %+v", got, c.points[0])
		}
	}
	if got := c.hear(t.Context(), honest.public, &sign{Worker: "w-1", Running: []int{0, 7, -1}}).(*word); got.Unknown ||
		len(w.running) != 1 {
		t.Errorf("the worker itself: %+v, running %q", got, w.running)
	}
}

// TestDamagedArchiveIsNobodysFault checks that an archive that differs from its worker's signature is sent again,
// without consequences for the worker or the point.
func TestDamagedArchiveIsNobodysFault(t *testing.T) {
	c, keys := newCoordinator(t, 1, "w-1")
	key := keys["w-1"].public
	piece := func(at uint64, data string) *word {
		body := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 0), at)
		return c.piece(t.Context(), key, append(body, data...)).(*word)
	}
	for _, data := range []string{"abd", "ab", "abcd"} { // signed is abc
		if got := piece(0, data); got.Have != int64(len(data)) {
			t.Errorf("%q: %+v", data, got)
		}
		sum := sha256.Sum256([]byte("abc"))
		got := c.take(t.Context(), key, &result{Worker: "w-1", Size: 3, Sum: hex.EncodeToString(sum[:])}).(*word)
		if w := c.workers["w-1"]; got.Again == "" || w.Out != "" || w.Failed != 0 || c.points[0].Failures != 0 ||
			len(c.leases[0]) != 1 {
			t.Errorf("%q: %+v, worker %+v, point %+v", data, got, w, c.points[0])
		}
	}
	// One that is what the worker has signed, but no archive, is the worker's fault.
	for at, data := range []string{"a", "b", "c"} {
		if got := piece(uint64(at), data); got.Have != int64(at+1) {
			t.Errorf("at %d: %+v", at, got)
		}
	}
	if got := piece(1, "x"); got.Have != 3 {
		t.Errorf("a piece that is there already: %+v", got)
	}
	if got := piece(math.MaxUint64, "x"); got.Have != 3 {
		t.Errorf("a piece at -1: %+v", got)
	}
	sum := sha256.Sum256([]byte("abc"))
	got := c.take(t.Context(), key, &result{Worker: "w-1", Size: 3, Sum: hex.EncodeToString(sum[:])}).(*word)
	if w := c.workers["w-1"]; got.Again != "" || w.Out == "" || len(c.leases[0]) != 0 {
		t.Errorf("%+v, worker %+v", got, w)
	}
	if left, err := os.ReadDir(filepath.Join(c.Private, incomingFolder)); err != nil || len(left) != 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	if got := piece(0, "x"); !got.Unwanted {
		t.Errorf("of a worker that is shut out: %+v", got)
	}
}

// TestNoWorkerKeepsAPoint checks that a worker that repeatedly reports to be making a point does not keep it from
// others.
func TestNoWorkerKeepsAPoint(t *testing.T) {
	c, keys := newCoordinator(t, 2, "slow", "good", "late")
	w := c.workers
	now := time.Now()
	for range c.points {
		if got := c.hear(t.Context(), keys["slow"].public, &sign{Worker: "slow", Running: []int{0, 1}}).(*word); got.Unknown {
			t.Fatal(got)
		}
	}
	if k := c.choose(w["good"], now); k != -1 {
		t.Errorf("at once: point %d", k)
	}
	later := now.Add(holdTime + time.Minute)
	for _, l := range [][]*lease{c.leases[0], c.leases[1]} {
		l[0].heard = later
	}
	if k := c.choose(w["good"], later); k != 0 {
		t.Errorf("later: point %d", k)
	}
	c.leaseOf(0, w["good"]).heard = later
	for name, want := range map[string]int{"slow": -1, "good": 1, "late": 1} {
		if k := c.choose(w[name], later); k != want {
			t.Errorf("of two that are overdue %s gets %d, want %d, which fewer make", name, k, want)
		}
	}
	c.took = []time.Duration{time.Second, time.Hour, 2 * time.Hour}
	if k := c.choose(w["late"], later); k != -1 {
		t.Errorf("where points take an hour: point %d", k)
	}
	if k := c.choose(w["late"], later.Add(leaseTime)); k != 0 {
		t.Errorf("where nothing was heard: point %d", k)
	}
}

// TestManyJoins checks that joining workers cost the coordinator one set of canaries, and that their number is limited.
func TestManyJoins(t *testing.T) {
	c, _ := newCoordinator(t, 1)
	var made atomic.Int64
	c.Runner.Plane = "wasm"
	c.Runner.Make = func(context.Context, *sweep.Job, engine.Progress) error { made.Add(1); return errors.New("none") }
	for i := range 100 {
		got := c.join(t.Context(), newIdentity(t).public, &hello{Worker: fmt.Sprintf("w-%d", i)}).(*welcome)
		if i == 0 && len(got.Canaries) == 0 {
			t.Fatal(got)
		}
		if i == 0 {
			c.audits.Wait()
			c.mu.Lock()
			c.sets[0].started = time.Now() // it was made
			c.mu.Unlock()
		}
	}
	c.audits.Wait()
	if made.Load() != 1 {
		t.Errorf("%d canaries are made", made.Load())
	}
	c.sets[0].sums = []string{"s"}
	var lines atomic.Int64
	c.Say = func(string) { lines.Add(1) }
	prove := func(id string, sum string) string {
		return c.prove(t.Context(), newIdentity(t).public,
			&proof{Worker: id, Set: c.sets[0].name, Sums: []string{sum}}).(*word).Out
	}
	for i := range mostWorkers {
		_ = prove(fmt.Sprintf("w-%d", i), "wrong")
	}
	if lines.Load() != mostStrange {
		t.Errorf("%d lines of workers that are shut out", lines.Load())
	}
	if out := prove("more", "s"); !strings.Contains(out, "its maximum") {
		t.Errorf("one more: %q", out)
	}
	c.workers["w-7"].Seen = time.Now().Add(-time.Minute)
	if out := prove("more", "s"); out != "" || c.workers["w-7"] != nil || len(c.workers) != mostWorkers {
		t.Errorf("where one is silent: %q, %d workers", out, len(c.workers))
	}
}

// TestNoMorePoints checks that a worker that asks for a point hears of the sweep's end: its sign of life may still wait
// for the answer of an earlier coordinator.
func TestNoMorePoints(t *testing.T) {
	w := &workerState{Key: "key"}
	c := &Coordinator{workers: map[string]*workerState{"w": w}}
	for taking, over := range []bool{true, false} {
		c.taking = taking
		if got := c.next(t.Context(), "key", &want{Worker: "w"}).(*word); got.Over != over || w.informed != over {
			t.Errorf("%d results are being taken: %+v, informed %v", taking, got, w.informed)
		}
	}
}

// TestTaskIsBounded checks that a task that unpacks to more than any point is refused.
func TestTaskIsBounded(t *testing.T) {
	data, err := (&task{Name: "p", Job: &sweep.Job{}}).pack()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readTask(data); err != nil || got.Name != "p" {
		t.Errorf("%+v, error %v", got, err)
	}
	data, err = (&task{Name: strings.Repeat("p", largestTask), Job: &sweep.Job{}}).pack()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readTask(data); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("error %v", err)
	}
}

// TestPrivateFolderIsAFolder checks that a file, or a link to a folder, is refused as private folder, whoever owns it.
func TestPrivateFolderIsAFolder(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link": func(path string) error { return os.Symlink(t.TempDir(), path) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, ".cluster")); err != nil {
			t.Fatal(err)
		}
		if _, err := PrivateFolder(dir); err == nil || !strings.Contains(err.Error(), "other users can access") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestCertificateIsAServers checks that the certificate is valid for the name by which workers call the coordinator,
// and only for a server.
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
	}{
		{"pausenet", x509.ExtKeyUsageServerAuth, true},
		{"pausenet", x509.ExtKeyUsageClientAuth, false},
		{"other", x509.ExtKeyUsageServerAuth, false},
	} {
		if _, err := certificate.Verify(x509.VerifyOptions{
			Roots: roots, DNSName: c.name,
			KeyUsages: []x509.ExtKeyUsage{c.use},
		}); (err == nil) != c.good {
			t.Errorf("%s, use %d: error %v", c.name, c.use, err)
		}
	}
}
