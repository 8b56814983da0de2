//go:build linux

package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// dashboard holds the fields of a Grafana dashboard that the test reads.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query json.RawMessage
		}
	}
}

// monitor runs a Prometheus of its own that scrapes a fabric, and returns its address.
func monitor(t *testing.T, metrics string) string {
	t.Helper()
	if _, err := exec.LookPath("prometheus"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("prometheus is not installed: CI must have it")
		}
		t.Skip("prometheus is not installed: the dashboard goes unchecked")
	}
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "scrape_configs: [{job_name: pausenet, scrape_interval: 1s, "+
		"scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]\n", metrics), 0o600))
	p := exec.Command("prometheus", "--config.file", config, "--storage.tsdb.path", filepath.Join(folder, "data"),
		"--web.listen-address", address)
	var said strings.Builder
	p.Stdout, p.Stderr = &said, &said
	must(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	until(t, "Prometheus is ready", func() bool {
		r, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return address
}

// ask has Prometheus answer a query now: the values it finds.
func query(t *testing.T, address, expression string) (values []string) {
	t.Helper()
	r, err := http.Get("http://" + address + "/api/v1/query?" + url.Values{"query": {expression}}.Encode())
	must(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	must(t, err)
	var answer struct {
		Status string
		Data   struct{ Result []struct{ Value [2]any } }
	}
	must(t, json.Unmarshal(body, &answer))
	if answer.Status != "success" {
		t.Fatalf("%s\n%s", expression, body)
	}
	for _, v := range answer.Data.Result {
		values = append(values, fmt.Sprint(v.Value[1]))
	}
	return values
}

// TestDashboard checks that a real Prometheus accepts every query of the Grafana dashboard, and that each has an answer
// when its data exist.
func TestDashboard(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	file, err := os.ReadFile("../../docs/grafana/pausenet.json")
	must(t, err)
	var board dashboard
	must(t, json.Unmarshal(file, &board))
	name := fmt.Sprint("board", os.Getpid())
	f := bringUpFrom(t, "topology: small\n", "dcqcn", Options{Slowdown: 200, Name: name, Metrics: "127.0.0.1:0"})
	defer down(t, f)
	defer http.DefaultClient.CloseIdleConnections()
	fourEnd(t, f)
	variables := strings.NewReplacer("$__rate_interval", "1m", "$fabric", name, "$node", ".*")
	address := monitor(t, f.MetricsAddress())
	until(t, "it has scraped the fabric several times", func() bool {
		n := query(t, address, variables.Replace(`count_over_time(pausenet_open_flows{fabric="$fabric"}[1m])`))
		return len(n) == 1 && n[0] != "1" && n[0] != "2"
	})
	none := regexp.MustCompile(`dropped_frames_total`) // nothing was
	seen := map[int]bool{}
	for i, p := range board.Panels {
		if seen[p.ID] {
			t.Errorf("%s: panel %d is there twice", p.Title, p.ID)
		}
		seen[p.ID] = true
		for _, other := range board.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies over %s", p.Title, other.Title)
			}
		}
		for _, target := range p.Targets {
			text := variables.Replace(target.Expr)
			if strings.Contains(text, "$") {
				t.Errorf("%s: an unknown variable: %s", p.Title, text)
			}
			if none.MatchString(text) {
				if values := query(t, address, text); len(values) != 0 {
					t.Errorf("%s: %d values of %s", p.Title, len(values), text)
				}
				continue
			}
			// Prometheus has none at a moment when its last scrape came too late.
			until(t, p.Title+": values of "+text, func() bool { return len(query(t, address, text)) > 0 })
		}
	}
	for _, v := range board.Templating.List {
		if metric := regexp.MustCompile(`label_values\((.*), `).FindSubmatch(v.Query); metric != nil {
			text := variables.Replace(strings.ReplaceAll(string(metric[1]), `\"`, `"`))
			until(t, "variable "+v.Name+": values of "+text, func() bool { return len(query(t, address, text)) > 0 })
		}
	}
	for text, want := range map[string]string{
		`pausenet_ended_flows_total`: "4", `pausenet_open_flows`: "1", `pausenet_deadlock`: "0",
	} {
		until(t, text+" is "+want, func() bool {
			got := query(t, address, text)
			return len(got) == 1 && got[0] == want
		})
	}
}
