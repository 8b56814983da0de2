//go:build linux

package live

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Metrics are written in Prometheus's text format by our own code. Prometheus's client library brings Protocol Buffers
// and a registry of counters, for values that a snapshot already has.

// metric describes a metric. Its samples also have the label fabric.
type metric struct {
	name, kind, help string
	labels           []string
}

// allMetrics holds the metrics in the order in which a scrape lists them.
var allMetrics []*metric

func gauge(name, help string, labels ...string) *metric { return declare("gauge", name, help, labels) }

func counter(name, help string, labels ...string) *metric {
	return declare("counter", name, help, labels)
}

func summary(name, help string, labels ...string) *metric {
	return declare("summary", name, help, labels)
}

func declare(kind, name, help string, labels []string) *metric {
	m := &metric{"pausenet_" + name, kind, help, append([]string{"fabric"}, labels...)}
	allMetrics = append(allMetrics, m)
	return m
}

// exposition holds the samples of one scrape.
type exposition struct {
	fabric  string
	samples map[*metric]*bytes.Buffer
}

// labelEscaper escapes a label's value.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// add adds a sample of a gauge or a counter, with the values of its metric's labels.
func (e *exposition) add(m *metric, value float64, labels ...string) {
	e.write(m, m.name, value, m.labels, labels)
}

// summarize adds the samples of a summary: its median, 99th percentile, sum and count.
func (e *exposition) summarize(m *metric, p50, p99, sum float64, count int64) {
	quantile := append(slices.Clone(m.labels), "quantile")
	e.write(m, m.name, p50, quantile, []string{"0.5"})
	e.write(m, m.name, p99, quantile, []string{"0.99"})
	e.write(m, m.name+"_sum", sum, m.labels, nil)
	e.write(m, m.name+"_count", float64(count), m.labels, nil)
}

func (e *exposition) write(m *metric, name string, value float64, names, values []string) {
	b := e.samples[m]
	if b == nil {
		b = &bytes.Buffer{}
		e.samples[m] = b
	}
	pairs := make([]string, len(names))
	for i, label := range names {
		text := e.fabric
		if i > 0 {
			text = values[i-1]
		}
		pairs[i] = label + `="` + labelEscaper.Replace(text) + `"`
	}
	slices.Sort(pairs)
	b.WriteString(name + "{" + strings.Join(pairs, ",") + "} ")
	b.Write(strconv.AppendFloat(b.AvailableBuffer(), value, 'g', -1, 64))
	b.WriteByte('\n')
}

// WriteTo implements io.WriterTo. Metrics without samples are left out.
func (e *exposition) WriteTo(w io.Writer) (written int64, err error) {
	for _, m := range allMetrics {
		b := e.samples[m]
		if b == nil {
			continue
		}
		n, err := io.WriteString(w, "# HELP "+m.name+" "+m.help+"\n# TYPE "+m.name+" "+m.kind+"\n")
		written += int64(n)
		if err == nil {
			var more int64
			more, err = b.WriteTo(w)
			written += more
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// respond writes the response to a scrape.
func (e *exposition) respond(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = e.WriteTo(w) // the client is gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = e.WriteTo(z)
	_ = z.Close()
}
