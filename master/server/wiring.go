package server

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/webui"
)

// taskFiles are the files that tasks fetch from the master.
type taskFiles struct {
	runner    task.Runner   // for this master's platform
	runners   []task.Runner // for others
	authority string        // that tasks trust, PEM; "": those of their nodes
}

// platforms lists the platforms that have a runner.
func (f *taskFiles) platforms() []string {
	return append([]string{f.runner.Target}, each.Of(f.runners, func(r task.Runner) string { return r.Target })...)
}

func readTaskFiles(cfg Config) (taskFiles, error) {
	var f taskFiles
	if cfg.RunnerPath == "" {
		return f, fmt.Errorf("runner_path: is not set, and the folder of det-master has no det-runner; set it to the path of det-runner, which tasks fetch from the master")
	}
	var err error
	if f.runner, err = readRunner(cfg.RunnerPath, artifacts.Platform()); err != nil {
		return f, fmt.Errorf("runner_path: %w", err)
	}
	dir := filepath.Dir(cfg.RunnerPath)
	others, err := artifacts.OtherPlatforms(dir)
	if err != nil {
		return f, fmt.Errorf("runner_path: %w", err)
	}
	for _, target := range others {
		r, err := readRunner(artifacts.Path(dir, artifacts.Runner, target), target)
		if err != nil {
			return f, fmt.Errorf("runner_path: %w", err)
		}
		f.runners = append(f.runners, r)
	}
	if f.authority, err = cfg.TLS.authority(); err != nil {
		return f, fmt.Errorf("tls.ca_file: %w", err)
	}
	return f, nil
}

// readRunner reads the checksums of a runner and of the remover in the same folder, for jobs.
func readRunner(path, target string) (r task.Runner, err error) {
	r.Target = target
	if r.SHA256, err = artifacts.Hash(path); err != nil {
		return r, err
	}
	if r.ArchiveSHA, err = artifacts.ArchiveHash(path); err != nil {
		return r, err
	}
	if r.RemoverSHA, err = artifacts.Hash(artifacts.Path(filepath.Dir(path), artifacts.Remover, target)); err != nil {
		return r, fmt.Errorf("det-remover, which removes checkpoints, must be in the folder of det-runner: %w", err)
	}
	return r, nil
}

// detPath is the path of the det for programs in tasks; "" if there is none.
func (c Config) detPath() string {
	path := cmp.Or(c.DetPath, filepath.Join(filepath.Dir(c.RunnerPath), "det"))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

func (m *master) loopConfig() control.Config {
	t := lifecycle.DefaultTiming()
	t.StopAfter, t.Place, t.Pull = time.Duration(m.cfg.StopAfter), time.Duration(m.cfg.PlaceTimeout), time.Duration(m.cfg.PullTimeout)
	cfg := control.Config{Timing: t, Task: m.site.Job, Pools: m.pools, AvoidAfter: m.cfg.AvoidNodeAfter, LaunchError: m.cfg.LaunchError, Leftovers: m.nomad,
		Roles: m.cfg.roles(), Memory: searchBudget(m.cfg, os.Getenv), Retention: m.cfg.retention(), Sweeps: control.Sweeps(m.cfg.CheckpointSweep), Recording: m.cfg.QueueRecording.limits()}
	cfg.Timing.Read = control.ReadWithin
	cfg.Region, cfg.Regions = m.cfg.Nomad.Region, m.loopRegions()
	if m.vault != nil {
		cfg.Secrets, cfg.UserSecrets = granter{m.vault, m.site.SignIn, m.db}, m.site.Secrets
	}
	return cfg
}

// apiConfig is the configuration of the API.
func (m *master) apiConfig() (api.Config, error) {
	c := api.Config{ClusterName: m.cfg.ClusterName, ClusterID: m.clusterID, MasterID: m.masterID, Version: v1.Compatible,
		DetentVersion: v1.Version, PublicURL: m.cfg.PublicURL, NomadUI: m.cfg.Nomad.UI, BlankLogin: m.blankLogin, RunnerDir: filepath.Dir(m.cfg.RunnerPath),
		HarnessDir: m.cfg.HarnessPath, Pages: webui.Files(), Redacted: m.redacted, ApplySettings: m.applySettings, Namespaces: append([]string{m.cfg.Nomad.Namespace}, namespaces(m.pools)...),
		Site: m.site, Inventory: m.inventory, Measure: m.measure, Roles: m.cfg.roles(), Stored: m.cfg.DatabaseLimits.limits(), Memory: searchBudget(m.cfg, os.Getenv), LaunchError: m.cfg.LaunchError,
		Idle: launch.IdleTimeouts{Notebook: time.Duration(m.cfg.NotebookTimeout) * time.Second, Tensorboard: time.Duration(m.cfg.TensorboardTimeout) * time.Second}}
	c.DetPath = m.cfg.detPath()
	c.Bucket, c.CheckStorage = m.bucket, m.checkStorage
	var err error
	if c.CheckpointStorage, err = m.cfg.storage(); err != nil {
		return c, err
	}
	c.FilesThroughMaster = m.cfg.FilesThroughMaster
	if c.CheckpointRoots, err = m.cfg.checkpointRoots(); err != nil {
		return c, err
	}
	c.Tokens = m.cfg.Tokens.limits()
	c.Logs = m.cfg.logSettings()
	if c.SignIn, err = m.cfg.providers(); err != nil {
		return c, err
	}
	c.JobSignIn = m.jobSignIn()
	if c.SCIM, err = m.cfg.scimSecrets(); err != nil {
		return c, err
	}
	c.Hosts, c.TrustedProxies, c.Receiving = m.cfg.hosts(), m.cfg.trusted(), m.cfg.receiving()
	c.Pools, c.RegionUIs = m.pools, m.cfg.regionUIs()
	if c.Risks, err = m.risks(); err != nil {
		return c, err
	}
	m.warnOfRisks(c.Risks)
	return c, nil
}

// capabilities is what this version supports; the API rejects the rest or warns about it.
func (c *Config) capabilities() expconf.Capabilities {
	return expconf.Capabilities{
		Searchers:  []string{expconf.Single, expconf.Random, expconf.Grid, expconf.AdaptiveASHA, expconf.AsyncHalving, expconf.PBT, expconf.Custom},
		Continue:   true,
		Storage:    []string{expconf.SharedFS, expconf.Directory, expconf.S3, expconf.GCS, expconf.Azure},
		Containers: true, MultiSlot: true, BindMounts: true, ShmSize: true, Profiling: true, MaxSlots: true, SingleNode: true, LogPolicies: true, Webhooks: true,
		LogRetention: true, ProxyPorts: true, OpenPorts: c.UnauthenticatedPorts,
	}
}

// inventory is what a node offers to a pool, for users who look at the cluster.
func (m *master) inventory(name string, row nodes.Row) *sched.Node {
	p := m.pools.Named(name)
	if p == nil {
		return nil
	}
	n, err := control.Offer(p, row, cluster.Use{})
	if err != nil {
		return nil
	}
	return n
}

// measure is what the devices of a node measure now.
func (m *master) measure(ctx context.Context, node string) ([]v1.DeviceMeasurement, error) {
	name, err := nodes.RegionOf(ctx, m.db, node)
	if err != nil {
		return nil, err
	}
	list, err := m.nomadIn(name).Measure(ctx, node)
	out := make([]v1.DeviceMeasurement, len(list))
	for i, d := range list {
		out[i] = v1.DeviceMeasurement{UUID: d.Device, TemperatureC: whole(d.TemperatureC), Utilization: whole(d.Utilization),
			MemoryUsedMiB: whole(d.MemoryUsedMiB), MemoryTotalMiB: whole(d.MemoryAllMiB), PowerWatts: d.PowerWatts, PowerLimitWatts: d.PowerLimitWatts,
			UncorrectedErrors: whole(d.UncorrectedErrors)}
	}
	return out, err
}

func whole(n *int64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// members adapts the catalogue to the API's interface.
type members struct{ d *discovery.Discovery }

func (m members) Members(ctx context.Context, allocationID string) (map[int]attempts.Endpoint, error) {
	found, err := m.d.Members(ctx, allocationID)
	out := make(map[int]attempts.Endpoint, len(found))
	for rank, e := range found {
		out[rank] = attempts.Endpoint(e)
	}
	return out, err
}

// connect makes the client of Nomad. Without a token of its own the master uses the token of
// its workload identity, which Nomad sets in the environment or in a file.
func (m *master) connect() (*cluster.Cluster, error) {
	n := m.cfg.Nomad
	return cluster.New(cluster.Config{Address: n.Address, Token: cmp.Or(n.Token, os.Getenv("NOMAD_TOKEN")), TokenFile: n.TokenFile,
		Namespace: n.Namespace, Namespaces: namespaces(inRegion(m.pools, "")), Region: n.Region, TLS: cluster.TLS{CA: n.CAFile, Cert: n.CertFile, Key: n.KeyFile},
		ClusterID: m.clusterID, Log: m.log})
}

// catalogueOf is where addresses of tasks of a region are registered: a datacenter of Consul ("": that of
// Consul's agent), or Nomad's own services.
func (m *master) catalogueOf(nomad *cluster.Cluster, datacenter string) (discovery.Catalogue, error) {
	if m.cfg.Consul.Address != "" {
		return m.consul(datacenter)
	}
	return discovery.Nomad(func(ctx context.Context, service string) ([]discovery.Instance, error) {
		found, err := nomad.Services(ctx, service)
		return each.Of(found, func(f cluster.Service) discovery.Instance {
			return discovery.Instance{Address: f.Address, Port: f.Port, Tags: f.Tags, Index: f.Index}
		}), err
	}), nil
}

// consul makes a client of a datacenter of Consul; "": that of its agent.
func (m *master) consul(datacenter string) (*discovery.Consul, error) {
	c := m.cfg.Consul
	return discovery.NewConsul(discovery.ConsulConfig{Address: c.Address, Token: cmp.Or(c.Token, os.Getenv("CONSUL_HTTP_TOKEN")),
		TokenFile: c.TokenFile, CAFile: c.CAFile, Datacenter: datacenter})
}
