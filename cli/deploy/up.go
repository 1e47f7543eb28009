package deploy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

type upOptions struct {
	where
	agents       int
	slots        int
	masterPort   int
	masterConfig string
	masterEnv    []string
	binary       string
	runner       string
	harness      string
	dsn          string
	deleteDB     bool
	vault        bool
	noConsul     bool
	gpus         int
	gpuPlugin    string
	python       string
	pytorch      bool
	servers      supplyOptions
	determined   determinedFlags
}

// anyGPUs selects the GPUs of the machine, or a few simulated ones.
const anyGPUs = -1

const upLong = `Starts a cluster on this machine: PostgreSQL, Consul, Nomad, and the master as a
Nomad job. All parts listen on loopback only.

det uses the Nomad, the Consul and the PostgreSQL of this machine, and archives of
Nomad and Consul that are in det's folder. If something is missing, det names all of
it before anything starts; --fetch downloads and verifies it. Without --fetch and with
Go, det builds Nomad and Consul once into your cache.

If the cluster already runs, the command updates it. Data survives cluster-down. det
looks for det-master, det-runner and det-gpu in its own folder and on PATH. If the
machine has no GPU, each node has four simulated GPUs.

Tasks use a Python with NumPy, JupyterLab and TensorBoard, which the first start
installs into your cache; --pytorch adds PyTorch, --python names another Python.`

func newUp(a *app.App, run func(ctx context.Context, a *app.App, o upOptions) error) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "cluster-up",
		Short: "start a cluster",
		Long:  upLong,
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	o.flags(cmd)
	f.IntVar(&o.agents, "agents", 1, "number of nodes")
	f.IntVar(&o.slots, "slots", 0, "CPU slots of each node (default: from its number of cores)")
	f.IntVar(&o.masterPort, "master-port", 0, "port of the master (default 8080 if it is free)")
	f.StringVar(&o.masterConfig, "master-config-path", "", "configuration of the master, in YAML")
	f.StringArrayVar(&o.masterEnv, "master-env", nil, "set NAME=VALUE in the master's environment (may be repeated)")
	f.StringVar(&o.binary, "master-binary", "", "the det-master to run")
	f.StringVar(&o.runner, "runner-binary", "", "the det-runner for tasks")
	f.StringVar(&o.harness, "harness", "", "folder of the Python package for tasks")
	f.StringVar(&o.dsn, "db", "", "address of an existing PostgreSQL database to use (default: start a PostgreSQL)")
	f.BoolVar(&o.deleteDB, "delete-db", false, "remove the data of this cluster first")
	f.IntVar(&o.gpus, "gpus", anyGPUs, "simulated GPUs of each node; 0 for none")
	f.Lookup("gpus").DefValue = "those of the machine, or 4 where it has none"
	f.StringVar(&o.gpuPlugin, "gpu-plugin-binary", "", "the det-gpu for Nomad")
	f.BoolVar(&o.vault, "vault", false, "also start Vault and an S3 store, and keep checkpoints there (the first build takes about 10 minutes)")
	f.BoolVar(&o.noConsul, "no-consul", false, "make the cluster without Consul: Nomad itself knows the addresses of tasks")
	f.StringVar(&o.python, "python", "", "the Python for tasks (default: one with NumPy, JupyterLab and TensorBoard, installed once)")
	f.BoolVar(&o.pytorch, "pytorch", false, "also install PyTorch for tasks, for processors only (the first time it takes some minutes)")
	cmd.MarkFlagsMutuallyExclusive("python", "pytorch")
	f.StringVar(&o.servers.nomad, "nomad", "", "the Nomad to run: its program, or its maker's archive")
	f.StringVar(&o.servers.consul, "consul", "", "the Consul to run: its program, or its maker's archive")
	cmd.MarkFlagsMutuallyExclusive("no-consul", "consul")
	f.StringVar(&o.servers.folder, "servers", "", "folder with archives of Nomad and Consul (default: det's own folder)")
	f.BoolVar(&o.servers.fetch, "fetch", false, "download what is missing of Nomad, Consul and PostgreSQL")
	f.StringVar(&o.servers.mirror, "mirror", "", "with --fetch: address from which det downloads, in place of releases.hashicorp.com")
	f.Bool("acl", true, "")
	_ = f.MarkDeprecated("acl", "access control in Nomad is always on") // the flag exists
	o.determined.flags(cmd)
	return cmd
}

func runUp(ctx context.Context, a *app.App, o upOptions) error {
	if o.determined.noGPU {
		o.gpus = 0
	}
	report := progress(a)
	if err := o.usage(); err != nil {
		return err
	}
	programs, err := o.supply(ctx, report)
	if err != nil {
		return err
	}
	opts, err := o.options(ctx)
	if err != nil {
		return err
	}
	opts.Programs = programs
	o.determined.say(report)
	if opts.GPUs, err = o.findGPUs(ctx, report); err != nil {
		return err
	}
	if opts.Master.Python, err = o.tasksPython(ctx, report); err != nil {
		return err
	}
	if o.deleteDB {
		if err := o.clear(ctx, report); err != nil {
			return err
		}
	}
	c, err := local.Up(ctx, opts, report)
	if err != nil {
		return failed(ctx, err)
	}
	for _, node := range o.further() {
		if err := c.AddClient(ctx, node); err != nil {
			return failed(ctx, err)
		}
	}
	d := c.Describe(ctx)
	if !d.Protected {
		awaitNodes(ctx, d.MasterURL)
	}
	d.Command, d.Example = detCommand(), findExample()
	return d.WriteSummary(a.IO.Out)
}

// usage rejects what no machine can do.
func (o upOptions) usage() error {
	if o.agents < 1 || o.slots < 0 {
		return &exit.UsageError{Message: "--agents must be 1 or more, and --slots 0 or more"}
	}
	if o.masterPort < 0 || o.masterPort > math.MaxUint16 {
		return &exit.UsageError{Message: fmt.Sprintf("--master-port must be from 1 to %d; found %d", math.MaxUint16, o.masterPort)}
	}
	return o.servers.check()
}

// further are the nodes after the first.
func (o upOptions) further() (nodes []local.Client) {
	for i := 2; i <= o.agents; i++ {
		nodes = append(nodes, local.Client{Name: fmt.Sprintf("agent%d", i), Slots: o.slots})
	}
	return nodes
}

func (o upOptions) clear(ctx context.Context, report *servers.Reporter) error {
	c, err := o.load()
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return failed(ctx, c.Reset(ctx, report))
}

// options finds the programs and reads the configuration.
func (o upOptions) options(ctx context.Context) (local.Options, error) {
	out := local.Options{
		Name: o.name, StateDir: o.dir, DSN: o.dsn, Slots: o.slots, Vault: o.vault, NoConsul: o.noConsul,
		Ports: local.Ports{Master: o.masterPort},
	}
	err := o.usage()
	if err != nil {
		return out, err
	}
	if out.Master.Binary, err = program("det-master", o.binary, "--master-binary"); err != nil {
		return out, err
	}
	if out.Master.Runner, err = program("det-runner", o.runner, "--runner-binary"); err != nil {
		return out, err
	}
	if o.masterConfig != "" {
		text, err := os.ReadFile(o.masterConfig)
		if err != nil {
			return out, fault.New(fault.Invalid, "cannot read the master's configuration: %w", err)
		}
		out.Master.Config = string(text)
	}
	if out.Master.Env, err = o.environment(); err == nil && o.masterConfig != "" {
		err = checkConfig(ctx, out.Master.Binary, o.masterConfig)
	}
	return out, err
}

// checkConfig asks the master's program what is wrong with a file before anything starts. What the master's job adds to the file is not
// known here, so that only what has a line in it counts.
func checkConfig(ctx context.Context, program, file string) error {
	cmd := exec.CommandContext(ctx, program, "check-config", "--config", file)
	cmd.Env = []string{"HOME=" + os.Getenv("HOME")} // none of this user's own variables for a master
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	var wrong []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, file+":") {
			wrong = append(wrong, line)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "the master's configuration is not right:\n  %s", strings.Join(wrong, "\n  "))
}

// environment is the environment variables of the master.
func (o upOptions) environment() (map[string]string, error) {
	env := map[string]string{}
	if harness := cmp.Or(o.harness, findHarness()); harness != "" {
		abs, err := filepath.Abs(harness)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(abs, "determined")); err != nil {
			return nil, fault.New(fault.Invalid, "%s is not the folder of the Python package: it has no folder determined in it", abs)
		}
		env["DETENT_HARNESS_PATH"] = abs
	}
	for _, pair := range o.masterEnv {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, &exit.UsageError{Message: fmt.Sprintf("--master-env %s is not of the form NAME=VALUE", pair)}
		}
		env[name] = value
	}
	return env, o.determined.environment(env)
}

// tasksPython is the Python of tasks. If the user names none and det cannot install one, tasks
// use the system's Python, and det prints the reason. Who asks for PyTorch needs it.
func (o upOptions) tasksPython(ctx context.Context, report *servers.Reporter) (string, error) {
	if o.pytorch {
		python, err := pyenv.Named(ctx, "tasks-torch", report)
		if err != nil && ctx.Err() == nil {
			return "", fault.New(fault.Unavailable, "--pytorch: PyTorch could not be installed: %w", err)
		}
		return python, err
	}
	if o.python == "" {
		python, err := pyenv.Named(ctx, "tasks", report)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			report.Say("%v\nTasks use the python3 of this system, which may lack NumPy, JupyterLab and TensorBoard. Run the same command again when pip reaches its packages, or name a Python with --python.", err)
			return "", nil
		}
		return python, nil
	}
	return executable(o.python, "--python")
}

// executable is the path of the program that a flag names.
func executable(named, flag string) (string, error) {
	path, err := exec.LookPath(named)
	if err != nil {
		return "", fault.New(fault.Invalid, "%s %s cannot be executed: %w", flag, named, err)
	}
	return filepath.Abs(path)
}

// besides are folders next to the folder of this program.
func besides(elem ...string) (string, bool) {
	exe, err := os.Executable()
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Join(append([]string{filepath.Dir(exe)}, elem...)...), true
}

// program finds a program of Detent: the named one, else the one in det's folder, else the one
// on PATH.
func program(name, named, flag string) (string, error) {
	if named != "" {
		return executable(named, flag)
	}
	if path, ok := besides(name); ok {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fault.New(fault.NotFound, "%s is neither beside det nor on PATH; install it there, or name it with %s", name, flag)
	}
	return filepath.Abs(path)
}

// findHarness finds the Python package in a release, a checkout or an installation.
func findHarness() string {
	return findFolder("determined", []string{"harness"}, []string{"..", "plugins", "harness"}, []string{"..", "share", "detent", "harness"})
}

// findExample finds the first example of a release or a checkout.
func findExample() string {
	return fromHere(findFolder("digits.yaml", []string{"examples", "digits_numpy"}, []string{"..", "plugins", "harness", "examples", "digits_numpy"}))
}

// findFolder is the first of several folders relative to det's that has something in it; "" if none has.
func findFolder(has string, folders ...[]string) string {
	for _, elem := range folders {
		dir, ok := besides(elem...)
		if !ok {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, has)); err == nil {
			return dir
		}
	}
	return ""
}
