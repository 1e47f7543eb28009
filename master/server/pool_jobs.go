package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/pool/jobfile"
	"github.com/detent-ml/detent/master/sleep"
)

// A pool may name a file with a Nomad job. The master reads the file twice: with its
// configuration, to report forbidden settings with file and line, and at its start, when Nomad
// parses the file. The database stores the parsed job, so that a master can start while Nomad
// is not reachable (docs/rfd/0006).

// If no parsed job is stored, a starting master asks Nomad every nomadRetry, for at most
// nomadWait.
const (
	nomadRetry = time.Second
	nomadWait  = 2 * time.Minute
)

// besideFile makes relative paths of jobs relative to the folder of the configuration.
func (c *Config) besideFile(dir string) {
	for i := range c.Pools {
		if job := c.Pools[i].Job; job != "" && !filepath.IsAbs(job) {
			c.Pools[i].Job = filepath.Join(dir, job)
		}
	}
}

// readJobs validates the jobs of the pools and copies their drivers.
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
				k.fail(at+"."+said.key, "cannot be set together with job; set it in the job, or remove job")
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
	return each.Of(problems, func(p jobfile.Problem) string { return p.In(file) })
}

// jobParser is Nomad's parser of HCL, and jobStore stores its results.
type (
	jobParser interface {
		ParseJob(ctx context.Context, source string) (*pool.Job, error)
	}
	jobStore interface {
		SavePoolJob(ctx context.Context, sum string, parsed json.RawMessage) error
		PoolJob(ctx context.Context, sum string) (json.RawMessage, error)
	}
)

// poolJobs makes Nomad parse the jobs of the pools; the result is by pool name.
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

// parsedJob returns a pool's job as parsed by Nomad.
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
			return nil, wrongJob(p, []string{p.Job + ": Nomad rejects the job: " + strings.ReplaceAll(err.Error(), "input.hcl", filepath.Base(p.Job))})
		}
		raw, storeErr := kept.PoolJob(ctx, f.Sum)
		if storeErr != nil {
			return nil, storeErr
		}
		if raw != nil {
			warn("Nomad is not reachable; the pool uses its last parsed job", "pool", p.Name, "job", p.Job, "error", err)
			return keptJob(p, raw)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return nil, fmt.Errorf("pool %s: Nomad must parse %s once before a master can start without Nomad: %w", p.Name, p.Job, err)
		}
		warn("waiting for Nomad, which must parse the job of the pool", "pool", p.Name, "job", p.Job, "error", err)
		if sleep.For(ctx, nomadRetry) != nil {
			return nil, ctx.Err()
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

// keptJob decodes a stored job and validates it again: this master may allow less than the one
// that stored it.
func keptJob(p PoolConfig, raw json.RawMessage) (*pool.Job, error) {
	var job pool.Job
	if err := json.Unmarshal(raw, &job); err != nil {
		return nil, fmt.Errorf("pool %s: the stored job cannot be read: %w", p.Name, err)
	}
	if found := in(p.Job, jobfile.Check(&job)); len(found) > 0 {
		return nil, wrongJob(p, found)
	}
	return &job, nil
}

func wrongJob(p PoolConfig, problems []string) error {
	return fault.New(fault.Invalid, "the job of pool %s has %s:\n  %s", p.Name, problemCount(len(problems)), strings.Join(problems, "\n  "))
}

// completeJob sets the settings that a pool's job does not have.
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
		return made, fault.New(fault.Invalid, "%s: tasks on the network %q cannot reach the master at %s; set task_urls to an address that they can reach, or the network to host",
			p.Job, made.Network, strings.Join(c.TaskURLs, ", "))
	}
	return made, nil
}

// namespaces lists the Nomad namespaces of the pools' tasks.
func namespaces(pools pool.Set) []string {
	var list []string
	for _, p := range pools {
		if p.Namespace != "" {
			list = append(list, p.Namespace)
		}
	}
	return list
}
