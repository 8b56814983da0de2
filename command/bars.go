package command

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// How bars look, and how often they are drawn.
const (
	barWidth    = 18
	barInterval = 150 * time.Millisecond
)

// bars shows progress bars in the last lines of a terminal. What is written to it appears above them.
type bars struct {
	out   io.Writer
	size  func() (width, height int)
	end   chan struct{}
	drawn sync.WaitGroup // the goroutine that draws
	lines int            // on the screen; only the goroutine uses it

	mutex sync.Mutex
	shown []barLine
	last  barLine // below all others; nil for none
	above bytes.Buffer
}

// barLine represents the line of a bar. Several goroutines may call its methods.
type barLine interface {
	title() string
	part() float64 // from 0 to 1
	describe() string
}

// newBars returns bars for a terminal; nil for other outputs, and for terminals without cursor control.
func newBars(f *os.File) *bars {
	if !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return startBars(f, barInterval, func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return defaultWidth, 24
		}
		return width, height
	})
}

func startBars(out io.Writer, interval time.Duration, size func() (width, height int)) *bars {
	b := &bars{out: out, size: size, end: make(chan struct{})}
	b.drawn.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				b.draw(false)
			case <-b.end:
				b.draw(true)
				return
			}
		}
	})
	return b
}

// add adds a bar below the others.
func (b *bars) add(line barLine) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.shown = append(b.shown, line)
}

// pin sets the bar that stays below all others.
func (b *bars) pin(line barLine) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.last = line
}

// clear removes all bars from the screen.
func (b *bars) clear() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.shown, b.last = nil, nil
}

// remove removes a bar from the screen.
func (b *bars) remove(line barLine) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.shown = slices.DeleteFunc(b.shown, func(l barLine) bool { return l == line })
}

// Write implements io.Writer.
func (b *bars) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.above.Write(text)
}

// close draws the bars for the last time.
func (b *bars) close() {
	close(b.end)
	b.drawn.Wait()
}

// draw replaces the bars on the screen. If there are more bars than rows, it omits the first ones; the last draw shows
// all.
func (b *bars) draw(last bool) {
	width, height := b.size()
	b.mutex.Lock()
	shown := slices.Clone(b.shown)
	if b.last != nil {
		shown = append(shown, b.last)
	}
	above := bytes.Clone(b.above.Bytes())
	b.above.Reset()
	b.mutex.Unlock()
	if rows := height - 1; !last && len(shown) > rows {
		shown = shown[len(shown)-rows:]
	}
	var text bytes.Buffer
	if b.lines > 0 {
		fmt.Fprintf(&text, "\x1b[%dA\x1b[J", b.lines)
	}
	text.Write(above)
	widest := 0
	for _, l := range shown {
		widest = max(widest, utf8.RuneCountInString(l.title()))
	}
	for _, l := range shown {
		line := []rune(drawBar(l, widest))
		text.WriteString(string(line[:min(len(line), width-1)]) + "\n")
	}
	b.lines = len(shown)
	_, _ = b.out.Write(text.Bytes()) // a bar that cannot be shown is no failure
}

// drawBar returns a bar's line. Titles are padded to widest.
func drawBar(l barLine, widest int) string {
	text := ""
	if title := l.title(); title != "" {
		text = fmt.Sprintf("%-*s ", widest, title)
	}
	bar := strings.Repeat("=", int(math.Round(barWidth*min(1, max(0, l.part())))))
	if n := len(bar); n < barWidth {
		if n > 0 {
			bar = bar[:n-1] + ">"
		}
		bar += strings.Repeat("-", barWidth-n)
	}
	return text + "[" + bar + "]" + l.describe()
}
