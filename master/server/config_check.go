package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/server/internal/determined"
)

// check returns all problems of the configuration.
func (c *Config) check() []string {
	k := checker{}
	if c.Database == "" {
		k.fail("database", "is missing; set it to the address of a PostgreSQL database, such as postgres://user:password@host:5432/detent")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		k.fail("listen", "expected host:port, found %q", c.Listen)
	}
	k.url("public_url", c.PublicURL)
	for i, address := range c.TaskURLs {
		if address != c.PublicURL { // which is the default
			k.url(fmt.Sprintf("task_urls[%d]", i), address)
		}
	}
	if c.StopAfter < Duration(minStopAfter) {
		k.fail("stop_after", "must be at least %s, more than the time between heartbeats of Nomad's clients; found %s", minStopAfter, time.Duration(c.StopAfter))
	}
	c.checkTasks(&k)
	c.checkIngress(&k)
	c.checkRetention(&k)
	c.QueueRecording.check(&k)
	c.checkLogSinks(&k)
	c.checkEdge(&k)
	c.checkConnections(&k)
	c.TLS.check(&k)
	k.url("nomad.address", c.Nomad.Address)
	if c.Nomad.UI != "" {
		k.url("nomad.ui", c.Nomad.UI)
	}
	if c.Consul.Address != "" {
		k.url("consul.address", c.Consul.Address)
	}
	c.Vault.check(&k)
	c.Webhooks.check(&k, c.PublicURL)
	c.WebIdentity.check(&k)
	k.oneOf("log_level", c.LogLevel, "trace", "debug", "info", "warning", "error")
	c.Tokens.check(&k)
	c.Audit.check(&k)
	c.checkProviders(&k)
	c.checkSCIM(&k)
	c.checkJobSignIn(&k)
	k.oneOf("security.authz.type", c.Security.Authz.Type, authzBasic, authzRoles)
	k.oneOf("checkpoint_sweep", c.CheckpointSweep, string(control.SweepNone), string(control.SweepOwn), string(control.SweepAll))
	k.oneOf("blank_passwords", c.BlankPasswords, "loopback", "always", "never")
	if !c.SharedRawExec && !onLoopback(c.Listen) {
		for i, p := range c.Pools {
			if p.Driver == "raw_exec" {
				k.fail(fmt.Sprintf("resource_pools[%d].driver", i), "raw_exec is for one person's machine, because any task there can read the secrets of other tasks, "+
					"and this master listens on %s for other machines; use exec, or set shared_raw_exec: true if all users may trust each other", c.Listen)
			}
		}
	}
	if c.Python != "" && !strings.HasPrefix(c.Python, "/") {
		k.fail("python", "expected the absolute path of a Python on the nodes, found %q", c.Python)
	}
	c.checkNumbers(&k)
	c.checkPools(&k)
	c.checkMounts(&k)
	c.checkRegions(&k)
	if _, err := c.storage(); err != nil {
		k.section("checkpoint_storage", err)
	}
	defaults, err := parseTaskDefaults(c.TaskContainerDefaults)
	if err != nil {
		k.section("task_container_defaults", err)
	}
	checkRegistryAuth(&k, "task_container_defaults", defaults)
	return k.problems
}

// checkNumbers checks ranges.
func (c *Config) checkNumbers(k *checker) {
	if c.AvoidNodeAfter < 0 {
		k.fail("avoid_node_after", "expected a number of failures, or 0 for never; found %d", c.AvoidNodeAfter)
	}
	if c.NotebookTimeout < 0 || c.TensorboardTimeout < 0 {
		k.fail("notebook_timeout, tensorboard_timeout", "expected a number of seconds, or 0 for never; found %d and %d", c.NotebookTimeout, c.TensorboardTimeout)
	}
	if c.SearchMemory < 0 || c.SearchMemory > maxSearchMemory {
		k.fail("search_memory_mb", "expected 0 to %d, found %d", maxSearchMemory, c.SearchMemory)
	}
	c.DatabaseLimits.check(k)
	if c.DatabaseConns < 4 {
		k.fail("database_conns", "expected at least 4, found %d", c.DatabaseConns)
	}
}

// minStopAfter is longer than the 10 s between the heartbeats of a small cluster: with 10 s,
// every trial restarted all the time.
const minStopAfter = 12 * time.Second

var poolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// checkPools validates the resource pools.
func (c *Config) checkPools(k *checker) {
	names := map[string]bool{}
	for i, p := range c.Pools {
		at := fmt.Sprintf("resource_pools[%d]", i)
		if p.Name == "" || names[p.Name] {
			k.fail(at+".name", "every pool needs a unique name, found %q", p.Name)
		} else if !poolName.MatchString(p.Name) {
			k.fail(at+".name", "expected letters, digits, dots, dashes and underscores, up to 128, found %q", p.Name)
		}
		names[p.Name] = true
		k.oneOf(at+".driver", p.Driver, pool.Drivers()...)
		p.checkDocker(k, at)
		p.checkNetwork(k, at, c.TaskURLs)
		p.checkScheduler(k, at)
		p.checkPodSpecs(k, at)
		p.checkElastic(k, at)
		c.checkHomes(k, at, p)
		k.oneOf(at+".slots", p.Slots, "cpu", "device")
		if p.Slots == "device" && p.Device == "" {
			k.fail(at+".device", "a pool of devices needs the name of the device in Nomad, such as nvidia/gpu")
		}
		if p.Priority < 1 || p.Priority > 99 {
			k.fail(at+".default_priority", "must be from 1 to 99, found %d", p.Priority)
		}
		if p.MaxRuntime != 0 && time.Duration(p.MaxRuntime) < time.Minute {
			k.fail(at+".max_runtime", "must be at least 1m, found %s", time.Duration(p.MaxRuntime))
		}
		if p.Python != "" && !strings.HasPrefix(p.Python, "/") {
			k.fail(at+".python", "expected the absolute path of a Python on the nodes, found %q", p.Python)
		}
		if p.Slots == "cpu" && p.Device != "" {
			k.fail(at+".device", "requires slots: device; this pool has slots: %s; found %q", p.Slots, p.Device)
		}
		for _, n := range []struct {
			key   string
			value int
		}{{"slots_per_node", p.SlotsPerNode}, {"max_slots_per_node", p.MaxSlotsPerNode}, {"aux_memory_mb", p.AuxMemoryMB}, {"max_aux_containers_per_agent", p.MaxAux}} {
			if n.value < 0 {
				k.fail(at+"."+n.key, "must not be below 0, found %d", n.value)
			}
		}
		if p.CoresPerSlot < 1 || p.MemoryMBPerSlot < 0 || p.MemoryMBPerSlot == 0 && p.Slots == "cpu" {
			k.fail(at, "a slot needs at least one core and 1 MB")
		}
	}
	if !names[c.DefaultComputePool] {
		k.fail("default_compute_resource_pool", "there is no pool %q", c.DefaultComputePool)
	}
	if c.DefaultAuxPool != c.DefaultComputePool && !names[c.DefaultAuxPool] {
		k.fail("default_aux_resource_pool", "there is no pool %q", c.DefaultAuxPool)
	}
	c.checkAuxPool(k)
}

type checker struct{ problems []string }

func (k *checker) fail(key, format string, args ...any) {
	k.problems = append(k.problems, key+": "+fmt.Sprintf(format, args...))
}

// section reports each problem of a section that has the form of an experiment's configuration, with its path in the master's.
func (k *checker) section(key string, err error) {
	problems, several := errors.AsType[document.Errors](err)
	if !several {
		k.fail(key, "%v", err)
	}
	for _, p := range problems {
		at := p.Path
		if !within(at, key) {
			at = document.Join(key, at)
		}
		hint, _ := determined.Hint(at)
		if p.Hint != "" {
			hint = "; " + p.Hint + hint
		}
		k.fail(at, "%s%s", p.Message, hint)
	}
}

func (k *checker) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		k.fail(key, "expected one of %s, found %q", strings.Join(allowed, ", "), value)
	}
}

func (k *checker) url(key, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" && u.Scheme != "unix" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix" {
		k.fail(key, "expected an address such as http://host:port, found %q", value)
	}
}
