//go:build linux

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/pages/liveview"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/spelling"
)

// Values of --web: read-only, or with buttons that change the fabric.
const webRead, webWrite = "ro", "rw"

var webWords = []string{webRead, webWrite}

// checkWeb checks --web, if given.
func checkWeb(c *cobra.Command, web string) error {
	if c.Flags().Changed("web") && !slices.Contains(webWords, web) {
		return badInput(fmt.Errorf("--web=%s: expected ro (read-only) or rw (can change the fabric)%s", web,
			spelling.Suggest(web, webWords)))
	}
	return nil
}

// fabricPage represents the page of this process's fabric; nil if there is none.
type fabricPage struct {
	*liveview.Page
	web  string
	done chan struct{} // closed when the page is no longer served
}

// serveFabric serves the page of this process's fabric, until the fabric ends.
func serveFabric(fabric, web string) (*fabricPage, error) {
	if web == "" {
		return nil, nil
	}
	page, err := liveview.Open(fabric, web == webWrite)
	if err != nil {
		return nil, &exitError{exitEnvironment, fmt.Errorf("serve the page: %w", err)}
	}
	p := &fabricPage{page, web, make(chan struct{})}
	go func() {
		defer close(p.done)
		if err := page.Serve(context.Background()); err != nil {
			fmt.Fprintf(stderr(), "pausenet: serve the page: %v\n", err)
		}
	}()
	return p, nil
}

// describe prints the page's address.
func (p *fabricPage) describe(out io.Writer) {
	if p != nil {
		fmt.Fprintf(out, "page at %s (%s)\n", p.URL(), webMeaning(p.web))
	}
}

func webMeaning(web string) string {
	if web == webWrite {
		return "can change the fabric: keep the address secret"
	}
	return "read-only; use --web=rw to change the fabric"
}

// farewellTime sets how long browsers have to receive the fabric's end.
const farewellTime = 3 * time.Second

// wait waits until the pages have received the fabric's end.
func (p *fabricPage) wait() {
	if p == nil {
		return
	}
	select {
	case <-p.done:
	case <-time.After(farewellTime):
	}
}

// viewFabric serves the page of any process's fabric, until the fabric ends or the user interrupts it.
func (f *viewFlags) viewFabric(c *cobra.Command) error {
	if err := checkWeb(c, f.web); err != nil {
		return err
	}
	page, err := liveview.Open(f.fabric, f.web == webWrite)
	var refused live.Refusal
	switch {
	case errors.Is(err, live.ErrNone), errors.Is(err, live.ErrSeveral), errors.As(err, &refused):
		return badInput(err)
	case err != nil:
		return clientError(err, exitEnvironment)
	}
	ctx, release := shutdown.Context(c.Context())
	defer release()
	web := cmp.Or(f.web, webRead)
	fmt.Fprintf(c.OutOrStdout(), "%s\n", page.URL())
	fmt.Fprintf(stderr(), "open this address in a browser on this machine: %s; Ctrl-C stops\n", webMeaning(web))
	if f.open {
		f.openPage(ctx, page.URL())
	}
	if err := page.Serve(ctx); err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("serve the page: %w", err)}
	}
	if v := page.Verdict(); v != nil {
		fmt.Fprintf(stderr(), "%s has ended: %s\n", page.Fabric(), v.Status.Word())
	} else if ctx.Err() == nil {
		fmt.Fprintf(stderr(), "%s has ended\n", page.Fabric())
	}
	if r := live.Ended(page.Fabric()); r != nil && ctx.Err() == nil {
		return &exitError{exitVerdict, errors.New(r.String())}
	}
	return nil
}

// fabricFlags adds the flags of a live fabric's page.
func (f *viewFlags) fabricFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.fabric, "fabric", "", "show the live fabric of this `name` (empty: the only one)")
	completeBy(c, "fabric", completeFabrics)
	c.Flags().StringVar(&f.web, "web", "", "with --fabric, whether the page can change the fabric: `ro|rw` (default ro)")
	completeFlag(c, "web", webWords...)
}
