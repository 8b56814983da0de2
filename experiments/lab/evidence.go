package lab

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/experiments/lab/picture"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lazy"
)

// Evidence that a student hands in besides numbers: a sentence whose numbers are those of a run, a picture of a run's
// plot, and a run whose plot follows that of another.

// evidenceFile limits a student's picture or output.
var evidenceFile = files.Kind{Name: "a picture or output", Most: 2 << 20, Plain: true}

// Limits of a sentence: it is no list of all possible numbers.
const (
	leastWords  = 6
	mostWords   = 60
	mostNumbers = 6
)

// Correlations with a run's plot at which a picture has all points, and none.
const (
	fullLikeness = 0.97
	noLikeness   = 0.9
)

// resampled counts the values of a plot that are compared.
const resampled = 400

// written matches a number with its unit, if it has one.
var quantity = lazy.Regexp(`(?:^|[^\w.,])([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?: ?([A-Za-zµμ%]+))?`)

// sentence returns the reason why a text is no sentence to be graded; empty: it is one.
func sentence(text string) string {
	words, numbers := len(strings.Fields(text)), len(quantity().FindAllString(text, -1))
	switch {
	case words < leastWords || words > mostWords:
		return fmt.Sprintf("the sentence has %d words: write %d to %d", words, leastWords, mostWords)
	case numbers > mostNumbers:
		return fmt.Sprintf("the sentence has %d numbers, more than %d: name those that matter", numbers, mostNumbers)
	}
	return ""
}

// quantities returns the numbers of a kind in a sentence, in base units. Numbers without a unit are counts.
func quantities(text string, kind measure.Kind) (all []float64) {
	for _, found := range quantity().FindAllStringSubmatch(text, -1) {
		unit := found[2]
		if len(kind.UnitNames()) == 0 {
			unit = "" // "12 PAUSE frames"
		}
		if x, err := kind.Parse(found[1] + unit); err == nil {
			all = append(all, x)
		}
	}
	return all
}

// judgeSentence returns the credit for the number of a sentence that is nearest to the right one.
func (c *Check) judgeSentence(text string, is float64) (measured string, credit float64) {
	if why := sentence(text); why != "" {
		return why, 0
	}
	kind, _ := c.kind()
	all := quantities(text, kind)
	if len(all) == 0 {
		return fmt.Sprintf("the sentence has no %s", strings.TrimPrefix(kind.Name, "a ")), 0
	}
	nearest := slices.MinFunc(all, func(a, b float64) int {
		return int(math.Copysign(1, math.Abs(a-is)-math.Abs(b-is)))
	})
	credit = c.closeness(nearest, is)
	return "your sentence has " + kind.Text(nearest) + shared(credit), credit
}

// closeness returns the credit of a value by its distance from the right one.
func (c *Check) closeness(value, is float64) float64 {
	off, room := math.Abs(value-is), math.Abs(is)
	switch {
	case off <= c.Tolerance*room:
		return 1
	case off < c.Miss*room:
		return (c.Miss - off/room) / (c.Miss - c.Tolerance)
	}
	return 0
}

// panel returns the values of the first series of a run's plot at equal intervals; nil: the run has no such plot.
func (r *made) panel(title string) []float64 {
	at := slices.Index(r.panels, title)
	if at < 0 || r.folder == "" {
		return nil
	}
	var times []int64
	var values []float64
	err := rundir.Read(r.folder, rundir.Panels, func(row *rundir.PanelRow) error {
		if row.Panel == at && row.Series == 0 {
			times, values = append(times, row.Time), append(values, row.Value)
		}
		return nil
	})
	if err != nil || len(times) < 2 {
		return nil
	}
	even, k := make([]float64, resampled), 0
	for i := range even {
		t := times[0] + int64(float64(times[len(times)-1]-times[0])*float64(i)/(resampled-1))
		for k+1 < len(times) && times[k+1] <= t {
			k++
		}
		even[i] = values[k]
	}
	return even
}

// judgeOutput returns the credit of a value that a program printed.
func (s *Submission) judgeOutput(c *Check) (text string, credit float64) {
	data := s.evidence[c.Output]
	if data == nil {
		return "no " + c.Output + ": it is what a program on a live fabric prints", 0
	}
	v, err := printed(c.Value, data)
	if err != nil {
		return c.Output + ": " + err.Error(), 0
	}
	credit = c.closeness(v, *c.Is)
	return c.text(v) + shared(credit), credit
}

// printed returns a value of perftest's output, in bits per second or bytes, or the sum of a counter over the ports in
// lines of ethtool -S.
func printed(name string, data []byte) (float64, error) {
	if !slices.Contains([]string{"bandwidth", "bytes", "iterations"}, name) {
		found := regexp.MustCompile(`(?m)^\s*`+regexp.QuoteMeta(name)+`: (\d{1,18})\s*$`).FindAllSubmatch(data, -1)
		sum := 0.0
		for _, m := range found {
			x, _ := strconv.ParseFloat(string(m[1]), 64)
			sum += x
		}
		if found == nil {
			return 0, fmt.Errorf("no counter %s, as ethtool -S prints it", name)
		}
		return sum, nil
	}
	p, err := counters.ReadPerftest(data)
	switch {
	case err != nil:
		return 0, err
	case p.Server:
		return 0, errors.New("this is the server's output: the client has the results")
	}
	return map[string]float64{
		"bandwidth": p.Gigabits * 1e9, "bytes": float64(p.Bytes), "iterations": float64(p.Iterations),
	}[name], nil
}

// judgePicture returns the credit of a picture by its likeness to a run's plot.
func (s *Submission) judgePicture(c *Check, r *made) (text string, credit float64) {
	data := s.evidence[c.Picture]
	if data == nil {
		return c.Picture + " cannot be read", 0
	}
	values := r.panel(c.Panel)
	if values == nil {
		return fmt.Sprintf("nothing to compare with: the run has no plot %q", c.Panel), 0
	}
	likeness, err := picture.Likeness(data, values)
	if err != nil {
		return c.Picture + ": " + err.Error(), 0
	}
	credit = min(1, max(0, (likeness-noLikeness)/(fullLikeness-noLikeness)))
	return fmt.Sprintf("a curve whose correlation with the run's is %.2f", likeness) + shared(credit), credit
}

// judgePanel returns the credit of a run's plot by its distance from that of another run: the area between the two
// curves, in percent of the area below the other one.
func (c *Check) judgePanel(r, like *made) (text string, credit float64) {
	a, b := r.panel(c.Panel), like.panel(c.Panel)
	if a == nil || b == nil {
		return r.unmeasured(c, nil), 0
	}
	between, below := 0.0, 0.0
	for i := range a {
		between, below = between+math.Abs(a[i]-b[i]), below+math.Abs(b[i])
	}
	if below == 0 {
		return "nothing to compare with: the other curve is 0 throughout", 0
	}
	v := 100 * between / below
	credit = 1
	if v > *c.Most {
		credit = max(0, (*c.Zero-v)/(*c.Zero-*c.Most))
	}
	return fmt.Sprintf("%.1f %% between the curves", v) + shared(credit), credit
}
