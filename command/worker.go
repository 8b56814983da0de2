package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/shutdown"
)

type workerFlags struct {
	join       string
	nats       string
	creds      string
	sweep      string
	name       string
	jobs       int
	processors int
	timeout    time.Duration
}

// joinVariable holds the join string, so that it is not in any list of processes.
var joinVariable = variableOf("join")

func newWorkerCommand() *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker",
		Short: "Run simulations for a sweep, search or tune on another machine",
		Long: `Take points of a sweep from "pausenet sweep --serve" (or --nats) on another
machine, run them, and send back the results, until none are left. A worker
may join and leave at any time: its unfinished points go to other workers. It
must be the same build of pausenet. When it joins, it repeats short runs that
the coordinator compares with its own.

The join string is a secret, and other users can read a command line. So
--join takes the name of a file (@FILE) or reads standard input (-); the
environment variable PAUSENET_JOIN works, too.`,
		Example: `  pausenet worker --join @results/sweep-intensity/.cluster/join
  ssh head cat sweep/.cluster/join | pausenet worker --join - --jobs 2
  pausenet worker --nats tls://nats.example.org --creds worker.creds \
      --sweep 0123456789abcdef.UKEY`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.join, "join", "", "`source` of the join string: @FILE, or - for standard input")
	flags.StringVar(&f.nats, "nats", "", "`URL` of a NATS server, instead of --join")
	flags.StringVar(&f.creds, "creds", "", "`file` with credentials for --nats")
	flags.StringVar(&f.sweep, "sweep", "", "with --nats, the sweep's `ID`.KEY that its coordinator prints")
	flags.StringVar(&f.name, "name", "", "`name` of this worker in messages (default: the machine's)")
	jobsFlag(c, &f.jobs, "points")
	processorsFlag(c, &f.processors, " (default: all, shared by the points)")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "`time` to wait for a coordinator that does not answer")
	completeNothing(c, "join", "nats", "sweep", "name", "timeout")
	return c
}

func (f *workerFlags) run(c *cobra.Command) error {
	if err := f.check(c); err != nil {
		return err
	}
	access, err := f.access()
	if err != nil {
		return err
	}
	_ = os.Unsetenv(joinVariable) // points' processes do not need it
	own, err := build()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("read this program's own file: %w", err)}
	}
	scratch, err := os.MkdirTemp("", "pausenet-worker")
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	defer os.RemoveAll(scratch)
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	key, err := cluster.NewIdentity()
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	conn, err := f.connect(ctx, access, key)
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("cannot reach the coordinator: %w", err)}
	}
	defer conn.Close()
	var saying sync.Mutex // several points' processes print
	say := func(line string) {
		saying.Lock()
		defer saying.Unlock()
		fmt.Fprintf(c.ErrOrStderr(), "  %s\n", line)
	}
	h := &cluster.Worker{
		Name: f.name, Key: key, ID: access.ID, Coordinator: access.Coordinator, Jobs: f.jobs, Processors: f.processors,
		Directory: scratch, Version: version(), Build: own, Timeout: f.timeout,
		Make: startPoint, Say: say,
	}
	made, err := h.Run(ctx, conn)
	fmt.Fprintf(c.OutOrStdout(), "%s made\n", count(made, "point"))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &exitError{exitVerdict, errors.New("interrupted: other workers take over the unfinished points")}
	case errors.Is(err, cluster.ErrRefused):
		return badInput(err)
	case errors.Is(err, cluster.ErrOut):
		return &exitError{exitVerdict, err}
	}
	return &exitError{exitEnvironment, err}
}

func (f *workerFlags) check(c *cobra.Command) error {
	if err := atMostOne(c, "join", "nats"); err != nil {
		return err
	}
	switch {
	case f.join == "" && f.nats == "":
		return badInput(errors.New("no sweep given: use --join @FILE, with the file that \"pausenet sweep --serve\" " +
			"prints, or --nats and --sweep"))
	case f.nats != "" && f.sweep == "":
		return badInput(errors.New("--nats needs --sweep with the ID and key that the coordinator prints"))
	case f.nats == "" && (f.sweep != "" || f.creds != ""):
		return badInput(errors.New("--sweep and --creds are only for --nats: a join string already contains both"))
	}
	if f.nats != "" {
		if err := checkCredentials(f.creds); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(os.Args, cluster.LooksLikeJoin) || slices.ContainsFunc(os.Args, func(arg string) bool {
		_, value, _ := strings.Cut(arg, "=")
		return cluster.LooksLikeJoin(value)
	}) {
		return badInput(errors.New("--join: a join string is a secret, but all users of this machine can read a command " +
			"line: write it to a file and use --join @FILE, pipe it into --join -, or set " + joinVariable))
	}
	if err := checkJobs(c, &f.jobs); err != nil {
		return err
	}
	if c.Flags().Changed("processors") {
		if err := atLeastOne(c.Flags(), "processors"); err != nil {
			return err
		}
	}
	if f.name == "" {
		f.name, _ = os.Hostname() // without a name it is "worker"
		f.name = strings.Trim(unsafeWorkerName.ReplaceAllString(f.name, "-"), "-_")
		f.name = f.name[:min(len(f.name), 40)]
		f.name = cmp.Or(f.name, "worker")
	} else if !workerName().MatchString(f.name) {
		return badInput(fmt.Errorf("--name %s: expected up to 40 letters, digits, _ and -", f.name))
	}
	return nil
}

var (
	workerName       = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)
	unsafeWorkerName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// joinText limits a file with a join string.
var joinText = files.Kind{Name: "a join string", Most: 1 << 16}

// access parses the join string. With --nats it has no address.
func (f *workerFlags) access() (*cluster.Access, error) {
	if f.nats != "" {
		id, coordinator, err := cluster.ParseSweep(f.sweep)
		return &cluster.Access{ID: id, Coordinator: coordinator}, badInput(err)
	}
	text := f.join // from the environment, or the configuration file
	switch path, isFile := strings.CutPrefix(f.join, "@"); {
	case f.join == "-":
		data, err := io.ReadAll(io.LimitReader(os.Stdin, joinText.Most))
		if err != nil {
			return nil, badInput(fmt.Errorf("--join -: %w", err))
		}
		text = string(data)
	case isFile:
		err := files.CheckPrivate(path)
		var data []byte
		if err == nil {
			data, err = files.Read(filepath.Clean(path), joinText)
		}
		if err != nil {
			return nil, badInput(fmt.Errorf("--join: %w", err))
		}
		text = string(data)
	case !cluster.LooksLikeJoin(f.join):
		return nil, badInput(errors.New("--join: expected @FILE, or - for standard input"))
	}
	access, err := cluster.ParseJoin(text)
	if err != nil {
		return nil, badInput(fmt.Errorf("--join: %w", err))
	}
	return access, nil
}

// connect connects to the coordinator's server, and retries up to the worker's timeout.
func (f *workerFlags) connect(ctx context.Context, access *cluster.Access,
	key *cluster.Identity,
) (conn *nats.Conn, err error) {
	for deadline := time.Now().Add(f.timeout); ; {
		if f.nats == "" {
			conn, err = access.Connect(f.name, key)
		} else {
			conn, err = cluster.ConnectURL(f.nats, f.creds, f.name, key)
		}
		if err == nil || time.Now().After(deadline) || errors.Is(err, nats.ErrAuthorization) || cluster.IsOther(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
