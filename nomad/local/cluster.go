package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/leftover"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Cluster is one cluster on this machine, up or down. It is safe for use by several goroutines;
// programs that change it wait for each other.
type Cluster struct {
	dir   string
	mu    sync.Mutex
	state state
	// daemons run containers; the caller of Up has started them.
	daemons []daemon

	secure atomic.Pointer[http.Client] // for servers with TLS
}

// Load returns the cluster of a folder without changing it. It returns ErrNoCluster for a folder
// without a cluster.
func Load(stateDir string) (*Cluster, error) {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, err
	}
	s, err := readState(dir)
	if err != nil {
		return nil, err
	}
	return &Cluster{dir: dir, state: s}, nil
}

// StateDir is the folder of the cluster.
func (c *Cluster) StateDir() string { return c.dir }

// path is a path below the cluster's folder.
func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

func (c *Cluster) logFile(part string) string { return c.path("log", part+".log") }

// locked runs one change of the cluster: no other program changes it meanwhile, and it starts from the
// state that other programs have written.
func (c *Cluster) locked(ctx context.Context, change func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := servers.Lock(ctx, c.path("lock"), nil)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := readState(c.dir)
	if err != nil && !errors.Is(err, ErrNoCluster) {
		return err
	}
	if err == nil {
		c.state = s
	}
	if err := change(); err != nil {
		return err
	}
	if _, err := os.Stat(c.dir); err != nil {
		return nil // it was removed
	}
	return c.save()
}

// Up brings a cluster up: it creates what is missing, and starts the parts that do not run. Repeating
// it is harmless. After an error, running parts continue to run: the error says what to change, and a
// second Up continues from there.
func Up(ctx context.Context, opts Options, report *servers.Reporter) (*Cluster, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := mayMount(os.Geteuid(), ownStatus()); err != nil {
		return nil, err
	}
	// The folder is readable for others, because PostgreSQL's account must enter it; secret files in it
	// are not.
	if err := os.MkdirAll(opts.StateDir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot create the cluster's folder: %w; choose a folder that you may write to", err)
	}
	c := &Cluster{dir: opts.StateDir}
	c.state.Ports, c.state.Processes = map[string]int{}, map[string]proc.ID{}
	err = c.locked(ctx, func() error { return c.up(ctx, opts, report) })
	return c, err
}

func (c *Cluster) up(ctx context.Context, opts Options, report *servers.Reporter) error {
	if err := c.mergeOptions(opts); err != nil {
		return err
	}
	// Builds and downloads that take minutes the first time happen before any server starts.
	needed := []string{"nomad"}
	if !c.state.NoConsul {
		needed = append(needed, "consul")
	}
	if c.state.Vault != nil {
		needed = append(needed, "vault", "weed")
	}
	if c.state.PodmanSocket != "" {
		needed = append(needed, podmanDriver)
	}
	for _, name := range needed {
		if _, err := c.program(ctx, name, report); err != nil {
			return err
		}
	}
	if err := c.upPostgres(ctx, report); err != nil {
		return err
	}
	for _, make := range c.agents() {
		a, err := make(ctx, report)
		if err != nil {
			return err
		}
		task := report.Task(a.title)
		if err := c.startAgent(ctx, a); err != nil {
			task.Fail()
			return err
		}
		task.Done(fmt.Sprintf("%s on port %d", a.binary.Version, c.state.Ports[a.ports[0]]))
	}
	if c.state.Vault != nil {
		if err := c.vault().setUp(ctx, report); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		report.Say("Without root Nomad has no exec driver; tasks run with raw_exec, as the current user.")
	}
	if c.state.Master.Binary == "" {
		return nil
	}
	return c.master().up(ctx, report)
}

// mergeOptions merges the options into the cluster's state.
func (c *Cluster) mergeOptions(opts Options) error {
	if c.state.Name != "" && c.state.Name != opts.Name {
		return fmt.Errorf("the folder %s contains the cluster %q, not %q; choose another folder, or this name", c.dir, c.state.Name, opts.Name)
	}
	s := &c.state
	s.Name = opts.Name
	s.DSN, s.Slots = cmp.Or(opts.DSN, s.DSN), cmp.Or(opts.Slots, s.Slots)
	if opts.GPUs.Binary != "" || opts.GPUs.None {
		s.GPUs = opts.GPUs
	}
	s.ExtraNomad = cmp.Or(opts.ExtraNomad, s.ExtraNomad)
	secure, err := opts.TLS.absolute()
	if err != nil {
		return err
	}
	if secure != nil {
		s.TLS = secure
	}
	if opts.Master.Binary != "" {
		s.Master = opts.Master
	}
	if opts.Programs != nil {
		s.Programs = opts.Programs
	}
	c.setDaemons(opts)
	if opts.NoConsul && !s.NoConsul {
		if s.Ports[portConsul] != 0 {
			return fmt.Errorf("the cluster %q has Consul, in which its tasks have their addresses; reset it to make it without Consul, or choose another name", s.Name)
		}
		s.NoConsul = true
	}
	if opts.ConsulACL && s.ConsulACL == nil {
		s.ConsulACL = newConsulTokens()
	}
	if opts.Vault && s.Vault == nil {
		s.Vault = newVaultState()
	}
	if opts.Chroot != nil {
		s.Chroot = opts.Chroot
	}
	s.STSEndpoint = cmp.Or(opts.STSEndpoint, s.STSEndpoint)
	s.Ephemeral = s.Ephemeral || opts.Ephemeral
	if opts.Interface != "" {
		if s.Address, err = addressOf(opts.Interface); err != nil {
			return err
		}
		s.Interface, s.Apart = opts.Interface, opts.Apart
	}
	if err := c.choosePorts(opts); err != nil {
		return err
	}
	return c.save()
}

// agents lists functions that prepare the cluster's agents, in the order in which the agents start.
func (c *Cluster) agents() []func(context.Context, *servers.Reporter) (agent, error) {
	var all []func(context.Context, *servers.Reporter) (agent, error)
	if !c.state.NoConsul {
		all = append(all, func(ctx context.Context, report *servers.Reporter) (agent, error) {
			return c.consul().agent(ctx, Client{}, report)
		})
	}
	if c.state.Vault != nil {
		all = append(all, c.s3().agent, c.vault().agent)
	}
	all = append(all, c.nomad().agent)
	for _, client := range c.clients() {
		all = append(all, c.agentsOf(client)...)
	}
	return all
}

// program is a server's binary: the one that Up was given, unless somebody has removed it, else what servers.Ensure finds.
func (c *Cluster) program(ctx context.Context, name string, report *servers.Reporter) (servers.Binary, error) {
	if given := c.state.Programs[name]; given.Path != "" && isFile(given.Path) {
		return given, nil
	}
	return servers.Ensure(ctx, name, report)
}

// OwnPostgres reports whether the cluster has a PostgreSQL of its own.
func (c *Cluster) OwnPostgres() bool { return c.state.DSN == "" }

// HasConsul reports whether the cluster has Consul.
func (c *Cluster) HasConsul() bool { return !c.state.NoConsul }

// clients are the cluster's nodes.
func (c *Cluster) clients() []Client { return append([]Client{{}}, c.state.Clients...) }

func (c *Cluster) upPostgres(ctx context.Context, report *servers.Reporter) error {
	if c.state.DSN != "" {
		report.Say("PostgreSQL: the given server")
		return nil
	}
	task := report.Task("PostgreSQL")
	pg, err := servers.StartPostgres(ctx, c.postgresOptions(task.Update))
	if err != nil {
		task.Fail()
		return err
	}
	task.Done(fmt.Sprintf("%s on port %d", pg.Version, pg.Port))
	return nil
}

func (c *Cluster) postgresOptions(progress func(string)) servers.PostgresOptions {
	return servers.PostgresOptions{
		Dir: c.path(partPostgres), Port: c.state.Ports[portPostgres], Database: "detent",
		Ephemeral: c.state.Ephemeral, Progress: progress,
	}
}

// Down stops everything that the cluster runs, including its tasks, and keeps all data: after the next
// Up the master continues from there. Repeating it is harmless.
func (c *Cluster) Down(ctx context.Context, report *servers.Reporter) error {
	return c.locked(ctx, func() error { return c.down(ctx, report) })
}

func (c *Cluster) down(ctx context.Context, report *servers.Reporter) error {
	var failed []error
	step := func(what string, end func() error) {
		task := report.Task(what)
		if err := end(); err != nil {
			task.Fail()
			failed = append(failed, err)
			return
		}
		task.Done("stopped")
	}
	if c.state.Processes[partNomad].Alive() {
		// The master is stopped first: otherwise it would restart tasks that end.
		for _, which := range []func(id string) bool{isMaster, isAny} {
			if err := c.stopJobs(ctx, which); err != nil {
				report.Say("Nomad cannot stop its jobs, so their processes are killed directly: %v", err)
				break
			}
		}
	}
	for _, client := range c.clients() {
		step("node "+c.nodeName(client.Name), func() error { return c.stopAgent(ctx, clientPart(client.Name)) })
	}
	step("Nomad", func() error { return c.stopAgent(ctx, partNomad) })
	// Now kill tasks that Nomad did not stop in time, or that remain from a killed Nomad.
	if err := leftover.End(ctx, c.dir); err != nil {
		failed = append(failed, err)
	}
	for _, d := range c.daemons {
		step(d.title, func() error { return d.stop(ctx) })
	}
	for _, client := range slices.Backward(c.clients()) {
		if c.state.NoConsul {
			break
		}
		title := "Consul"
		if client.Name != "" {
			title += " of node " + c.nodeName(client.Name)
		}
		step(title, func() error { return c.stopAgent(ctx, consulPart(client.Name)) })
	}
	if c.state.Vault != nil {
		step("Vault", func() error { return c.stopAgent(ctx, partVault) })
		step("SeaweedFS", func() error { return c.stopAgent(ctx, partS3) })
	}
	if c.state.DSN == "" {
		step("PostgreSQL", func() error { return c.stopPostgres(ctx) })
	}
	return errors.Join(failed...)
}

func isMaster(id string) bool { return id == masterJob }
func isAny(string) bool       { return true }

func (c *Cluster) stopPostgres(ctx context.Context) error {
	pg, err := servers.OpenPostgres(c.path(partPostgres))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was never started
	}
	if err != nil {
		return err
	}
	return pg.Stop(ctx)
}

// Reset stops the cluster and removes its data. Built and downloaded servers stay in the cache.
func (c *Cluster) Reset(ctx context.Context, report *servers.Reporter) error {
	return c.locked(ctx, func() error {
		if err := c.down(ctx, report); err != nil {
			return fmt.Errorf("the cluster's data was not removed, because some processes still run: %w", err)
		}
		report.Say("removing %s", c.dir)
		return leftover.Remove(c.dir)
	})
}
