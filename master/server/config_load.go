package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/spelling"
)

// Duration is a time.Duration that can be decoded from text such as 30s, 5m or 7d.
type Duration time.Duration

// UnmarshalText decodes a duration from text.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if days, isDays := strings.CutSuffix(string(b), "d"); isDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		v = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration such as 30s or 5m", b)
	}
	*d = Duration(v)
	return nil
}

// Defaults returns the configuration of a master without the address of its database.
func Defaults() Config {
	return Config{
		Listen: "127.0.0.1:8080", Retention: RetentionConfig{LogDays: -1, Schedule: "1h"}, ClusterName: "detent", LogLevel: "info", BlankPasswords: "loopback", CheckpointSweep: string(control.SweepOwn), Security: SecurityConfig{Authz: AuthzConfig{Type: authzBasic}}, DatabaseConns: 16, DatabaseLimits: DatabaseLimitsConfig{UserMB: 100_000, TaskLogMB: 10_000, TrialMetricsMB: 10_000}, Spool: SpoolConfig{MaxMB: 8192},
		Tokens: TokensConfig{MaxDays: 365, DefaultDays: 30},
		SCIM:   SCIMConfig{Auth: SCIMAuthConfig{Type: scimBearer}},
		Audit:  AuditConfig{KeepDays: 400}, QueueRecording: QueueRecordingConfig{Days: 62, MaxMB: 4096},
		Connections: ConnectionsConfig{Max: 8192, MaxPerAddress: 1024},
		Nomad:       NomadConfig{Address: "http://127.0.0.1:4646", Namespace: "default", Datacenters: []string{"*"}},
		LaunchError: true, TensorboardTimeout: 300, AvoidNodeAfter: 3, StopAfter: Duration(2 * time.Minute), PlaceTimeout: Duration(time.Minute), PullTimeout: Duration(30 * time.Minute),
	}
}

// LoadConfig reads the file (none if path is ""), the environment and the flags, given as
// key=value, and validates the result. It reports all problems at once.
func LoadConfig(path string, environ, flags []string) (Config, error) {
	return loadConfig(Defaults(), path, environ, flags)
}

// CheckConfig validates a configuration, and names its keys that have no effect. The address of the database may be missing: it is a
// secret, which the master's job sets by other means.
func CheckConfig(path string, environ, flags []string) (withoutEffect []string, err error) {
	cfg := Defaults()
	cfg.Database = "postgres://"
	cfg, err = loadConfig(cfg, path, environ, flags)
	return cfg.withoutEffect(), err
}

func loadConfig(cfg Config, path string, environ, flags []string) (Config, error) {
	var problems []string
	from := sources{}
	f := fileReader{}
	var idle []string
	if path != "" {
		src, err := os.ReadFile(path)
		if err != nil {
			return cfg, fault.New(fault.Invalid, "configuration: %v", err)
		}
		f = cfg.read(src)
		for _, p := range f.problems {
			problems = append(problems, path+":"+p)
		}
		for _, p := range f.idle {
			idle = append(idle, path+":"+p)
		}
		for key, at := range f.places {
			from[key] = path + ":" + at
		}
		cfg.besideFile(filepath.Dir(path))
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		// An empty variable is none: the job's template writes one for each secret that nobody has set.
		if key, ok := strings.CutPrefix(name, "DETENT_"); ok && value != "" && !slices.Contains(foreignVariables, key) {
			full, err := cfg.set(strings.ToLower(key), value, "_")
			if err != nil {
				problems = append(problems, name+": "+err.Error())
			}
			from.override(full, name)
		}
	}
	for _, kv := range flags {
		key, value, given := strings.Cut(kv, "=")
		if !given {
			problems = append(problems, fmt.Sprintf("--set %s: expected key=value", kv))
			continue
		}
		full, err := cfg.set(key, value, ".")
		if err != nil {
			problems = append(problems, "--set "+key+": "+err.Error())
		}
		from.override(full, "--set")
	}
	if program, err := os.Executable(); err == nil {
		cfg.useFilesBeside(program)
	}
	if !f.unread { // the check needs a complete configuration
		jobs := cfg.readJobs()
		problems = append(problems, jobs...)
		if len(jobs) == 0 {
			cfg.fill()
			for _, p := range cfg.check() {
				if !f.rejected(p) {
					problems = append(problems, from.of(p)+p)
				}
			}
		}
	}
	return cfg, configurationFault(problems, idle)
}

// configurationFault lists what somebody has to correct first, and then the keys of Determined that only have to go. It is nil if there is neither.
func configurationFault(problems, idle []string) error {
	var parts []string
	if len(problems) > 0 {
		parts = append(parts, fmt.Sprintf("the master's configuration has %s:\n  %s", problemCount(len(problems)), strings.Join(problems, "\n  ")))
	}
	if len(idle) > 0 {
		parts = append(parts, fmt.Sprintf("keys of Determined that have no meaning here, and only have to be deleted: %d\n  %s", len(idle), strings.Join(idle, "\n  ")))
	}
	if len(parts) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "%s", strings.Join(parts, "\n"))
}

// foreignVariables are variables with the same prefix that other programs read, and who asks the old master of an import.
var foreignVariables = []string{"BINARY", "CACHE", "STATE", "COMPAT_PYTHON", "DEMO_PYTHON", "TEST_POSTGRES", "PGTEST_KEEPER", "IMPORT_TOKEN", "IMPORT_USER", "IMPORT_PASSWORD"}

func problemCount(n int) string {
	if n == 1 {
		return "a problem"
	}
	return fmt.Sprintf("%d problems", n)
}

// set sets one key to a value given as text. Keys of nested sections are joined by sep. Names
// may contain sep too; the longest name that matches is used. full is the key with dots.
func (c *Config) set(key, value, sep string) (full string, err error) {
	v, full := lookup(reflect.ValueOf(c).Elem(), key, sep, "")
	if full == "" {
		return "", errors.New("no such key" + nearestKey(strings.ReplaceAll(key, sep, ".")))
	}
	return full, setValue(v, full, value)
}

// nearestKey suggests a key of the configuration.
func nearestKey(key string) string {
	if near := spelling.Nearest(key, keysOf(reflect.TypeFor[Config](), "")); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; docs/operate/configuration.md lists them all"
}

// setValue sets a value that is given as text. A word is taken as it is: it may be a password with any characters.
func setValue(v reflect.Value, full, value string) error {
	if t, ok := v.Addr().Interface().(*Duration); ok {
		return t.UnmarshalText([]byte(value))
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(value)
		return nil
	case v.Kind() == reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("expected a whole number, found %q", value)
		}
		v.SetInt(int64(n))
		return nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
		v.Set(reflect.ValueOf(strings.Split(value, ",")))
		return nil
	}
	return setDocument(v, full, value)
}

// setDocument sets a value that is written in YAML or JSON. A text that says nothing changes nothing.
func setDocument(v reflect.Value, full, text string) error {
	n, problems := document.Parse("", []byte(text), document.StoredLimits())
	if len(problems) > 0 {
		return document.Errors(problems)
	}
	if n.Kind == document.MapKind && len(n.Fields) == 0 && !strings.Contains(text, "{") {
		return nil
	}
	f := newFileReader()
	if f.value(n, v, full); len(f.problems) > 0 {
		return errors.New(strings.Join(f.problems, "; "))
	}
	return nil
}

// lookup finds a field by its key. full is the key with dots, "" if there is none.
func lookup(v reflect.Value, key, sep, prefix string) (field reflect.Value, full string) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == key {
			return v.Field(i), prefix + name
		}
		if rest, ok := strings.CutPrefix(key, name+sep); ok && v.Field(i).Kind() == reflect.Struct {
			if f, full := lookup(v.Field(i), rest, sep, prefix+name+"."); full != "" {
				return f, full
			}
		}
	}
	return reflect.Value{}, ""
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

// fill sets the defaults; some depend on other settings.
func (c *Config) fill() {
	if len(c.Pools) == 0 {
		c.Pools = []PoolConfig{{Name: "default", Description: "CPU slots of all nodes"}}
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		p.Driver = cmp.Or(p.Driver, "raw_exec")
		p.Slots = cmp.Or(p.Slots, "cpu")
		p.CoresPerSlot = cmp.Or(p.CoresPerSlot, 1)
		if p.Slots == "cpu" { // device slots share the memory of their node
			p.MemoryMBPerSlot = cmp.Or(p.MemoryMBPerSlot, slotMemoryMB)
		}
		p.MaxAux = cmp.Or(p.MaxAux, 100)
		p.MaxIdle = cmp.Or(p.MaxIdle, maxIdle)
		p.AuxMemoryMB = cmp.Or(p.AuxMemoryMB, 256)
		p.Priority = cmp.Or(p.Priority, p.Scheduler.Priority, 42)
		p.Preemption = p.Preemption || p.Scheduler.Preemption
		p.Scheduler.Type = cmp.Or(p.Scheduler.Type, string(pool.Priority))
		p.Scheduler.Fitting = cmp.Or(p.Scheduler.Fitting, string(pool.BestFit))
		if p.Scheduler.Type == string(pool.FairShare) { // elsewhere, tasks over a soft quota make way at once
			p.Scheduler.MinRunTime = cmp.Or(p.Scheduler.MinRunTime, minRunTime)
		}
		if p.Driver == "raw_exec" { // tasks of other drivers have their own file system
			p.Python = cmp.Or(p.Python, c.Python)
		}
	}
	c.DefaultComputePool = cmp.Or(c.DefaultComputePool, c.Pools[0].Name)
	c.DefaultAuxPool = cmp.Or(c.DefaultAuxPool, c.lastingPool(), c.DefaultComputePool)
	c.PublicURL = strings.TrimRight(cmp.Or(c.PublicURL, c.scheme()+"://"+c.Listen), "/")
	c.Vault.fill()
	c.Webhooks.BaseURL = strings.TrimRight(cmp.Or(c.Webhooks.BaseURL, c.PublicURL), "/")
	c.WebIdentity.Audience = cmp.Or(c.WebIdentity.Audience, "sts.amazonaws.com")
	c.TasksURL = strings.TrimRight(c.TasksURL, "/")
	c.Ingress.fill(c.PublicURL)
	if len(c.TaskURLs) == 0 {
		c.TaskURLs = []string{c.PublicURL}
	}
}
