package main

import (
	"strings"
	"testing"
	"time"
)

// events is what go test -json prints of five packages: one passes, one fails with a test that fails and one that
// passes, one crashes within a test, one has no tests, and one does not build. A program has written a line between.
const events = `{"Action":"start","Package":"m/good"}
{"Action":"start","Package":"m/bad"}
{"Action":"output","Package":"m/good","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"m/bad","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"m/bad","Test":"TestB/one","Output":"    b_test.go:3: quiet\n"}
{"Action":"pass","Package":"m/bad","Test":"TestB/one"}
{"Action":"output","Package":"m/bad","Test":"TestB/two","Output":"    b_test.go:4: got 1, want 2\n"}
{"Action":"fail","Package":"m/bad","Test":"TestB/two"}
{"Action":"fail","Package":"m/bad","Test":"TestB"}
{"Action":"output","Package":"m/bad","Output":"FAIL\tm/bad\t0.1s\n"}
{"Action":"fail","Package":"m/bad"}
a program's line
{"Action":"pass","Package":"m/good","Test":"TestA"}
{"Action":"output","Package":"m/good","Output":"PASS\n"}
{"Action":"output","Package":"m/good","Output":"ok  \tm/good\t0.2s\n"}
{"Action":"pass","Package":"m/good"}
{"Action":"start","Package":"m/crash"}
{"Action":"output","Package":"m/crash","Test":"TestC","Output":"panic: oh\n"}
{"Action":"output","Package":"m/crash","Output":"FAIL\tm/crash\t0.3s\n"}
{"Action":"fail","Package":"m/crash"}
{"Action":"output","Package":"m/none","Output":"?   \tm/none\t[no test files]\n"}
{"Action":"skip","Package":"m/none"}
{"ImportPath":"m/broken","Action":"build-output","Output":"broken.go:1:1: syntax error\n"}
{"Action":"fail","Package":"m/broken"}
`

func TestProgressPrintsResultsAndFailures(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, time.Now)
	if err := p.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	const want = `building the test programs
=== RUN   TestB
    b_test.go:4: got 1, want 2
FAIL	m/bad	0.1s
a program's line
ok  	m/good	0.2s
panic: oh
FAIL	m/crash	0.3s
?   	m/none	[no test files]
broken.go:1:1: syntax error
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestProgressNamesRunningPackages(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := newProgress(&out, func() time.Time { return now })
	for at := range 25 {
		now = time.Unix(int64(at), 0)
		if at == 12 {
			if err := p.read(strings.NewReader(events[:strings.Index(events, "{\"Action\":\"output")])); err != nil {
				t.Fatal(err)
			}
		}
		p.tick()
	}
	const want = "building the test programs\n10s: 0 packages done, compiling\n" +
		"20s: 0 packages done, running: good, bad\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
