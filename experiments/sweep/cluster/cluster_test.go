package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/experiments/sweep/cluster"
	"github.com/pausenet/pausenet/experiments/sweep/cluster/embedded"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

const swept = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 30KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.5}}
flows: [{from: h0..h2, to: h3, size: 100KB}]
duration: 100us
drain: true
expect_unused: [pfc, ecn, controller]
`

// most limits how long anything may take, on a slow machine.
const most = testenv.Hung

// lab holds a sweep of eight points, made on this machine, and the data to repeat it in another folder.
type lab struct {
	t      *testing.T
	sweep  *sweep.Sweep
	points []sweep.Point
	local  string
	id     string
	lease  time.Duration // as Coordinator.Lease
	hold   time.Duration // as Coordinator.Hold
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "swept.yaml")
	if err := os.WriteFile(path, []byte(swept), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, local: filepath.Join(dir, "local"), sweep: &sweep.Sweep{
		Name: "lab", Scenarios: []string{path}, Controllers: []string{"dcqcn", "none"}, Seeds: []uint64{1, 2},
		Parameters: []sweep.Parameter{{Path: "flows.0.size", Values: []string{"60KB", "100KB"}}},
	}}
	var err error
	if l.points, err = l.sweep.Points(2); err != nil {
		t.Fatal(err)
	}
	r := l.runner(l.local)
	outcomes := r.Run(t.Context())
	if err := errors.Join(sweep.Err(l.points, outcomes), l.sweep.Write(l.local, r, outcomes, nil)); err != nil {
		t.Fatal(err)
	}
	l.id = l.sweep.Plan(r).Hash()[:cluster.IDLength]
	return l
}

func (l *lab) runner(dir string) *sweep.Runner {
	return &sweep.Runner{
		Points: l.points, Jobs: 2, Make: honest, Common: sweep.Common{
			Within: dir, Plane: plane.Wasm, Version: "v1", Build: "b1", Command: "pausenet sweep swept.yaml",
		},
	}
}

func honest(ctx context.Context, job *sweep.Job, progress engine.Progress) error {
	return job.Run(ctx, nil, progress)
}

// liar makes points like a program with another constant: its results are complete, but wrong.
func liar(ctx context.Context, job *sweep.Job, progress engine.Progress) error {
	return lie(ctx, job, progress, "pipeline_passes")
}

// lie makes points with another value of a counter of the summary.
func lie(ctx context.Context, job *sweep.Job, progress engine.Progress, counter string) error {
	if err := job.Run(ctx, nil, progress); err != nil {
		return err
	}
	path := filepath.Join(job.Directory, rundir.SummaryFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data = bytes.Replace(data, fmt.Appendf(nil, "%q: ", counter), fmt.Appendf(nil, "%q: 1", counter), 1)
	folder, err := files.OpenFolder(job.Directory, job.Directory)
	if err != nil {
		return err
	}
	defer folder.Close()
	return errors.Join(folder.Write(rundir.SummaryFile, data), rundir.WriteSums(folder))
}

// served holds a running coordinator, with its server.
type served struct {
	*lab
	dir     string
	private string
	access  *cluster.Access
	stop    context.CancelFunc
	ended   chan error

	mu   sync.Mutex
	said []string
}

func (l *lab) serve(dir string, audit float64) *served {
	l.t.Helper()
	return l.coordinate(dir, audit, func(ctx context.Context, c *cluster.Coordinator, conn *nats.Conn) error {
		outcomes, err := c.Run(ctx, conn)
		if err == nil && ctx.Err() == nil {
			err = errors.Join(sweep.Err(l.points, outcomes), l.sweep.Write(dir, c.Runner, outcomes, nil))
		}
		return err
	})
}

// coordinate calls do with a coordinator that is connected.
func (l *lab) coordinate(dir string, audit float64,
	do func(context.Context, *cluster.Coordinator, *nats.Conn) error,
) *served {
	l.t.Helper()
	s := &served{lab: l, dir: dir, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(l.t.Context())
	s.stop = stop
	var err error
	if s.private, err = cluster.PrivateFolder(dir); err != nil {
		l.t.Fatal(err)
	}
	secrets, err := cluster.LoadSecrets(s.private)
	if err != nil {
		l.t.Fatal(err)
	}
	port, end, err := embedded.Start(fmt.Sprintf("127.0.0.1:%d", secrets.Port), l.id, secrets)
	if err != nil {
		l.t.Fatal(err)
	}
	secrets.Port = port
	address := fmt.Sprintf("127.0.0.1:%d", port)
	key, err := secrets.Identity()
	if err != nil {
		l.t.Fatal(err)
	}
	if s.access, err = secrets.Access(s.private, l.id, []string{address}); err != nil {
		l.t.Fatal(err)
	}
	if err := secrets.Save(s.private); err != nil {
		l.t.Fatal(err)
	}
	conn, err := secrets.ConnectCoordinator(address)
	if err != nil {
		l.t.Fatal(err)
	}
	go func() {
		c := &cluster.Coordinator{
			Runner: l.runner(dir), ID: l.id, Key: key, Private: s.private, Audit: audit, Lease: l.lease,
			Hold: l.hold, Say: s.say,
		}
		err := do(ctx, c, conn)
		conn.Close()
		end()
		if ctx.Err() != nil { // the test has stopped it
			err = nil
		}
		s.ended <- err
	}()
	return s
}

func (s *served) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, line)
	s.t.Log(line)
}

func (s *served) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.said, "\n"), text)
}

// listens waits until the coordinator answers workers.
func (s *served) listens() {
	s.t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		if _, err := cluster.ReadStatus(s.dir); err == nil {
			return
		} else if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

// await waits for the coordinator's end.
func (s *served) await() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Fatal(err)
		}
	case <-time.After(most):
		s.t.Fatalf("the coordinator does not end: %q", s.said)
	}
}

// worker starts one, and says how it ended.
func (s *served) worker(ctx context.Context, name, build string, make maker) chan error {
	s.t.Helper()
	key, err := cluster.NewIdentity()
	if err != nil {
		s.t.Fatal(err)
	}
	ended := newErrors()
	join, err := os.ReadFile(filepath.Join(s.private, cluster.JoinFile))
	if err != nil {
		s.t.Fatal(err)
	}
	access, err := cluster.ParseJoin(string(join))
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	go func() {
		conn, err := access.Connect(name, key)
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		h := &cluster.Worker{
			Name: name, Key: key, ID: access.ID, Coordinator: access.Coordinator, Jobs: 1, Processors: 1, Directory: dir,
			Version: "v1", Build: build, Timeout: most, Make: make,
			Say: func(line string) { s.t.Log(name + ": " + line) },
		}
		_, err = h.Run(ctx, conn)
		ended <- err
	}()
	return ended
}

// maker makes a point.
type maker = func(context.Context, *sweep.Job, engine.Progress) error

func newErrors() chan error { return make(chan error, 1) }

// equal compares the folder with the local sweep's: every file but times.csv.
func (s *served) equal() {
	s.t.Helper()
	want, got := tree(s.t, s.local), tree(s.t, s.dir)
	for name, sum := range want {
		if got[name] != sum {
			s.t.Errorf("%s is not the local sweep's", name)
		}
	}
	if len(got) != len(want) || len(want) < 8*8 {
		s.t.Errorf("%d files, and the local sweep has %d", len(got), len(want))
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".cluster" {
			return fs.SkipDir
		}
		if d.IsDir() || d.Name() == sweep.TimesFile || d.Name() == files.LockName {
			return nil
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		name, _ := filepath.Rel(dir, path)
		sums[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestCluster checks that results of workers equal those of a local sweep, byte for byte, and that each point is
// audited.
func TestCluster(t *testing.T) {
	l := newLab(t)
	s := l.serve(t.TempDir(), 1)
	var all []chan error
	var joined sync.WaitGroup // a worker that joins after the last point was made would ask in vain
	joined.Add(3)
	for i := range 3 {
		once := sync.OnceFunc(joined.Done)
		all = append(all, s.worker(t.Context(), fmt.Sprintf("w%d", i), "b1",
			func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
				if !strings.Contains(job.Directory, "canary") {
					once()
					joined.Wait()
				}
				return honest(ctx, job, p)
			}))
	}
	s.await()
	s.equal()
	for i, ended := range all {
		if err := <-ended; err != nil {
			t.Errorf("worker %d: %v", i, err)
		}
	}
	status, err := cluster.ReadStatus(s.dir)
	if err != nil || status.Made != 8 || status.Audited != 8 || !status.Over {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestLiars checks that a worker of another build is refused, that one with different results fails its canaries, that
// one that starts to lie later is found by an audit, and that all its points are repeated. Each is named.
func TestLiars(t *testing.T) {
	l := newLab(t)
	s := l.serve(t.TempDir(), 1)
	if err := <-s.worker(t.Context(), "old", "b0", honest); !errors.Is(err, cluster.ErrRefused) ||
		!strings.Contains(err.Error(), "another build of pausenet v1") {
		t.Errorf("a worker of another build: %v", err)
	}
	if err := <-s.worker(t.Context(), "wrong", "b1", liar); !errors.Is(err, cluster.ErrOut) ||
		!strings.Contains(err.Error(), "canaries") {
		t.Errorf("a worker that computes something else: %v", err)
	}
	later := s.worker(t.Context(), "later", "b1", func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
		if strings.Contains(job.Directory, "canary") {
			return honest(ctx, job, p)
		}
		return liar(ctx, job, p)
	})
	if err := <-later; !errors.Is(err, cluster.ErrOut) {
		t.Errorf("a worker that lies of points: %v", err)
	}
	s.worker(t.Context(), "good", "b1", honest)
	s.await()
	s.equal()
	for _, want := range []string{"worker old-", "worker wrong-", "worker later-"} {
		if !s.has(want) {
			t.Errorf("no line of %s: %q", want, s.said)
		}
	}
	times, err := os.ReadFile(filepath.Join(s.dir, sweep.TimesFile))
	if err != nil || strings.Contains(string(times), "later") || strings.Contains(string(times), "wrong") {
		t.Errorf("%v\n%s", err, times)
	}
}

// blocked returns a maker that makes canaries and then, having said so, nothing until its context ends.
func blocked(started chan<- struct{}) maker {
	return func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
		if strings.Contains(job.Directory, "canary") {
			return honest(ctx, job, p)
		}
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}

// TestSilentWorker: a point of a worker that is silent is made by another.
func TestSilentWorker(t *testing.T) {
	l := newLab(t)
	l.lease = 5 * time.Second
	s := l.serve(t.TempDir(), 0)
	s.killed()
	s.worker(t.Context(), "good", "b1", honest)
	s.await()
	s.equal()
}

// killed starts a worker, waits until it has two points, and cuts its connection.
func (s *served) killed() {
	t := s.t
	t.Helper()
	key, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.access.Connect("silent", key)
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}, 2), newErrors()
	go func() {
		h := &cluster.Worker{
			Name: "silent", Key: key, ID: s.id, Coordinator: s.access.Coordinator, Jobs: 2, Processors: 1,
			Directory: t.TempDir(),
			Version:   "v1", Build: "b1", Timeout: most, Make: blocked(started), Say: func(string) {},
		}
		_, err := h.Run(t.Context(), conn)
		ended <- err
	}()
	<-started
	<-started
	conn.Close()
	if err := <-ended; !errors.Is(err, cluster.ErrAway) {
		t.Error(err)
	}
}

// TestSlowWorker checks that a point that a worker never finishes, although it reports to be working on it, is made by
// another.
func TestSlowWorker(t *testing.T) {
	l := newLab(t)
	l.hold = time.Millisecond
	s := l.serve(t.TempDir(), 0)
	started := make(chan struct{}, 1)
	slow := s.worker(t.Context(), "slow", "b1", blocked(started))
	<-started
	s.worker(t.Context(), "good", "b1", honest)
	s.await()
	s.equal()
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// TestFailuresAreNoWordToRelyOn checks that a worker that reports every point as failed does not end the sweep: the
// coordinator makes the points itself.
func TestFailuresAreNoWordToRelyOn(t *testing.T) {
	s := newLab(t).serve(t.TempDir(), 0)
	s.worker(t.Context(), "fails", "b1", func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
		if strings.Contains(job.Directory, "canary") {
			return honest(ctx, job, p)
		}
		return errors.New("a\x1b[2J lie")
	})
	s.await()
	s.equal()
	if s.has("\x1b") || !s.has("lie (worker fails-") {
		t.Errorf("said %q", s.said)
	}
}

// TestDamagedState checks that unreadable lines of the state do not end the sweep. Points without a line are repeated,
// because an excluded worker may have made them.
func TestDamagedState(t *testing.T) {
	for text, kept := range map[string]int{"": 8, "{\"point\":0,\"sta": 0, "\x00\x01\n{}\n": 0} {
		l := newLab(t)
		dir := t.TempDir()
		if err := sweep.Err(l.points, l.runner(dir).Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		private, err := cluster.PrivateFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(private, "state.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := l.serve(dir, 0)
		if kept == 0 {
			s.worker(t.Context(), "good", "b1", honest)
		}
		s.await()
		s.equal()
		if status, err := cluster.ReadStatus(dir); err != nil || status.Kept != kept {
			t.Errorf("%q: %+v, error %v", text, status, err)
		}
	}
}

// TestResume stops a worker in the middle of a point, and restarts the coordinator. Each point is made once, and the
// workers stay connected.
func TestResume(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	s := l.serve(dir, 0)
	gate, started := make(chan struct{}), make(chan struct{}, 100)
	slow := func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
		if !strings.Contains(job.Directory, "canary") {
			started <- struct{}{}
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return honest(ctx, job, p)
	}
	stays := s.worker(t.Context(), "stays", "b1", slow)
	goes, end := context.WithCancel(t.Context())
	ended := s.worker(goes, "goes", "b1", slow)
	<-started
	<-started
	end() // with a point in its hands, which another gets
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	gate <- struct{}{} // one point is made
	<-started
	for deadline := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		if status, err := cluster.ReadStatus(dir); err == nil && status.Made == 1 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", status, err)
		}
	}
	s.stop() // the coordinator dies
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	close(gate)
	again := l.serve(dir, 0)
	if again.access.Join() != s.access.Join() {
		t.Error("the join string is another one")
	}
	again.await()
	again.equal()
	if err := <-stays; err != nil {
		t.Error(err)
	}
}

// plainServer starts a NATS server without any access control.
func plainServer(t *testing.T) (url string) {
	t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(most) {
		t.Fatal("the server does not come up")
	}
	return n.ClientURL()
}

// connect connects to a server with a new key.
func connect(t *testing.T, url string) (*nats.Conn, *cluster.Identity) {
	t.Helper()
	key, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := cluster.ConnectURL(url, "", "test", key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, key
}

// TestExisting checks that an existing NATS server works as well.
func TestExisting(t *testing.T) {
	l := newLab(t)
	url := plainServer(t)
	s := &served{lab: l, dir: t.TempDir()}
	var err error
	if s.private, err = cluster.PrivateFolder(s.dir); err != nil {
		t.Fatal(err)
	}
	coordinator, coordinatorKey := connect(t, url)
	worker, key := connect(t, url)
	ended := newErrors()
	go func() {
		h := &cluster.Worker{
			Name: "w", Key: key, ID: l.id, Coordinator: coordinatorKey.Public(), Jobs: 2, Processors: 1, Directory: t.TempDir(),
			Version: "v1", Build: "b1", Timeout: most, Make: honest, Say: func(line string) { t.Log(line) },
		}
		_, err := h.Run(t.Context(), worker)
		ended <- err
	}()
	r := l.runner(s.dir)
	c := &cluster.Coordinator{Runner: r, ID: l.id, Key: coordinatorKey, Private: s.private, Say: s.say}
	outcomes, err := c.Run(t.Context(), coordinator)
	if err := errors.Join(err, sweep.Err(l.points, outcomes), l.sweep.Write(s.dir, r, outcomes, nil)); err != nil {
		t.Fatal(err)
	}
	s.equal()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestForgedAnswers checks that a worker ignores answers signed by another key than its coordinator's, on a server that
// lets everybody answer.
func TestForgedAnswers(t *testing.T) {
	url := plainServer(t)
	forger, forged := connect(t, url)
	_, coordinator := connect(t, url)
	conn, key := connect(t, url)
	asked := make(chan struct{}, 100)
	if _, err := forger.Subscribe("pausenet.>", func(m *nats.Msg) {
		asked <- struct{}{}
		_ = m.Respond(forged.Seal(m.Data, []byte(`{"out":"forged","refused":"forged","over":true}`)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := forger.Flush(); err != nil {
		t.Fatal(err)
	}
	h := &cluster.Worker{
		Name: "w", Key: key, ID: "0123456789abcdef", Coordinator: coordinator.Public(), Jobs: 1, Processors: 1,
		Directory: t.TempDir(),
		Version:   "v1", Build: "b1", Timeout: 0, Say: func(string) {},
	}
	if _, err := h.Run(t.Context(), conn); !errors.Is(err, cluster.ErrAway) || strings.Contains(err.Error(), "forged") ||
		len(asked) == 0 {
		t.Errorf("error %v, asked %d", err, len(asked))
	}
	h.Coordinator = forged.Public()
	if _, err := h.Run(t.Context(), conn); !errors.Is(err, cluster.ErrRefused) {
		t.Errorf("by its coordinator: error %v", err)
	}
}
