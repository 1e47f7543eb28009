package server

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

// Config is everything that a master can be told. It is read from a file, then
// from the environment (DETENT_ and the key in capitals, dots as underscores),
// then from flags; the later wins.
type Config struct {
	Listen    string   `yaml:"listen"`     // host:port
	PublicURL string   `yaml:"public_url"` // what links in Nomad's UI lead to
	TaskURLs  []string `yaml:"task_urls"`  // where tasks find masters; public_url when empty
	// Pages of notebooks and TensorBoards have another origin than the API: a
	// listener of their own, and its address as browsers reach it, or a domain within
	// which each task has a host.
	TasksListen    string    `yaml:"tasks_listen"` // host:port; empty for none
	TasksURL       string    `yaml:"tasks_url"`    // public_url's host at the port of tasks_listen when empty, unless something before the master speaks TLS
	TasksDomain    string    `yaml:"tasks_domain"` // tasks.example.com, or with a port; *.<domain> leads to a master
	Database       string    `yaml:"database"`     // postgres://…
	DatabaseConns  int       `yaml:"database_conns"`
	ClusterName    string    `yaml:"cluster_name"`
	ServiceName    string    `yaml:"service_name"` // of the masters, where there are several: tasks then find whichever is healthy
	LogLevel       string    `yaml:"log_level"`
	TLS            TLSConfig `yaml:"tls"`             // of the master itself
	BlankPasswords string    `yaml:"blank_passwords"` // loopback, always or never
	// SharedRawExec says that the operators know: under raw_exec a task can read
	// the secrets of every other task on its node.
	SharedRawExec bool `yaml:"shared_raw_exec"`

	Hosts           []string    `yaml:"hosts"`            // names under which the master is called, beside public_url's and its machine's; *.example.com for all of a domain
	TrustedProxies  []string    `yaml:"trusted_proxies"`  // addresses or networks of what stands before the master: their X-Forwarded-For is believed
	InitialPassword string      `yaml:"initial_password"` // of the user admin, while that has none
	CheckpointRoots []string    `yaml:"checkpoint_roots"` // folders below which the master reads checkpoints, for downloads; checkpoint_storage's when empty
	Spool           SpoolConfig `yaml:"spool"`            // where requests lie while they arrive

	Nomad  NomadConfig  `yaml:"nomad"`
	Consul ConsulConfig `yaml:"consul"`
	Vault  VaultConfig  `yaml:"vault"`
	Pools  []PoolConfig `yaml:"resource_pools"`

	WebIdentity WebIdentityConfig `yaml:"web_identity"`
	S3Region    string            `yaml:"s3_region"` // of tasks and of the master; us-east-1 where nothing says otherwise

	DefaultComputePool string `yaml:"default_compute_resource_pool"`
	DefaultAuxPool     string `yaml:"default_aux_resource_pool"`

	CheckpointStorage     any `yaml:"checkpoint_storage"`
	TaskContainerDefaults any `yaml:"task_container_defaults"`

	// Python is what tasks find as python3 on nodes without containers, where their pool does
	// not say.
	Python string `yaml:"python"`

	RunnerPath  string `yaml:"runner_path"`  // the det-runner that tasks fetch from here; empty for the one beside det-master
	DetPath     string `yaml:"det_path"`     // the det that tasks fetch from here; empty for the one beside det-runner
	HarnessPath string `yaml:"harness_path"` // the Python package that tasks fetch from here; empty for the folder harness beside det-master

	StopAfter    Duration `yaml:"stop_after"` // a node that lost Nomad ends its tasks after that
	PlaceTimeout Duration `yaml:"place_timeout"`
	PullTimeout  Duration `yaml:"pull_timeout"`

	// An experiment avoids a node on which so many of its attempts failed in a row,
	// while there is another; 0 is never.
	AvoidNodeAfter int `yaml:"avoid_node_after"`

	// Seconds after which a notebook or TensorBoard that nobody uses is ended, where
	// its own configuration does not say; 0 is never.
	NotebookTimeout    int `yaml:"notebook_timeout"`
	TensorboardTimeout int `yaml:"tensorboard_timeout"`
}

// NomadConfig says how to reach Nomad.
type NomadConfig struct {
	Address     string   `yaml:"address"`
	Token       string   `yaml:"token"`
	TokenFile   string   `yaml:"token_file"`
	Region      string   `yaml:"region"`
	Namespace   string   `yaml:"namespace"`
	Datacenters []string `yaml:"datacenters"`
	CAFile      string   `yaml:"ca_file"`
	CertFile    string   `yaml:"cert_file"`
	KeyFile     string   `yaml:"key_file"`
}

// ConsulConfig says how to reach Consul; without an address Nomad's own services
// are used.
type ConsulConfig struct {
	Address   string `yaml:"address"`
	Token     string `yaml:"token"`
	TokenFile string `yaml:"token_file"`
	CAFile    string `yaml:"ca_file"`
}

// PoolConfig is one resource pool.
type PoolConfig struct {
	Name            string `yaml:"name"`
	Description     string `yaml:"description"`
	NodePool        string `yaml:"node_pool"`    // of Nomad; default
	Driver          string `yaml:"driver"`       // raw_exec, exec, docker
	NetworkMode     string `yaml:"network_mode"` // of tasks on one node: host, bridge, or a network's name
	Slots           string `yaml:"slots"`        // cpu or device
	Device          string `yaml:"device"`       // nvidia/gpu
	CoresPerSlot    int    `yaml:"cores_per_slot"`
	MemoryMBPerSlot int    `yaml:"memory_mb_per_slot"`
	MaxSlotsPerNode int    `yaml:"max_slots_per_node"`
	SlotsPerNode    int    `yaml:"slots_per_node"` // of cpu, whatever a node's size; 0 cuts them by size
	MaxAux          int    `yaml:"max_aux_containers_per_agent"`
	AuxMemoryMB     int    `yaml:"aux_memory_mb"` // of a task without slots
	Python          string `yaml:"python"`        // what tasks find as python3, on every node
	Preemption      bool   `yaml:"preemption"`
	Priority        int    `yaml:"default_priority"`

	TaskContainerDefaults any          `yaml:"task_container_defaults"` // over the cluster's
	Docker                DockerConfig `yaml:"docker"`
}

// Duration is a time.Duration that reads 30s or 5m.
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration such as 30s or 5m", b)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads it from a YAML scalar.
func (d *Duration) UnmarshalYAML(b []byte) error {
	return d.UnmarshalText([]byte(strings.Trim(strings.TrimSpace(string(b)), `"'`)))
}

// Defaults is a master that only needs its database.
func Defaults() Config {
	return Config{
		Listen: "127.0.0.1:8080", ClusterName: "detent", LogLevel: "info", BlankPasswords: "loopback", DatabaseConns: 16, Spool: SpoolConfig{MaxMB: 8192},
		Nomad:              NomadConfig{Address: "http://127.0.0.1:4646", Namespace: "default", Datacenters: []string{"*"}},
		TensorboardTimeout: 300, AvoidNodeAfter: 3, StopAfter: Duration(2 * time.Minute), PlaceTimeout: Duration(time.Minute), PullTimeout: Duration(30 * time.Minute),
	}
}

// LoadConfig reads the file (none when path is ""), the environment and the
// flags, given as key=value, and checks the whole. All problems are reported at
// once.
func LoadConfig(path string, environ, flags []string) (Config, error) {
	cfg := Defaults()
	var problems []string
	if path != "" {
		src, err := os.ReadFile(path)
		if err != nil {
			return cfg, fault.New(fault.Invalid, "configuration: %v", err)
		}
		if err := cfg.read(src); err != nil {
			problems = append(problems, path+": "+yaml.FormatError(err, false, true))
		}
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if key, ok := strings.CutPrefix(name, "DETENT_"); ok && !slices.Contains(notOurs, key) {
			if err := cfg.set(strings.ToLower(key), value, "_"); err != nil {
				problems = append(problems, name+": "+err.Error())
			}
		}
	}
	for _, kv := range flags {
		key, value, _ := strings.Cut(kv, "=")
		if err := cfg.set(key, value, "."); err != nil {
			problems = append(problems, "--set "+key+": "+err.Error())
		}
	}
	if program, err := os.Executable(); err == nil {
		cfg.useFilesBeside(program)
	}
	cfg.fill()
	problems = append(problems, cfg.check()...)
	if len(problems) > 0 {
		return cfg, fault.New(fault.Invalid, "the master's configuration has %s:\n  %s", count(len(problems)), strings.Join(problems, "\n  "))
	}
	return cfg, nil
}

// read lays a file over what is there. A file of nothing but comments says
// nothing; the library would take it for an order to forget the rest.
func (c *Config) read(src []byte) error {
	var probe any
	if err := yaml.Unmarshal(src, &probe); err != nil || probe == nil {
		return err
	}
	return yaml.UnmarshalWithOptions(src, c, yaml.Strict())
}

// notOurs are variables of the same family that other programs read.
var notOurs = []string{"BINARY", "CACHE", "STATE", "COMPAT_PYTHON", "DEMO_PYTHON", "TEST_POSTGRES", "PGTEST_KEEPER"}

func count(n int) string {
	if n == 1 {
		return "a problem"
	}
	return fmt.Sprintf("%d problems", n)
}

// set gives one key a value written as text. Keys of nested parts are joined by
// sep, which may occur in names as well: the longest name that fits is meant.
func (c *Config) set(key, value, sep string) error {
	v, ok := lookup(reflect.ValueOf(c).Elem(), key, sep)
	if !ok {
		return fmt.Errorf("no such key; known are %s", strings.Join(keysOf(reflect.TypeFor[Config](), ""), ", "))
	}
	if t, ok := v.Addr().Interface().(*Duration); ok {
		return t.UnmarshalText([]byte(value))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("expected a whole number, found %q", value)
		}
		v.SetInt(int64(n))
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.String {
			return yaml.Unmarshal([]byte(value), v.Addr().Interface())
		}
		v.Set(reflect.ValueOf(strings.Split(value, ",")))
	default:
		return yaml.Unmarshal([]byte(value), v.Addr().Interface())
	}
	return nil
}

func lookup(v reflect.Value, key, sep string) (reflect.Value, bool) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == key {
			return v.Field(i), true
		}
		if rest, ok := strings.CutPrefix(key, name+sep); ok && v.Field(i).Kind() == reflect.Struct {
			if f, ok := lookup(v.Field(i), rest, sep); ok {
				return f, true
			}
		}
	}
	return reflect.Value{}, false
}

func keysOf(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			out = append(out, keysOf(f.Type, name+".")...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// fill gives what follows from the rest.
func (c *Config) fill() {
	if len(c.Pools) == 0 {
		c.Pools = []PoolConfig{{Name: "default", Description: "CPU slots of all nodes"}}
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		p.Driver = or(p.Driver, "raw_exec")
		p.Slots = or(p.Slots, "cpu")
		p.CoresPerSlot = or(p.CoresPerSlot, 1)
		if p.Slots == "cpu" { // slots that are devices share the memory of their node
			p.MemoryMBPerSlot = or(p.MemoryMBPerSlot, slotMemoryMB)
		}
		p.MaxAux = or(p.MaxAux, 100)
		p.AuxMemoryMB = or(p.AuxMemoryMB, 256)
		p.Priority = or(p.Priority, 42)
		if p.Driver == "raw_exec" { // the others have a file system of their own
			p.Python = or(p.Python, c.Python)
		}
	}
	c.DefaultComputePool = or(c.DefaultComputePool, c.Pools[0].Name)
	c.DefaultAuxPool = or(c.DefaultAuxPool, c.DefaultComputePool)
	if c.PublicURL == "" {
		c.PublicURL = c.scheme() + "://" + c.Listen
	}
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.Vault.fill()
	c.WebIdentity.Audience = or(c.WebIdentity.Audience, "sts.amazonaws.com")
	c.TasksURL = strings.TrimRight(c.TasksURL, "/")
	if len(c.TaskURLs) == 0 {
		c.TaskURLs = []string{c.PublicURL}
	}
}

func or[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// check finds everything that is wrong.
func (c *Config) check() []string {
	k := checker{}
	if c.Database == "" {
		k.fail("database", "is missing; give the address of a PostgreSQL database, such as postgres://user:password@host:5432/detent")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		k.fail("listen", "expected host:port, found %q", c.Listen)
	}
	k.url("public_url", c.PublicURL)
	c.checkTasks(&k)
	c.checkEdge(&k)
	c.TLS.check(&k)
	k.url("nomad.address", c.Nomad.Address)
	if c.Consul.Address != "" {
		k.url("consul.address", c.Consul.Address)
	}
	c.Vault.check(&k)
	c.WebIdentity.check(&k)
	k.oneOf("log_level", c.LogLevel, "trace", "debug", "info", "warning", "error")
	k.oneOf("blank_passwords", c.BlankPasswords, "loopback", "always", "never")
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && !c.SharedRawExec && !net.ParseIP(host).IsLoopback() && host != "localhost" {
		for i, p := range c.Pools {
			if p.Driver == "raw_exec" {
				k.fail(fmt.Sprintf("resource_pools[%d].driver", i), "raw_exec is for one person's machine, because any task can read the secrets of the others there, "+
					"and this master listens for others on %s; use exec, or set shared_raw_exec: true if all users may trust each other", c.Listen)
			}
		}
	}
	if c.Python != "" && !strings.HasPrefix(c.Python, "/") {
		k.fail("python", "expected the whole path of a Python on the nodes, found %q", c.Python)
	}
	if c.AvoidNodeAfter < 0 {
		k.fail("avoid_node_after", "a number of failures, 0 for never; found %d", c.AvoidNodeAfter)
	}
	if c.NotebookTimeout < 0 || c.TensorboardTimeout < 0 {
		k.fail("notebook_timeout, tensorboard_timeout", "a number of seconds, 0 for never; found %d and %d", c.NotebookTimeout, c.TensorboardTimeout)
	}
	if c.DatabaseConns < 4 {
		k.fail("database_conns", "at least 4 are needed, found %d", c.DatabaseConns)
	}
	names := map[string]bool{}
	for i, p := range c.Pools {
		at := fmt.Sprintf("resource_pools[%d]", i)
		if p.Name == "" || names[p.Name] {
			k.fail(at+".name", "every pool needs a name of its own, found %q", p.Name)
		}
		names[p.Name] = true
		k.oneOf(at+".driver", p.Driver, "raw_exec", "exec", "docker")
		p.checkDocker(&k, at)
		p.checkNetwork(&k, at, c.TaskURLs)
		k.oneOf(at+".slots", p.Slots, "cpu", "device")
		if p.Slots == "device" && p.Device == "" {
			k.fail(at+".device", "a pool of devices needs their name in Nomad, such as nvidia/gpu")
		}
		if p.Priority < 1 || p.Priority > 99 {
			k.fail(at+".default_priority", "must be from 1 to 99, found %d", p.Priority)
		}
		if p.Python != "" && !strings.HasPrefix(p.Python, "/") {
			k.fail(at+".python", "expected the whole path of a Python on the nodes, found %q", p.Python)
		}
		if p.CoresPerSlot < 1 || p.MemoryMBPerSlot < 0 || p.MemoryMBPerSlot == 0 && p.Slots == "cpu" {
			k.fail(at, "a slot has at least one core and 1 MB")
		}
	}
	for _, name := range []string{c.DefaultComputePool, c.DefaultAuxPool} {
		if !names[name] {
			k.fail("default_compute_resource_pool", "there is no pool %q", name)
		}
	}
	if _, err := c.storage(); err != nil {
		k.fail("checkpoint_storage", "%v", err)
	}
	if _, err := c.taskDefaults(); err != nil {
		k.fail("task_container_defaults", "%v", err)
	}
	return k.problems
}

type checker struct{ problems []string }

func (k *checker) fail(key, format string, args ...any) {
	k.problems = append(k.problems, key+": "+fmt.Sprintf(format, args...))
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

// storage is the cluster's checkpoint storage, as a fragment to lie under an
// experiment's own.
func (c *Config) storage() (*expconf.RawCheckpointStorage, error) {
	if c.CheckpointStorage == nil {
		return nil, nil
	}
	src, err := yaml.Marshal(map[string]any{"checkpoint_storage": c.CheckpointStorage})
	if err != nil {
		return nil, err
	}
	raw, _, err := expconf.Parse("checkpoint_storage", src)
	return raw.CheckpointStorage, err
}

func (c *Config) taskDefaults() (expconf.TaskContainerDefaults, error) {
	return parseTaskDefaults(c.TaskContainerDefaults)
}
