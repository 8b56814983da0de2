package planefuzz_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

var caseFile = flag.String("planefuzz.case", "", "scenario file for TestReplay")

// report formats a failure with the data to reproduce it.
func report(c *testCase, r *result) string {
	var b strings.Builder
	for _, line := range append(r.differences, r.broken...) {
		for l := range strings.Lines(line) {
			fmt.Fprintf(&b, "# %s\n", strings.TrimRight(l, "\n"))
		}
	}
	b.WriteString("# Replay: go test ./internal/planefuzz -run TestReplay -v -planefuzz.case=$PWD/FILE\n")
	return b.String() + c.yaml()
}

func TestMain(m *testing.M) {
	testenv.CollectLess()
	m.Run()
}

// TestPlanes: the planes agree on a few random cases. A failure is made smaller by rapid.
func TestPlanes(t *testing.T) {
	testenv.NeedRoot(t)
	// Most of the time goes into fabrics: fewer of them than rapid's 100, unless the user has asked for a number.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("40"); err != nil {
			t.Fatal(err)
		}
	}
	pool := &pool{limit: 4}
	defer closePool(t, pool)
	rapid.Check(t, func(t *rapid.T) {
		d := chooser{fromRapid{t}}
		fabric := drawFabric(d)
		for range d.Int("cases", 1, 3) {
			c := drawCase(d, fabric)
			c.Hops = min(c.Hops, 5000)
			r, err := compareCase(c, pool)
			switch {
			case errors.Is(err, errEmpty):
			case err != nil:
				t.Fatal(err)
			case r.failed():
				t.Fatalf("the planes differ:\n%s", report(c, r))
			}
		}
	})
}

// TestTranslation: the pipelines as Go and the WebAssembly that they are translated from agree on random cases.
func TestTranslation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := chooser{fromRapid{t}}
		c := drawCase(d, drawFabric(d))
		c.Hops = min(c.Hops, 5000)
		err := fit(c)
		if errors.Is(err, errEmpty) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.scenario()
		if err != nil {
			t.Fatal(err)
		}
		if differ, err := compareWithReference(s); err != nil {
			t.Fatal(err)
		} else if len(differ) > 0 {
			t.Fatalf("the planes differ:\n%s", report(c, &result{differences: differ}))
		}
	})
}

// compareCase cuts a case to its length and runs it.
func compareCase(c *testCase, pool *pool) (*result, error) {
	if err := fit(c); err != nil {
		return nil, err
	}
	return compareFitted(c, pool)
}

func compareFitted(c *testCase, pool *pool) (*result, error) {
	s, err := c.scenario()
	if err != nil {
		return nil, err
	}
	return compare(s, pool, c.Tap, c.Wazero)
}

// TestReplay runs scenario files on both planes: the one of -planefuzz.case, which TestFuzz or anybody wrote, or else
// those in testdata, on which the planes once differed.
func TestReplay(t *testing.T) {
	testenv.NeedRoot(t)
	files := []string{*caseFile}
	if *caseFile == "" {
		var err error
		if files, err = filepath.Glob("testdata/*.yaml"); err != nil || files == nil {
			t.Fatal("no testdata", err)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(file, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := &pool{limit: 1}
	defer closePool(t, pool)
	for _, controller := range s.Controllers {
		s.Controllers = []string{controller}
		r, err := compare(s, pool, true, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: fingerprint %s, %d hops; %s", controller, r.fingerprint, r.hops, strings.Join(r.features, ", "))
		for _, d := range append(r.differences, r.broken...) {
			t.Error(d)
		}
	}
}

func closePool(t *testing.T, p *pool) {
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
