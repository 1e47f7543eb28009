package local

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/detent-ml/detent/master/quote"
	"github.com/detent-ml/detent/nomad/servers"
)

// User is the user of a new cluster, who can sign in from this machine without a password.
const User = "admin"

// secondUser is the other user of a new cluster: no administrator, and the one that clients choose by themselves.
const secondUser = "determined"

// InitialPassword is the variable of a master's environment with the first password of both users.
const InitialPassword = "DETENT_INITIAL_PASSWORD"

// Description has the addresses of a cluster and the state of its parts.
type Description struct {
	Name       string   `json:"name"`
	StateDir   string   `json:"stateDir"`
	MasterURL  string   `json:"masterUrl"` // of the first master
	MasterURLs []string `json:"masterUrls"`
	TasksURL   string   `json:"tasksUrl,omitempty"` // of the pages of tasks; each of several masters has its own
	// TasksDomain gives each task its own host name: <task id>.<domain>. "": all tasks share one.
	TasksDomain string `json:"tasksDomain,omitempty"`
	NomadURL    string `json:"nomadUrl"`
	ConsulURL   string `json:"consulUrl,omitempty"`
	DSN         string `json:"dsn"`
	VaultURL    string `json:"vaultUrl,omitempty"`
	S3URL       string `json:"s3Url,omitempty"`
	NomadToken  string `json:"nomadToken,omitempty"`
	User        string `json:"user"`
	// Protected reports that the users of a new cluster have an initial password.
	Protected bool `json:"-"`
	// Command is how the user starts det, and Example the folder of the example digits_numpy, for the next steps; both may be "".
	Command string   `json:"-"`
	Example string   `json:"-"`
	Parts   []Status `json:"parts"`
}

// Status is the state of one part.
type Status struct {
	Name    string `json:"name"`
	Pid     int    `json:"pid"` // 0: it does not run
	Port    int    `json:"port"`
	Healthy bool   `json:"healthy"`
	// Problem is why a part is not healthy.
	Problem string `json:"problem,omitempty"`
	Log     string `json:"log"`
}

// Up reports whether all parts are healthy.
func (d Description) Up() bool {
	return !slices.ContainsFunc(d.Parts, func(p Status) bool { return !p.Healthy })
}

// healthTimeout is the time limit for the check of one part.
const healthTimeout = 5 * time.Second

// Describe checks every part.
func (c *Cluster) Describe(ctx context.Context) Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	d := Description{
		Name: c.state.Name, StateDir: c.dir, NomadURL: c.nomad().url(), ConsulURL: c.consul().url(),
		NomadToken: c.state.Token, User: User, Protected: c.state.Master.Env[InitialPassword] != "",
	}
	if d.VaultURL = c.VaultURL(); d.VaultURL != "" {
		d.S3URL = c.S3().Endpoint
	}
	d.DSN, _ = c.master().dsn() // empty if PostgreSQL was never started, which its part reports
	for _, name := range c.partNames() {
		if name == partMaster && c.state.Master.Binary == "" {
			continue
		}
		d.Parts = append(d.Parts, c.status(ctx, name))
	}
	if c.state.Master.Binary == "" {
		return d
	}
	if allocs, err := c.master().running(ctx); err == nil {
		for _, alloc := range allocs {
			d.MasterURLs = append(d.MasterURLs, c.master().urlOf(alloc))
		}
	}
	// A single master has a fixed port, even while it does not run.
	d.MasterURL, d.TasksURL = c.taskURL(c.state.Ports[portMaster]), c.taskURL(c.state.Ports[portPages])
	d.TasksDomain = c.master().tasksDomain()
	if c.state.Master.Count > 1 {
		d.MasterURL, d.TasksURL = "", ""
		if len(d.MasterURLs) > 0 {
			d.MasterURL = d.MasterURLs[0]
		}
	}
	return d
}

func (c *Cluster) status(ctx context.Context, name string) Status {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	s := Status{Name: name, Port: c.state.Ports[name], Log: c.logPath(name)}
	if name == partMaster && !c.state.Processes[partNomad].Alive() {
		s.Problem = "not running, because Nomad is not running"
		return s
	}
	found, err := c.processes(ctx, name)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	if len(found) == 0 {
		s.Problem = "not running"
		return s
	}
	s.Pid = found[0].Pid
	if err := c.ready(ctx, name); err != nil {
		s.Problem = err.Error()
		return s
	}
	s.Healthy = true
	return s
}

// ready asks a running part whether it is ready.
func (c *Cluster) ready(ctx context.Context, name string) error {
	switch name {
	case partPostgres:
		pg, err := servers.OpenPostgres(c.path(partPostgres))
		if err != nil {
			return err
		}
		return pg.Ready(ctx)
	case partConsul:
		return c.consul().ready(ctx, Client{})
	case partVault:
		return c.vault().ready(ctx)
	case partS3:
		return c.s3().ready(ctx)
	case partNomad:
		return c.nomad().ready(ctx)
	case partMaster:
		client, err := c.Nomad()
		if err != nil {
			return err
		}
		waiting, err := c.master().missing(ctx, client, nil)
		if err == nil && waiting != "" {
			return fmt.Errorf("%s", waiting)
		}
		return err
	default:
		if client, ok := strings.CutPrefix(name, consulPart("")+"."); ok {
			return c.consul().ready(ctx, c.client(client))
		}
		return c.nomad().nodeReady(ctx, c.nodeName(strings.TrimPrefix(strings.TrimPrefix(name, partClient), "-")))
	}
}

// WriteSummary writes what a user needs after Up: addresses, the user name, and the next command.
func (d Description) WriteSummary(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if d.MasterURL != "" {
		fmt.Fprintf(t, "master\t%s\n", d.MasterURL)
		sign := "from this machine without a password, while they have none"
		if d.Protected {
			sign = "both with the initial password"
		}
		fmt.Fprintf(t, "users\t%s, an administrator, and %s (%s)\n", d.User, secondUser, sign)
	}
	det, flags := cmp.Or(d.Command, "det"), Flags(d.Name, d.StateDir)
	fmt.Fprintf(t, "Nomad\t%s/ui (signed in: %s deploy local nomad-ui%s)\n", d.NomadURL, det, flags)
	if d.ConsulURL != "" {
		fmt.Fprintf(t, "Consul\t%s/ui\n", d.ConsulURL)
	}
	if d.VaultURL != "" {
		fmt.Fprintf(t, "Vault\t%s\nS3\t%s\n", d.VaultURL, d.S3URL)
	}
	fmt.Fprintf(t, "data\t%s\n", d.StateDir)
	switch {
	case len(d.Parts) > 0 && !slices.ContainsFunc(d.Parts, func(p Status) bool { return p.Healthy }):
		fmt.Fprintf(t, "next\t%s deploy local cluster-up%s\n", det, flags)
	case d.MasterURL != "":
		fmt.Fprintf(t, "next\t%s\n", strings.Join(d.next(det), "\n\t"))
	}
	return t.Flush()
}

// next are the commands with which a user begins.
func (d Description) next(det string) []string {
	commands := []string{"export DET_MASTER=" + d.MasterURL}
	if d.Protected {
		commands = append(commands, det+" user login "+secondUser)
	}
	config, folder := "CONFIG", "FOLDER"
	if d.Example != "" {
		config, folder = filepath.Join(d.Example, "digits.yaml"), d.Example
	}
	return append(commands, fmt.Sprintf("%s experiment create %s %s --follow", det, quote.Word(config), quote.Word(folder)))
}

// WriteStatus writes a line for each part.
func (d Description) WriteStatus(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PART\tSTATE\tPORT\tPID\tLOG")
	for _, p := range d.Parts {
		state, pid, port := "healthy", "-", "-"
		if !p.Healthy {
			state, _, _ = strings.Cut(p.Problem, "\n")
		}
		if p.Pid != 0 {
			pid = strconv.Itoa(p.Pid)
		}
		if p.Port != 0 {
			port = strconv.Itoa(p.Port)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Name, state, port, pid, p.Log)
	}
	return t.Flush()
}
