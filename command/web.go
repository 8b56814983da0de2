//go:build linux

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/liveview"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// What --web takes: a page may look, or change the fabric too.
const webRead, webWrite = "ro", "rw"

var webWords = []string{webRead, webWrite}

// checkWeb checks --web, which may not be given.
func checkWeb(c *cobra.Command, web string) error {
	if c.Flags().Changed("web") && !slices.Contains(webWords, web) {
		return badInput(fmt.Errorf("--web=%s: ro, to look, or rw, to change the fabric too%s", web,
			yamlspec.Suggest(web, webWords)))
	}
	return nil
}

// fabricPage is the page of a fabric of this process; nil: there is none.
type fabricPage struct {
	*liveview.Page
	web  string
	done chan struct{} // closed once it is no more served
}

// serveFabric serves the page of a fabric of this process, until that ends.
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

// describe says where the page is.
func (p *fabricPage) describe(out io.Writer) {
	if p != nil {
		fmt.Fprintf(out, "page at %s (%s)\n", p.URL(), webMeaning(p.web))
	}
}

func webMeaning(web string) string {
	if web == webWrite {
		return "it can change the fabric: give the address to nobody"
	}
	return "it can look; --web=rw: and change the fabric"
}

// farewellTime is how long browsers have to be told of the fabric's end.
const farewellTime = 3 * time.Second

// wait waits until pages have been told that the fabric has ended.
func (p *fabricPage) wait() {
	if p == nil {
		return
	}
	select {
	case <-p.done:
	case <-time.After(farewellTime):
	}
}

// viewFabric serves the page of a fabric of any process, until it ends or the user has had enough.
func (f *viewFlags) viewFabric(c *cobra.Command) error {
	if err := checkWeb(c, f.web); err != nil {
		return err
	}
	if err := checkRoot("a live fabric belongs to root"); err != nil {
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
	web := f.web
	if web == "" {
		web = webRead
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n", page.URL())
	fmt.Fprintf(stderr(), "open this address in a browser on this machine: %s; Ctrl-C ends\n", webMeaning(web))
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
	_ = c.RegisterFlagCompletionFunc("fabric", completeFabrics)
	c.Flags().StringVar(&f.web, "web", "", "with --fabric, whether the page can change the fabric: `ro|rw` (default ro)")
	completeFlag(c, "web", webWords...)
}
