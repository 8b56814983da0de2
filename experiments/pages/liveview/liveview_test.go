//go:build linux

package liveview_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/command/shell"
	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/pages/liveview"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(browser.Main{M: m}) }

// timeout only prevents hanging.
const timeout = testenv.Hung

// fabric holds a live fabric with its page.
type fabric struct {
	*live.Fabric
	page  *liveview.Page
	ended chan error // of the page's server
	down  func() live.Verdict
}

// bringUp brings a leaf-spine up under the name of its scenario, and serves its page.
func bringUp(t *testing.T, name, title string, changes bool) *fabric {
	t.Helper()
	testenv.NeedRoot(t)
	text := "topology: {name: hall, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}}\nswitch: {pfc: {xoff: 30KB, xon: 20KB}}\n"
	reread := func(sets []string) (*scenario.Scenario, error) {
		s, err := scenario.Reading{Live: true, Sets: sets}.Parse("", []byte(text))
		if err == nil {
			s.Name = title
		}
		return s, err
	}
	s, err := reread(nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := live.NewSetup(s, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := live.BringUp(made, live.Options{
		Name: name, Slowdown: 2000, Seed: 1, Reread: reread, Line: shell.Line,
		Complete: shell.Complete,
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := liveview.Open(name, changes)
	if err != nil {
		t.Fatal(err)
	}
	all := &fabric{Fabric: f, page: page, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { all.ended <- page.Serve(ctx) }()
	isDown := false
	all.down = func() live.Verdict {
		t.Helper()
		isDown = true
		v, err := f.Close()
		if err != nil {
			t.Error(err)
		}
		select {
		case err := <-all.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(timeout):
			t.Error("the page's server goes on after the fabric's end")
		}
		cancel()
		return v
	}
	t.Cleanup(func() {
		if !isDown {
			all.down()
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return all
}

// ask asks the page's server.
func (f *fabric) ask(t *testing.T, method, path, body string, headers ...string) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.page.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// message holds one message of the server.
type message struct {
	ID, Kind string
	Data     map[string]any
}

// stream reads the server's messages after a given one, until stop returns true or the server has ended.
func (f *fabric) stream(t *testing.T, after string, stop func(m message) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.page.URL()+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", after)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("%s: %s", answer.Status, kind)
	}
	var m message
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream has ended: %v", err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "id":
			m.ID = value
		case "event":
			m.Kind = value
		case "data":
			if err := json.Unmarshal([]byte(value), &m.Data); err != nil {
				t.Fatalf("%v in %.200s", err, value)
			}
		case "":
			if m.Kind != "" && stop(m) {
				return
			}
			m = message{}
		}
	}
}

// TestStream checks the messages to a page: the fabric, samples, events, and its end. A page that reconnects continues
// where it was.
func TestStream(t *testing.T) {
	f := bringUp(t, "test-liveview-stream", "hall", false)
	var kinds []string
	var last message
	f.stream(t, "", func(m message) bool {
		kinds = append(kinds, m.Kind)
		last = m
		return m.Kind == "sample"
	})
	if kinds[0] != "hello" || len(last.Data["queue"].([]any)) != 24 {
		t.Fatalf("got %v, then %v", kinds, last.Data)
	}
	f.stream(t, last.ID, func(m message) bool {
		if m.Kind == "hello" {
			return false
		}
		if m.Kind != "sample" || m.Data["t"].(float64) <= last.Data["t"].(float64) {
			t.Errorf("after %s came %s, %s", last.ID, m.ID, m.Kind)
		}
		return true
	})
	if err := f.StartFlows([]live.FlowRequest{{From: "h1", To: "h0", Size: 100_000}},
		func(live.FlowResult) {}); err != nil {
		t.Fatal(err)
	}
	f.stream(t, last.ID, func(m message) bool {
		return m.Kind == "happened" && strings.Contains(fmt.Sprint(m.Data), "flow_end")
	})
	verdict := make(chan live.Verdict, 1)
	f.stream(t, last.ID, func(m message) bool {
		if m.Kind == "sample" && last.Kind != "" {
			last.Kind = "" // once
			go func() { verdict <- f.down() }()
		}
		last.Data = m.Data
		return m.Kind == "ended"
	})
	v := <-verdict
	if said, _ := last.Data["verdict"].(map[string]any); said["status"] != string(v.Status) {
		t.Errorf("the verdict is %s, and the page got %v", v.Status, last.Data)
	}
}

// TestRefused checks that the server refuses requests without the address, by another name, from another page, or for
// changes on a read-only page.
func TestRefused(t *testing.T) {
	f := bringUp(t, "test-liveview-refused", "hall", false)
	at := strings.Split(f.page.URL(), "/") // http: "" host token ""
	host, token := at[2], at[3]
	const change = `{"do":"link","a":"leaf0","b":"spine0","state":"down"}`
	for _, c := range []struct {
		method, path, body string
		headers            []string
		code               int
	}{
		{"GET", "", "", nil, 200},
		{"GET", "../", "", nil, 404},
		{"GET", "../wrong" + token + "/events", "", nil, 404},
		{"GET", "events", "", []string{"Host", "evil.example"}, 403},
		{"GET", "events", "", []string{"Host", strings.Replace(host, "127.0.0.1", "localhost", 1)}, 403},
		{"GET", "events", "", []string{"Origin", "https://evil.example"}, 403},
		{"GET", "events", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "do", "", nil, 404},
		{"DELETE", "do", "", nil, 405},
		{"POST", "do", change, nil, 403},
		{"POST", "do", change, []string{"Pausenet-Token", "wrong"}, 403},
		{"POST", "do", change, []string{"Pausenet-Token", token}, 403},
		{"POST", "do", change, []string{"Pausenet-Token", token, "Origin", "https://evil.example"}, 403},
		{"POST", "", change, []string{"Pausenet-Token", token}, 404},
	} {
		if code, text := f.ask(t, c.method, c.path, c.body, c.headers...); code != c.code {
			t.Errorf("%s %s %v: %d, %.200s", c.method, c.path, c.headers, code, text)
		}
	}
	d, err := f.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range d.Links {
		if !l.Up {
			t.Errorf("%s is down", l.A)
		}
	}
}

// TestIdleConnectionsMakeRoom opens as many connections as the page may have, some after a request and some without
// any, and requests the page by another. The page's feed, a request in progress, continues.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	f := bringUp(t, "test-liveview-idle", "hall", false)
	host := strings.Split(f.page.URL(), "/")[2]
	feed, err := http.Get(f.page.URL() + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Body.Close()
	lines := bufio.NewReader(feed.Body)
	for i := range 100 {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			continue
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := f.ask(t, "GET", "", ""); code != 200 {
		t.Errorf("the page: %d, %.200s", code, text)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the feed: %v", err)
		}
		if strings.HasPrefix(line, "event: sample") {
			break
		}
	}
}

// open opens the fabric's page in a tab.
func (f *fabric) open(t *testing.T, width, height int) *browser.Tab {
	t.Helper()
	b := browser.Open(t, f.page.URL(), "", width, height)
	b.Wait("document.querySelector('.verdict.live') !== null")
	return b
}

// TestPage checks that the page shows the fabric and follows it, that it can be stopped, and that it shows the end.
func TestPage(t *testing.T) {
	browser.Need(t)
	const title = `<img src=x onerror=document.title='hostile'>"'&amp;`
	f := bringUp(t, "test-liveview-page", title, false)
	b := f.open(t, 1600, 900)
	if got := b.Text("#scenario"); got != f.Name {
		t.Errorf("the page is of %q", got)
	}
	if got := b.Text("#description"); !strings.HasPrefix(got, title+", slow-down 2000") {
		t.Errorf("the page says %q", got)
	}
	if got := b.Value("document.querySelectorAll('img, #actions').length"); got != "0" {
		t.Errorf("%s images or buttons are in it", got)
	}
	begin := b.Value("document.querySelector('#scrub').value")
	b.Wait("Number(document.querySelector('#scrub').value) > " + begin)
	requests, err := f.Incast(7, "h0", 1_000_000, "")
	if err != nil {
		t.Fatal(err)
	}
	b.Value("location.hash = '#port=leaf0-eth1'")
	if err := f.StartFlows(requests, func(live.FlowResult) {}); err != nil {
		t.Fatal(err)
	}
	b.Wait("document.querySelectorAll('tr[data-flow]').length === 7")
	b.Wait("[...document.querySelectorAll('#happened li.flow_start')].length === 7")
	b.Wait("Number(document.querySelector('#selected [data-value=sent]').dataset.raw) > 0")
	b.Wait("document.querySelectorAll('#happened li.flow_end').length === 7")
	b.Wait("[...document.querySelectorAll('tr[data-flow]')].every((r) => r.dataset.state === '2' && /s$/.test(r.lastChild.textContent))")
	b.Wait("Number(document.querySelector('#selected [data-value=pauses]').dataset.raw) >= 0")
	// It stands still, while the fabric goes on.
	b.Value("document.querySelector('#play').click()")
	b.Wait("location.hash.startsWith('#t=')")
	still := b.Value("document.querySelector('#scrub').value")
	if err := f.StartFlows([]live.FlowRequest{{From: "h2", To: "h5", Size: 10_000}},
		func(live.FlowResult) {}); err != nil {
		t.Fatal(err)
	}
	b.Wait("document.querySelectorAll('#happened li.flow_end').length === 8")
	if got := b.Value("document.querySelector('#scrub').value"); got != still {
		t.Errorf("it stands at %s, and then at %s", still, got)
	}
	b.Value("document.querySelector('#play').click()")
	b.Wait("Number(document.querySelector('#scrub').value) > " + still)
	v := f.down()
	b.Wait(fmt.Sprintf("document.querySelector('#notice').textContent.includes('has ended: checks %s')", v.Status.Word()))
	b.Wait("document.querySelector('#play').disabled && document.body.classList.contains('over')")
}

// TestButtons checks that the page can start an incast, take a link down and up, inject a storm and change a setting,
// and that it shows the reason of a refusal.
func TestButtons(t *testing.T) {
	browser.Need(t)
	f := bringUp(t, "test-liveview-buttons", "hall", true)
	b := f.open(t, 1600, 900)
	// press opens a form, fills it in and presses a button of it.
	press := func(form string, fields map[string]string, button string) {
		t.Helper()
		b.Value(fmt.Sprintf("(() => { const b = [...document.querySelectorAll('#actions .bar button')].find((b) => "+
			"b.textContent === %q); if (b.ariaExpanded !== 'true') b.click(); })()", form))
		for label, value := range fields {
			b.Value(fmt.Sprintf("(() => { for (const l of document.querySelectorAll('#actions label')) if "+
				"(l.firstChild.textContent === %q) l.lastChild.value = %q; })()", label, value))
		}
		b.Value(fmt.Sprintf("[...document.querySelectorAll('#actions form button')].find((b) => b.textContent === %q).click()", button))
	}
	said := func(text string) {
		t.Helper()
		b.Wait(fmt.Sprintf("document.querySelector('#actions .said').textContent.includes(%q)", text))
	}
	b.Value("location.hash = '#port=leaf0-eth1'") // to h0
	b.Wait("document.querySelector('#selected h2')?.textContent.includes('to h0')")
	press("incast", map[string]string{"hosts": "7", "send to": "h0", "each": "30MB"}, "Start")
	said("incast 7 h0 30MB done")
	b.Wait("document.querySelectorAll('tr[data-flow]').length === 7")
	b.Wait("Number(document.querySelector('#selected [data-value=queue]').dataset.raw) > 0")
	b.Value("location.hash = '#port=leaf0-eth2'") // to h1, which it pauses
	b.Wait("Number(document.querySelector('#selected [data-value=pauses]').dataset.raw) > 0")
	b.Value("document.querySelector('tr[data-flow]').click()") // of h7, by way of a spine
	b.Wait("document.querySelectorAll('#selected .path button').length === 4")
	if got := b.Text("#selected h2"); got != "Flow 6: h7 to h0" {
		t.Errorf("selected is %q", got)
	}
	press("incast", map[string]string{"hosts": "7", "send to": "h0", "each": "much"}, "Start")
	said("much")
	b.Wait("document.querySelector('#actions .said').classList.contains('bad')")
	b.Value("location.hash = '#port=leaf1-eth5'") // to a spine
	b.Wait("document.querySelector('#selected h2')?.textContent.includes('to spine')")
	press("link", nil, "Take down")
	said("down done")
	b.Wait("document.querySelector('#selected [data-value=up]').dataset.raw === '0'")
	b.Wait("document.querySelectorAll('#happened li.link_down').length > 0")
	press("link", nil, "Bring up")
	said("up done")
	b.Wait("document.querySelector('#selected [data-value=up]').dataset.raw === '1'")
	b.Value("location.hash = '#port=leaf1-eth1'") // to h4
	press("PFC storm", map[string]string{"from host": "h4"}, "Begin")
	said("pfc-storm on done")
	b.Wait("document.querySelector('#selected [data-value=paused]').dataset.raw === '1'")
	press("PFC storm", map[string]string{"from host": "h4"}, "End")
	said("pfc-storm off done")
	press("set", map[string]string{"of": "leaf0", "setting": "pfc.xoff", "to": "64KB"}, "Set")
	said("set leaf0.pfc.xoff=64KB")
	b.Wait("!document.querySelector('#actions .said').classList.contains('bad')")
	f.down()
	b.Wait("[...document.querySelectorAll('#actions button')].every((b) => b.disabled)")
}

// TestChanges checks which changes the server accepts, and how it refuses others, by plain HTTP, whatever a page
// offers.
func TestChanges(t *testing.T) {
	f := bringUp(t, "test-liveview-changes", "hall", true)
	token := strings.Split(f.page.URL(), "/")[3]
	headers := []string{"Pausenet-Token", token, "Content-Type", "application/json"}
	for _, c := range []struct {
		body string
		done bool
		text string // of the answer
	}{
		{`{"do":"link","a":"leaf0","b":"spine0","state":"down"}`, true, "link leaf0 spine0 down"},
		{`{"do":"link","a":"leaf0","b":"spine0","state":"up"}`, true, "link leaf0 spine0 up"},
		{`{"do":"flow","from":"h0","to":"h1","size":"1KB"}`, true, ""},
		{`{"do":"set","node":"leaf0","setting":"pfc.watchdog","value":"{detect: 200us, restore: 500us}"}`, true, ""},
		{`{"do":"sh","line":"touch /tmp/x"}`, false, "unknown action"},
		{`{"do":"link","a":"leaf0","b":"spine0","state":"down","size":"1MB"}`, false, "size: link does not use it"},
		{`{"do":"link","a":"leaf0","b":"spine0"}`, false, "state: link needs it"},
		{`{"do":"link","a":"leaf0","b":"h7","state":"down"}`, false, "no link"},
		{`{"do":"link","a":"leaf9","b":"h7","state":"down"}`, false, "leaf9"},
		{`{"do":"link","a":"leaf0","b":"spine0","state":"loss=50%"}`, false, "state"},
		{`{"do":"incast","senders":"7","to":"h0","size":"1MB\nsh reboot"}`, false, "size"},
		{`{"do":"incast","senders":"7","to":"h0","size":"1MB cc=dcon"}`, false, "size"},
		{`{"do":"incast","senders":"99","to":"h0","size":"1MB"}`, false, "incast: 99 senders requested"},
		{`{"do":"set","node":"leaf0","setting":"buffer","value":"1MB"}`, false, "setting"},
		{`{"do":"set","node":"leaf0","setting":"pfc.xoff","value":"'1MB"}`, false, "value"},
		{`{"do":"set","node":"leaf0","setting":"pfc.xoff","value":"1B"}`, false, "xoff"},
		{`{"do":"start"}`, false, "no flows"},
	} {
		code, text := f.ask(t, "POST", "do", c.body, headers...)
		if code != 200 || strings.Contains(text, `"error"`) == c.done || !strings.Contains(text, c.text) {
			t.Errorf("%.100s: %d, %.300s; want %v, %s", c.body, code, text, c.done, c.text)
		}
	}
	for body, want := range map[string]int{`[]`: 400, `{"do":"` + strings.Repeat("x", 5000) + `"}`: 413} {
		if code, text := f.ask(t, "POST", "do", body, headers...); code != want {
			t.Errorf("%.50s: %d, %.200s", body, code, text)
		}
	}
	const fine = `{"do":"link","a":"leaf0","b":"spine0","state":"down"}`
	for _, wrong := range [][]string{
		{"Pausenet-Token", token},
		{"Pausenet-Token", token, "Content-Type", "text/plain"},
		{"Pausenet-Token", "no" + token, "Content-Type", "application/json"},
		{"Content-Type", "application/json"},
		append(headers, "Origin", "http://127.0.0.1:1"),
		append(headers, "Origin", "null"),
		append(headers, "Sec-Fetch-Site", "same-site"),
		append(headers, "Host", "evil.example"),
	} {
		if code, text := f.ask(t, "POST", "do", fine, wrong...); code != 403 && code != 415 {
			t.Errorf("%v: %d, %.200s", wrong, code, text)
		}
	}
	if code, _ := f.ask(t, "GET", "do", fine, headers...); code != 404 {
		t.Errorf("GET do: %d", code)
	}
}
