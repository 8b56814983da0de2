//go:build linux

// Package liveview shows a live fabric in a browser: the page of package view, fed by server-sent events, and with
// buttons where it may change the fabric. It uses the fabric's socket as other terminals do, so that it is the same in
// the fabric's process and in another.
//
// What it costs the fabric does not depend on who looks: one snapshot at a time, as top takes them, and none while no
// page is open. Pages read what came of it from a feed, and one that is slow misses some of that.
//
// Off Linux the package is empty.
package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/view"
)

const (
	// lookEvery is the wall-clock time between two snapshots, at least.
	lookEvery = 250 * time.Millisecond
	// rests is how many times as long as it took to take one nothing is asked for: a large fabric is looked at less often.
	rests = 10
	// triesEvery is how long it waits when the fabric has not answered.
	triesEvery = 2 * time.Second
)

// Page is a live fabric's page.
type Page struct {
	fabric  string
	changes bool
	server  *view.Server
	events  *live.Client
	head    head
	order   []int // of the page's ports in a snapshot
	feed    *feed

	mutex   sync.Mutex
	waiting []json.RawMessage // events that no message has yet
	missed  int64             // events that were too many
	verdict *live.Verdict     // once the fabric has ended, and said so

	changing sync.Mutex // while one is under way
}

// kinds are the events that pages are told of. PAUSE is in the snapshots: each frame of it would be too many.
func kinds() []string {
	return slices.DeleteFunc(slices.Clone(live.EventKinds),
		func(kind string) bool { return kind == live.EventPause || kind == live.EventResume })
}

// Open connects to the fabric of a name, empty: the only one, and listens. changes says that the page may change the
// fabric.
func Open(name string, changes bool) (*Page, error) {
	c, err := live.Dial(name)
	if err != nil {
		return nil, err
	}
	p := &Page{fabric: c.Name(), changes: changes, events: c, feed: newFeed()}
	if err := errors.Join(p.learn(), p.listen()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return p, nil
}

func (p *Page) listen() (err error) {
	p.server, err = view.ListenLive(p.fabric, view.Live{
		Changes: p.changes, Handler: p, Guests: live.Guests,
		State: live.State,
	})
	return err
}

// learn finds out what fabric it is.
func (p *Page) learn() error {
	d, err := p.events.Ask(live.Request{Verb: "inspect"})
	if err != nil {
		return err
	}
	s, err := p.events.Ask(live.Request{Verb: "snapshot"})
	if err != nil {
		return err
	}
	p.head, p.order, err = headOf(d.Inspect, s.Snapshot, p.changes)
	return err
}

// Fabric is the name of the page's fabric.
func (p *Page) Fabric() string { return p.fabric }

// URL is the page's address.
func (p *Page) URL() string { return p.server.URL() }

// Serve serves until the context is done, or the fabric has ended and pages have been told.
func (p *Page) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		if p.follow(ctx); ctx.Err() == nil {
			p.conclude()
		}
	})
	all.Go(func() { p.look(ctx) })
	err := p.server.Serve(ctx)
	cancel()
	all.Wait()
	return err
}

// follow reads events until the fabric has ended, or the context is done. One that does not answer may go on.
func (p *Page) follow(ctx context.Context) {
	for c := p.events; ; {
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		err := c.Events(kinds(), p.happened)
		stop()
		_ = c.Close()
		var unanswered *live.Unanswered
		for errors.As(err, &unanswered) && ctx.Err() == nil {
			p.feed.put("silent", err.Error())
			c, err = live.Dial(p.fabric)
		}
		if err != nil || ctx.Err() != nil || unanswered == nil {
			return
		}
	}
}

// Verdict is what the fabric came to, once Serve has returned; nil: it did not say, or has not ended.
func (p *Page) Verdict() *live.Verdict {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.verdict
}

// mostWaiting is how many events wait for the next message.
const mostWaiting = 400

// happened takes an event.
func (p *Page) happened(line []byte) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var e live.Event
	if json.Unmarshal(line, &e) == nil && e.Kind == live.EventVerdict {
		p.verdict = e.Verdict
		return nil
	}
	if len(p.waiting) == mostWaiting {
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.missed++
	}
	p.waiting = append(p.waiting, slices.Clone(line[:len(line)-1]))
	return nil
}

// conclude tells the pages that the fabric has ended.
func (p *Page) conclude() {
	p.tell()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	e := ended{Fabric: p.fabric, Verdict: p.verdict}
	if r := live.Ended(p.fabric); r != nil {
		e.Why = r.String()
	}
	p.feed.end(e)
}

// tell gives the events that wait to the pages.
func (p *Page) tell() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.waiting) > 0 {
		p.feed.put("happened", happened{p.waiting, p.missed})
		p.waiting, p.missed = nil, 0
	}
}

// look takes snapshots while somebody looks, until the context is done.
func (p *Page) look(ctx context.Context) {
	var c *live.Client
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	var last *live.Snapshot
	for rest := lookEvery; ; {
		if !p.feed.wanted() {
			if c != nil { // the fabric would close it
				_ = c.Close()
			}
			c = nil
			select {
			case <-p.feed.called:
			case <-ctx.Done():
				return
			}
		}
		begun := time.Now()
		var reply *live.Reply
		var err error
		if c == nil {
			c, err = live.Dial(p.fabric)
		}
		if err == nil {
			reply, err = c.Ask(live.Request{Verb: "snapshot"})
		}
		p.tell()
		if err != nil {
			if c != nil {
				_ = c.Close()
			}
			c, rest = nil, triesEvery
			var unanswered *live.Unanswered
			if errors.As(err, &unanswered) {
				p.feed.put("silent", err.Error())
			}
		} else {
			p.feed.put("sample", sampleOf(last, reply.Snapshot, p.order))
			last, rest = reply.Snapshot, max(lookEvery, rests*time.Since(begun))
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return
		}
	}
}
