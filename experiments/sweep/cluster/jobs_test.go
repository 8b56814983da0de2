package cluster_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/search"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/experiments/sweep/cluster"
	"github.com/pausenet/pausenet/experiments/tune"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// searched is a family with cases of two causes in a star with too little headroom.
const searched = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 5}}
switch: {pfc: {xoff: 20KB, headroom: 5KB}}
controllers: [none]
expect_unused: [controller]
duration: 200us
drain: true
sample: {interval: 100us, flows: none}
search:
  objective: {metric: lossless_drops, under: none, at_least: 1}
  flows: [{count: 2..4, from: all, to: [h0, h1], size: 20KB..60KB, start: 0us..10us}]
  faults: [{count: 0..1, links: hosts, at: 5us..50us, with: {loss: 1%}}]
  budget: 20
`

// explained is a family with cases that do not fail, so that the search asks for their causes.
const explained = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
controllers: [none, dcqcn]
expect_unused: [controller, pfc]
duration: 200us
drain: true
sample: {interval: 100us, flows: none}
search:
  objective: {metric: slowdown_mean, under: dcqcn, at_least: 1.2}
  flows: [{count: 2..3, from: all, to: h0, size: 20KB..60KB, start: 0us..5us}]
  budget: 6
`

const tuned = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {ecn: {mode: red, kmin: 1KB, kmax: 100KB, pmax: 1}}
controllers: [dcqcn]
flows: [{from: h1..h3, to: h0, size: 100KB, jitter: 10us}]
duration: 300us
drain: true
sample: {interval: 100us, flows: none}
tune:
  under: dcqcn
  objective: {metric: fct_mean}
  vary: {switch.ecn.kmin: 1KB..90KB log}
  seeds: 1..2
  holdout: {seeds: [11, 12]}
  budget: 6
`

// exploring makes a search or a tuning in the folder "out" of the working directory.
type exploring func(ctx context.Context, o explore.Options) error

// explored returns the files of a search or tuning that this machine makes, and a lab whose workers can make it.
func explored(t *testing.T, identity string, do exploring) (map[string]string, *lab) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := do(t.Context(), explore.Options{Folder: "out", Jobs: 2, Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	return results(t), &lab{t: t, id: identity[:cluster.IDLength]}
}

// results returns the files of a search or tuning, without the journal, whose order depends on the machine.
func results(t *testing.T) map[string]string {
	t.Helper()
	all := tree(t, "out")
	delete(all, explore.JournalName)
	if len(all) < 2 {
		t.Fatalf("only %v", all)
	}
	return all
}

// lend makes it by workers, in a new folder.
func (l *lab) lend(do exploring) *served {
	l.t.Helper()
	l.t.Chdir(l.t.TempDir())
	return l.coordinate("out", 1, func(ctx context.Context, c *cluster.Coordinator, conn *nats.Conn) error {
		end, err := c.Open(ctx, conn)
		if err != nil {
			return err
		}
		err = do(ctx, explore.Options{Folder: "out", Jobs: 16, Version: "v1", Elsewhere: c})
		return errors.Join(err, end())
	})
}

// TestSearch checks that a search by workers equals that of one machine, although a worker begins to lie, and another
// one is killed.
func TestSearch(t *testing.T) {
	family, err := search.Parse("family.yaml", []byte(searched))
	if err != nil {
		t.Fatal(err)
	}
	do := func(ctx context.Context, o explore.Options) error {
		_, err := family.Search(ctx, o)
		return err
	}
	want, l := explored(t, family.Identity("v1"), do)
	l.lease = 5 * time.Second
	s := l.lend(do)
	first := true
	liar := s.worker(t.Context(), "later", "b1", func(ctx context.Context, job *sweep.Job, p engine.Progress) error {
		if first = first && !strings.Contains(job.Directory, "point"); first {
			return honest(ctx, job, p)
		}
		return lie(ctx, job, p, "lossless_frames")
	})
	if err := <-liar; !errors.Is(err, cluster.ErrOut) {
		t.Errorf("the liar: %v", err)
	}
	s.killed()
	s.worker(t.Context(), "good", "b1", honest)
	s.await()
	if got := results(t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	journal, err := os.ReadFile(filepath.Join("out", explore.JournalName))
	if err != nil || !strings.Contains(string(journal), `"without":["later-`) {
		t.Errorf("the liar's runs are in the journal: %v\n%s", err, journal)
	}
}

// TestExplained checks that a search whose cases need the record of causes, and a tuning, equal those of one machine.
func TestExplained(t *testing.T) {
	family, err := search.Parse("family.yaml", []byte(explained))
	if err != nil {
		t.Fatal(err)
	}
	tuning, err := tune.Parse("tuned.yaml", []byte(tuned))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		identity string
		do       exploring
	}{
		{family.Identity("v1"), func(ctx context.Context, o explore.Options) error {
			r, err := family.Search(ctx, o)
			if err == nil && (len(r.Cases) == 0 || strings.HasPrefix(r.Cases[0].Cause, "verdict")) {
				t.Errorf("cases without a recorded cause: %+v", r.Cases)
			}
			return err
		}},
		{tuning.Identity("v1"), func(ctx context.Context, o explore.Options) error {
			_, err := tuning.Tune(ctx, o)
			return err
		}},
	} {
		want, l := explored(t, c.identity, c.do)
		s := l.lend(c.do)
		for _, name := range []string{"a", "b"} {
			s.worker(t.Context(), name, "b1", honest)
		}
		s.await()
		if got := results(t); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
