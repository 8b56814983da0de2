package lab

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestSentence checks which numbers of a sentence count, and which texts are no sentence.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"The queue is 470.8 KB long, after 12 us, in h13.":        "[470800]",
		"The queue is 470.8KB (DCQCN: 1.5 MB) and falls to 2e3 B": "[470800 1.5e+06 2000]",
		"Nothing but 12 frames, 3us and 12,5 KB of it":            "[]",
	} {
		if got := fmt.Sprint(quantities(text, measure.KindSize)); got != want {
			t.Errorf("%s: sizes %s, want %s", text, got, want)
		}
	}
	if got := fmt.Sprint(quantities("The port of h13 sent 12 PAUSE frames, 7 of them late.", measure.KindCount)); got != "[12 7]" {
		t.Errorf("counts %s", got)
	}
	c := Check{Tolerance: 0.03, Miss: 0.23, Row: measure.PublishedRow{Metric: "peak_egress"}}
	for text, want := range map[string]float64{
		"The longest queue under HPCC is 102 KB here.":           1,
		"The longest queue under HPCC is 113 KB here.":           0.5,
		"The longest queue is either 50 KB or 100 KB or 113 KB.": 1,
		"It is 100 KB.": 0,
		"The longest queue is 10 KB or 20 KB or 40 KB or 80 KB or 100 KB or 200 KB or 400 KB.": 0,
		"The longest queue under HPCC is rather long, I think.":                                0,
		"100 KB " + strings.Repeat("and more words follow ", 20):                               0,
	} {
		if _, got := c.judgeSentence(text, 100e3); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: credit %g, want %g", text, got, want)
		}
	}
}

// TestCounted checks the counters that students get against arithmetic: how many bytes the host at fault received, who
// sent PAUSE first, and that nothing else shows the incident. The counters of the practice exercise are up to date.
func TestCounted(t *testing.T) {
	e, err := Builtin("incident")
	if err != nil {
		t.Fatal(err)
	}
	practice, err := e.counted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "exercises/incident/start/counters.txt", string(practice))
	if e, err = e.WithTeacher(material(t)); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, student := range []string{"", "anna", "bert", "chen", "dora", "emil"} {
		of, err := e.For(student)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(of.ParameterText(), of.Parameters()); strings.Contains(text, "secret") {
			t.Errorf("%s: %s", student, text)
		}
		data, err := of.counted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		value := func(formula string) float64 {
			x, err := of.parameters.evaluate(formula)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		host := fmt.Sprintf("h%g", value("secret_host"))
		section := regexp.MustCompile(`(?s)# ` + host + `: ethtool -S\n.*?\n\n`).Find(data)
		counter := func(name string) float64 {
			found := regexp.MustCompile(`\b` + name + `: (\d+)`).FindSubmatch(section)
			if found == nil {
				t.Fatalf("%s: no %s of %s in\n%s", student, name, host, data)
			}
			x, _ := strconv.ParseFloat(string(found[1]), 64)
			return x
		}
		// Computed here: frames of 1082 B at the rate until the fault, 1058 B of each counted, and a third after it if
		// the NIC is slow.
		rate, start, window := value("rate"), value("secret_start"), value("window")
		want := rate * start / 8e9 * 1058 / 1082
		fault := value("secret_fault")
		if fault == 2 {
			want += rate / 3 * (window - start) / 8e9
		}
		if got := counter("rx_prio3_bytes"); math.Abs(got-want) > 0.04*want {
			t.Errorf("%s, fault %g: %s received %g B, want about %g", student, fault, host, got, want)
		}
		pauses, damaged := counter("tx_prio3_pause"), counter("rx_crc_errors_phy")
		if (pauses > 0) != (fault < 3) || (damaged > 0) != (fault == 3) {
			t.Errorf("%s, fault %g: %s sent %g PAUSE frames and received %g damaged ones", student, fault, host, pauses, damaged)
		}
		if lasted := (window - start) / 1000; fault == 1 && math.Abs(counter("tx_prio3_pause_duration")-lasted) > 0.02*lasted {
			t.Errorf("%s: %s paused its switch for %g us, want %g", student, host, counter("tx_prio3_pause_duration"), lasted)
		}
		kinds[fmt.Sprint(fault)] = true
	}
	if len(kinds) < 2 {
		t.Errorf("six students have incidents of the kinds %v", kinds)
	}
}

// TestPictures checks that a picture counts only if it shows the run, and that hostile files cost points alone.
func TestPictures(t *testing.T) {
	e, err := Builtin("figure")
	if err != nil {
		t.Fatal(err)
	}
	blank := image.NewGray(image.Rect(0, 0, 300, 200))
	for i := range blank.Pix {
		blank.Pix[i] = 0xff
	}
	var b bytes.Buffer
	if err := png.Encode(&b, blank); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"blank":     {b.Bytes(), "queue.png: no curve"},
		"no PNG":    {[]byte("GIF89a"), "queue.png: expected a PNG picture"},
		"cut off":   {b.Bytes()[:60], "queue.png: expected a PNG picture"},
		"too large": {make([]byte, 3<<20), "queue.png cannot be read"},
		"none":      {nil, "queue.png cannot be read"},
	} {
		folder := t.TempDir()
		if c.data != nil {
			if err := os.WriteFile(folder+"/queue.png", c.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := Submit(e, folder)
		run := &made{panels: []string{"Q"}, folder: t.TempDir()}
		rows := "panel,series,time_ns,value\n0,0,0,0\n0,0,1000,5\n0,0,2000,1\n"
		if err := os.WriteFile(run.folder+"/panels.csv", []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, credit := s.judgePicture(&Check{Picture: "queue.png", Panel: "Q"}, run); credit != 0 || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, credit %g", what, text, credit)
		}
	}
}
