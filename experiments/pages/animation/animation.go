package animation

import (
	"bytes"
	"cmp"
	"fmt"
	"image/png"
	"math"
	"time"

	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/vtime"
)

// Options selects the content of a picture. Nil and zero choose the default.
type Options struct {
	From, To *vtime.Time   // virtual time; default: around PAUSE, or the whole run
	Length   time.Duration // of the animation; default: DefaultLength
	Width    int           // in pixels; default: 960 for two runs, 640 for one
	Rate     int           // frames per second; default: DefaultRate
}

// Defaults and limits of Options.
const (
	DefaultLength = 12 * time.Second
	DefaultRate   = 12
	LeastWidth    = 320
	MostWidth     = 1920
	MostRate      = 50 // browsers slow faster ones down
	// MostRuns limits the number of runs drawn side by side.
	MostRuns = 2

	mostLength = 10 * time.Minute
	mostBytes  = 1 << 29 // of all frames, at one byte per pixel
)

// Result holds an encoded picture and the span of time that it shows.
type Result struct {
	Data     []byte
	From, To vtime.Time // the same for a PNG
	Frames   int
}

// Check returns an error if an option is out of its range. Times are checked when there are runs to draw.
func (o *Options) Check() error {
	switch {
	case o.Width != 0 && (o.Width < LeastWidth || o.Width > MostWidth):
		return fmt.Errorf("width %d: use %d to %d pixels", o.Width, LeastWidth, MostWidth)
	case o.Rate < 0 || o.Rate > MostRate:
		return fmt.Errorf("%d frames a second: use 1 to %d", o.Rate, MostRate)
	case o.Length < 0 || o.Length > mostLength:
		return fmt.Errorf("length %v: use at most %v", o.Length, mostLength)
	case o.From != nil && o.To != nil && *o.From >= *o.To:
		return fmt.Errorf("it begins at %v and ends at %v: use an end after the begin", *o.From, *o.To)
	}
	return nil
}

// GIF draws runs, each a replay of package replay, over an interval of virtual time. Unless the options choose the
// time, the animation starts in the middle, where most ports are paused: previews show its first frame.
func GIF(title string, runs [][]byte, o Options) (*Result, error) {
	s, err := newScene(title, runs, &o)
	if err != nil {
		return nil, err
	}
	length, rate := cmp.Or(o.Length, DefaultLength), cmp.Or(o.Rate, DefaultRate)
	n := max(2, int(math.Round(length.Seconds()*float64(rate))))
	if size := s.size(); n > mostBytes/(size.X*size.Y) {
		return nil, fmt.Errorf("%d frames of %d by %d pixels are too many: lower the width, the frames a "+
			"second or the length", n, size.X, size.Y)
	}
	s.perSecond = (s.to - s.from) / length.Seconds()
	s.prepare((s.to - s.from) / float64(n-1))
	at := func(i int) float64 { return s.from + (s.to-s.from)*float64(i)/float64(n-1) }
	first := 0
	if o.From == nil && o.To == nil {
		first = s.poster(n, at)
	}
	var g movie
	for k := range n {
		shutdown.Alive()
		i := (first + k) % n
		delay := 100*(i+1)/rate - 100*i/rate
		if i == n-1 {
			delay += lastStays
		}
		g.add(s.frame(at(i)), delay)
	}
	data, err := g.encode()
	return &Result{data, nanoseconds(s.from), nanoseconds(s.to), n}, err
}

// PNG draws runs at one moment: Options.From, or where most ports are paused.
func PNG(title string, runs [][]byte, o Options) (*Result, error) {
	s, err := newScene(title, runs, &Options{From: o.From, Width: o.Width})
	if err != nil {
		return nil, err
	}
	at := s.from
	if o.From == nil {
		at = s.busiest()
	} else {
		s.from, s.to = s.around(at)
	}
	s.prepare(s.runs[0].Interval)
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, quantized(s.frame(at)))
	return &Result{b.Bytes(), nanoseconds(at), nanoseconds(at), 1}, err
}

// newScene decodes runs and computes the layout.
func newScene(title string, runs [][]byte, o *Options) (*scene, error) {
	if len(runs) == 0 || len(runs) > MostRuns {
		return nil, fmt.Errorf("%d runs: a picture has room for 1 to %d", len(runs), MostRuns)
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &scene{title: title}
	for _, packed := range runs {
		decoded, err := replay.Decode(packed)
		if err != nil {
			return nil, err
		}
		r, err := newRun(decoded)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, r)
	}
	s.column = wideColumn
	if len(runs) > 1 {
		s.column = narrowColumn
	}
	s.scale = float64(cmp.Or(o.Width, int(s.width()))) / s.width()
	s.choosePanel()
	return s, s.chooseInterval(o.From, o.To)
}
