package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/experiments/sweep/cluster"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// startServer starts the coordinator's built-in NATS server (cluster/embedded); nil if it is not built in.
var startServer func(address, id string, s *cluster.Secrets) (port int, stop func(), err error)

// anyAddress replaces the address of --serve without a value: a free port on all addresses of this machine.
const anyAddress = ":0"

// serveFlags holds the flags that distribute a sweep's points, or the runs of a search, to other machines.
type serveFlags struct {
	plane string // plane of the sweep
	serve string
	nats  string
	creds string
	audit string
}

func (f *serveFlags) add(c *cobra.Command, what string) {
	flags := c.Flags()
	flags.StringVar(&f.serve, "serve", "", "serve the "+what+" to workers on other machines at this `address`, as "+
		"host:port (default: a free port)")
	flags.Lookup("serve").NoOptDefVal = anyAddress
	flags.StringVar(&f.nats, "nats", "", "serve the "+what+" to workers through the NATS server at this `URL`")
	flags.StringVar(&f.creds, "creds", "", "`file` with credentials for --nats")
	flags.StringVar(&f.audit, "audit", "1%", "`share` of the workers' "+what+" to repeat here and compare")
	completeNothing(c, "serve", "nats", "audit")
}

// arguments checks for one argument. After --serve, its address may follow.
func (f *serveFlags) arguments(c *cobra.Command, args []string) error {
	if len(args) == 2 && f.serve == anyAddress && strings.Contains(args[1], ":") {
		f.serve, args = args[1], args[:1]
	}
	return cobra.ExactArgs(1)(c, args)
}

// served reports whether workers run the points.
func (f *serveFlags) served() bool { return f.serve != "" || f.nats != "" }

// check returns the share of points to audit, or an error for conflicting flags.
func (f *serveFlags) check(c *cobra.Command) (audit float64, err error) {
	for _, name := range []string{"creds", "audit"} {
		if c.Flags().Changed(name) && !f.served() {
			return 0, badInput(fmt.Errorf("--%s has no effect without --serve or --nats", name))
		}
	}
	if !f.served() {
		return 0, nil
	}
	if err := atMostOne(c, "serve", "nats", "shard"); err != nil {
		return 0, err
	}
	if f.creds != "" && f.nats == "" {
		return 0, badInput(errors.New("--creds is only for the server of --nats: --serve creates its own keys"))
	}
	for _, name := range []string{"jobs", "processors"} {
		if c.Flags().Changed(name) {
			return 0, badInput(fmt.Errorf("--%s has no effect with --serve or --nats: each worker has its own", name))
		}
	}
	if f.plane == "kernel" {
		return 0, badInput(errors.New("--plane kernel: each worker would need root and the same kernel (use --plane wasm, " +
			"with identical results, or --shard)"))
	}
	if f.serve != "" {
		if startServer == nil {
			return 0, badInput(errors.New("this pausenet was built without the NATS server, which makes it 28 % larger " +
				"(build it with -tags natsserver, or use an existing server with --nats)"))
		}
		if _, port, err := net.SplitHostPort(f.serve); err != nil || !isPort(port) {
			return 0, badInput(fmt.Errorf("--serve %s: expected host:port, or :port for all addresses of this machine", f.serve))
		}
	}
	if err := checkCredentials(f.creds); err != nil {
		return 0, err
	}
	text, percent := strings.CutSuffix(strings.TrimSpace(f.audit), "%")
	audit, err = strconv.ParseFloat(text, 64)
	if percent {
		audit /= 100
	}
	if err != nil || !(audit >= 0 && audit <= 1) {
		return 0, badInput(fmt.Errorf("--audit %s: expected a share from 0 to 100%%, such as 1%%", f.audit))
	}
	return audit, nil
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n < 1<<16
}

// checkCredentials returns an error if others may read a file of secrets.
func checkCredentials(path string) error {
	if path == "" {
		return nil
	}
	if err := files.CheckPrivate(path); err != nil {
		return badInput(fmt.Errorf("--creds: %w", err))
	}
	return nil
}

// deal distributes the points to workers, and returns the outcomes.
func (f *serveFlags) deal(ctx context.Context, runner *sweep.Runner, plan *sweep.Plan,
	audit float64,
) ([]sweep.Outcome, error) {
	c, conn, stop, err := f.coordinator(runner, plan.Hash(), audit)
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	defer stop()
	outcomes, err := c.Run(ctx, conn)
	shutdown.Alive() // stopping the server, which follows, is slow on a busy machine
	if err != nil && ctx.Err() == nil {
		return nil, runError(err)
	}
	if outcomes == nil { // it ended before it started
		outcomes = make([]sweep.Outcome, len(runner.Points))
		for k := range outcomes {
			outcomes[k].State = sweep.Waiting
		}
	}
	if ctx.Err() == nil {
		conn.Close()
		defer os.RemoveAll(c.Private) // the rest is useless
	}
	return outcomes, nil
}

// coordinator connects the coordinator of a sweep or a search with that identity. The caller calls stop.
func (f *serveFlags) coordinator(runner *sweep.Runner, identity string, audit float64) (
	c *cluster.Coordinator, conn *nats.Conn, stop func(), err error,
) {
	private, err := cluster.PrivateFolder(runner.Within)
	if err != nil {
		return nil, nil, nil, err
	}
	secrets, err := cluster.LoadSecrets(private)
	if err != nil {
		return nil, nil, nil, err
	}
	key, err := secrets.Identity()
	if err != nil {
		return nil, nil, nil, err
	}
	c = &cluster.Coordinator{
		Runner: runner, ID: identity[:cluster.IDLength], Key: key, Private: private, Audit: audit,
		Say: func(line string) { fmt.Fprintf(stderr(), "  %s\n", line) },
	}
	if f.nats == "" {
		conn, end, err := f.startServer(private, c.ID, secrets)
		return c, conn, func() {
			conn.Close()
			end()
			shutdown.Alive()
		}, err
	}
	if conn, err = cluster.ConnectURL(f.nats, f.creds, "coordinator", key); err != nil {
		return nil, nil, nil, fmt.Errorf("--nats %s: %w", redacted(f.nats), err)
	}
	if err := secrets.Save(private); err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	fmt.Fprintf(stderr(), "workers: pausenet worker --nats %s --creds FILE --sweep %s.%s\n", redacted(f.nats), c.ID,
		key.Public())
	return c, conn, conn.Close, nil
}

// mostLent limits the runs of a search that wait for workers at once.
const mostLent = 64

// lend calls do, whose runs workers make.
func (f *serveFlags) lend(ctx context.Context, identity string, audit float64, o explore.Options,
	do func(context.Context, explore.Options) error,
) error {
	own, err := build()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("read this program's own file: %w", err)}
	}
	c, conn, stop, err := f.coordinator(&sweep.Runner{Make: startPoint, Jobs: 1, Common: sweep.Common{
		Within: o.Folder, Plane: plane.Wasm, Version: o.Version, Build: own, Command: "pausenet worker", Processors: 1,
	}}, identity, audit)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	defer stop()
	end, err := c.Open(ctx, conn)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	o.Elsewhere, o.Jobs = c, mostLent
	err = do(ctx, o)
	if ended := end(); ended != nil && ctx.Err() == nil {
		return ended // the cause of the other error
	}
	if err == nil {
		err = os.RemoveAll(c.Private)
	}
	return err
}

// startServer starts the coordinator's own server, writes the join string, and prints its file.
func (f *serveFlags) startServer(private, id string, secrets *cluster.Secrets) (*nats.Conn, func(), error) {
	host, port, _ := net.SplitHostPort(f.serve) // check has validated it
	if port == "0" && secrets.Port != 0 {       // reuse the previous coordinator's port, where its workers look for it
		port = strconv.Itoa(secrets.Port)
	}
	var stop func()
	var err error
	if secrets.Port, stop, err = startServer(net.JoinHostPort(host, port), id, secrets); err != nil {
		return nil, nil, fmt.Errorf("--serve %s: %w", f.serve, err)
	}
	port = strconv.Itoa(secrets.Port)
	addresses := lists.Map(reachable(host), func(host string) string { return net.JoinHostPort(host, port) })
	own := host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		own = "127.0.0.1"
	}
	conn, err := secrets.ConnectCoordinator(net.JoinHostPort(own, port))
	if err == nil {
		err = secrets.Save(private)
	}
	var access *cluster.Access
	if err == nil {
		access, err = secrets.Access(private, id, addresses)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	file := filepath.Join(private, cluster.JoinFile)
	fmt.Fprintf(stderr(), "listening on %s; the join string, a secret, is in %s\nworkers: pausenet worker --join @%s\n",
		strings.Join(addresses, ", "), file, file)
	if term.IsTerminal(int(os.Stderr.Fd())) { // not into a log
		fmt.Fprintf(stderr(), "or, on other machines, run \"pausenet worker --join -\" and paste\n\n%s\n\n", access.Join())
	}
	return conn, stop, nil
}

// reachable returns the addresses at which others reach this machine: all of them, or only host if the server
// listens on one.
func reachable(host string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	var all []string
	addresses, _ := net.InterfaceAddrs() // without any, only the loopback
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			all = append(all, n.IP.String())
		}
	}
	return append(all, "127.0.0.1")
}

// redacted returns a URL without its password.
func redacted(url string) string {
	scheme, rest, found := strings.Cut(url, "://")
	if _, host, secret := strings.Cut(rest, "@"); found && secret {
		return scheme + "://" + host
	}
	return url
}
