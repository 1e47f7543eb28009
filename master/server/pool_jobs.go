package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/pool/jobfile"
)

// A pool may name a file with a job in Nomad's own words. The master reads it twice: when
// it reads its configuration, to refuse what operators must not set with file and line,
// and when it starts, to have Nomad parse it. What Nomad made of it is kept in the
// database, so a master also starts while Nomad is away (docs/rfd/0006).

// nomadRetry is how often a starting master asks a Nomad that does not answer, and
// nomadWait how long, where nothing is kept that would do instead.
const (
	nomadRetry = time.Second
	nomadWait  = 2 * time.Minute
)

// besideFile makes the paths of jobs those beside the configuration that names them.
func (c *Config) besideFile(dir string) {
	for i := range c.Pools {
		if job := c.Pools[i].Job; job != "" && !filepath.IsAbs(job) {
			c.Pools[i].Job = filepath.Join(dir, job)
		}
	}
}

// readJobs looks through the jobs of the pools and takes over their drivers.
func (c *Config) readJobs() []string {
	k := checker{}
	for i := range c.Pools {
		p := &c.Pools[i]
		if p.Job == "" {
			continue
		}
		at := fmt.Sprintf("resource_pools[%d]", i)
		for _, said := range []struct {
			key   string
			given bool
		}{{"driver", p.Driver != ""}, {"network_mode", p.NetworkMode != ""}, {"node_pool", p.NodePool != ""},
			{"docker.user", p.Docker.User != ""}, {"docker.hard_memory_limit", p.Docker.HardMemory}} {
			if said.given {
				k.fail(at+"."+said.key, "cannot be set beside job: the pool's job has this setting; remove it here, or remove job")
			}
		}
		f, problems := p.readJob()
		k.problems = append(k.problems, problems...)
		if f != nil {
			p.Driver = f.Driver
		}
	}
	return k.problems
}

// readJob reads the file with the job of a pool.
func (p PoolConfig) readJob() (*jobfile.File, []string) {
	src, err := os.ReadFile(p.Job)
	if err != nil {
		return nil, []string{fmt.Sprintf("pool %s: job: %v", p.Name, err)}
	}
	f, problems := jobfile.Read(src)
	return f, in(p.Job, problems)
}

func in(file string, problems []jobfile.Problem) []string {
	var out []string
	for _, problem := range problems {
		out = append(out, problem.In(file))
	}
	return out
}

// jobParser is a Nomad that reads HCL, and jobStore keeps what it read.
type (
	jobParser interface {
		ParseJob(ctx context.Context, source string) (*pool.Job, error)
	}
	jobStore interface {
		SavePoolJob(ctx context.Context, sum string, parsed json.RawMessage) error
		PoolJob(ctx context.Context, sum string) (json.RawMessage, error)
	}
)

// poolJobs has Nomad parse the jobs of the pools; the result is by the names of pools.
func (c *Config) poolJobs(ctx context.Context, nomad jobParser, kept jobStore, warn func(text string, args ...any)) (map[string]*pool.Job, error) {
	jobs := map[string]*pool.Job{}
	for _, p := range c.Pools {
		if p.Job == "" {
			continue
		}
		f, problems := p.readJob()
		job, err := parsedJob(ctx, f, problems, p, nomad, kept, warn)
		if err != nil {
			return nil, err
		}
		jobs[p.Name] = job
	}
	return jobs, nil
}

// parsedJob is a pool's job as Nomad parses it.
func parsedJob(ctx context.Context, f *jobfile.File, problems []string, p PoolConfig, nomad jobParser, kept jobStore, warn func(text string, args ...any)) (*pool.Job, error) {
	if len(problems) > 0 {
		return nil, wrongJob(p, problems)
	}
	if f.Job != nil {
		return f.Job, nil
	}
	var job *pool.Job
	for until := time.Now().Add(nomadWait); ; {
		asked, err := nomad.ParseJob(ctx, f.Source)
		if err == nil {
			job = asked
			break
		}
		if !fault.Is(err, fault.Unavailable) {
			return nil, wrongJob(p, []string{p.Job + ": Nomad refuses it: " + strings.ReplaceAll(err.Error(), "input.hcl", filepath.Base(p.Job))})
		}
		raw, storeErr := kept.PoolJob(ctx, f.Sum)
		if storeErr != nil {
			return nil, storeErr
		}
		if raw != nil {
			warn("Nomad is away: a pool runs with what Nomad made of its job before", "pool", p.Name, "job", p.Job, "error", err)
			return keptJob(p, raw)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return nil, fmt.Errorf("pool %s: Nomad must parse %s once before a master can start without it: %w", p.Name, p.Job, err)
		}
		warn("waiting for Nomad, which has never parsed the job of a pool", "pool", p.Name, "job", p.Job, "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(nomadRetry):
		}
	}
	if found := in(p.Job, jobfile.Check(job)); len(found) > 0 {
		return nil, wrongJob(p, found)
	}
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	return job, kept.SavePoolJob(ctx, f.Sum, raw)
}

// keptJob reads what Nomad made of a job, and checks it again: this master may allow less
// than the one that kept it.
func keptJob(p PoolConfig, raw json.RawMessage) (*pool.Job, error) {
	var job pool.Job
	if err := json.Unmarshal(raw, &job); err != nil {
		return nil, fmt.Errorf("pool %s: its stored job: %w", p.Name, err)
	}
	if found := in(p.Job, jobfile.Check(&job)); len(found) > 0 {
		return nil, wrongJob(p, found)
	}
	return &job, nil
}

func wrongJob(p PoolConfig, problems []string) error {
	return fault.New(fault.Invalid, "the job of pool %s has %s:\n  %s", p.Name, problemCount(len(problems)), strings.Join(problems, "\n  "))
}

// completeJob sets what the job of a pool does not set.
func (p PoolConfig) completeJob(c Config, made pool.Pool) (pool.Pool, error) {
	task := made.Job.TaskGroups[0].Tasks[0]
	if _, says := task.Config["network_mode"]; !says && made.HasImages() && pool.GroupNetwork(made.Job) == pool.HostNetwork {
		if task.Config == nil {
			task.Config = map[string]any{}
		}
		made.Network = p.network(c)
		task.Config["network_mode"] = made.Network
	}
	if made.Network != pool.HostNetwork && loopbackOnly(c.TaskURLs) {
		return made, fault.New(fault.Invalid, "%s: tasks on the network %q cannot reach a master at %s; give task_urls an address of this machine that they reach, or choose host",
			p.Job, made.Network, strings.Join(c.TaskURLs, ", "))
	}
	return made, nil
}

// namespaces are those of Nomad in which the pools' tasks run.
func namespaces(pools pool.Set) []string {
	var list []string
	for _, p := range pools {
		if p.Namespace != "" {
			list = append(list, p.Namespace)
		}
	}
	return list
}
