package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// masterHere is the placeholder, in environments and files, for the address of the loopback
// master. The runner replaces it, because only the runner knows the address.
const masterHere = "{{DET_MASTER}}"

// clusterHook is the path of the operators' startup hook.
const clusterHook = "/run/determined/dynamic-tcd-startup-hook.sh"

// How long a program has between the request to end and its kill. Nomad kills the runner
// after the job's kill_timeout, and the runner must still report by then.
const (
	stopGrace = 20 * time.Second // with the default kill_timeout of 30 s
	toReport  = 10 * time.Second // part of the kill_timeout of a pool's job that is left for the report
	minGrace  = time.Second
)

// graceIn returns the time that the programs of a pool have to end.
func graceIn(p *pool.Pool) time.Duration {
	if p == nil || p.Job == nil {
		return stopGrace
	}
	kill := p.Job.TaskGroups[0].Tasks[0].KillTimeout
	if kill == nil || *kill <= 0 {
		return stopGrace
	}
	return max(*kill-toReport, *kill/2, minGrace)
}

// A Claimed is a member of an attempt whose runner's claim was accepted, with what its program
// needs to know.
type Claimed struct {
	Rank           int             `db:"rank"`
	Members        int             `db:"members"` // nodes of the whole attempt
	NodeName       string          `db:"node_name"`
	SlotIDs        []int           `db:"slot_ids"`
	NomadAllocID   string          `db:"claimed_by"`
	Ports          map[string]int  `db:"ports"`
	CommKey        string          `db:"comm_key"` // secret that only the attempt's members know
	GatewaySecret  string          `db:"gateway_secret"`
	HasContext     bool            `db:"has_context"`
	TrialSeed      int64           `db:"seed"`
	HParams        json.RawMessage `db:"hparams"`
	Checkpoint     *string         `db:"-"` // the trial's own newest complete checkpoint; nil: none
	StepsCompleted int             `db:"-"` // steps at that checkpoint, or at that with which a trial of a branch begins
	Origins        []int           `db:"-"` // the trials with which a trial of a branch goes on: their checkpoints are like its own
	Begins         Beginning       `db:"-"`
	Restarts       int             `db:"restarts"`   // of the trial, after failures
	FormerRun      int             `db:"former_run"` // run id of the attempt before this one; 0: this is the first
	FormerOutcome  string          `db:"former_outcome"`
	FormerReason   string          `db:"former_reason"`
	Keys           Keys            `db:"-"`
	Remaining      Remaining       `db:"-"`
	Token          string          `db:"-"` // token of the attempt
	Session        string          `db:"-"` // token with which the program acts for its owner; "": it may not
}

// A Beginning is the folder of resume.path that the runner restores for an attempt of a trial.
type Beginning struct {
	Folder *string `db:"folder"` // the newest kept folder of the trial, else of the trial from which it starts; nil: there is none
	Warm   bool    `db:"warm"`   // the checkpoint from which the trial starts is a kept folder
}

// Keys are the SSH keys of a shell: the public key of the user who may log in, and the shell's
// host key.
type Keys struct {
	Authorized string
	Host       string
}

// Remaining is what a garbage collection has not removed yet.
type Remaining struct {
	Checkpoints []Remainder
	Events      bool   // the files that TensorBoards of the experiment read
	Sweep       *Sweep // of a sweep: which files it removes that no checkpoint has
}

// A Sweep removes folders whose files were all stored between two times, if no row names them.
type Sweep struct {
	Since time.Time `db:"since"`
	Until time.Time `db:"until"`
}

// A Remainder has the files of a checkpoint that are still to be removed.
type Remainder struct {
	UUID  string   `db:"uuid"`
	Globs []string `db:"globs"`
	Known int      `db:"known"` // number of files that the checkpoint reported
}

// Spec returns what a runner needs to run a member of an attempt: the environment and files
// that Determined's harness expects, the program, and its mounts. of is the attempt's pool;
// nil if the pool no longer exists.
func (s *Site) Spec(a Attempt, m Claimed, of *pool.Pool) (v1.TaskSpec, error) {
	b := specBuilder{spec: &v1.TaskSpec{TaskID: a.TaskID, PartID: a.PartID(), AllocationID: a.ID, TaskType: a.Type, Rank: m.Rank, Members: m.Members,
		Slots: len(m.SlotIDs), SlotIDs: m.SlotIDs, StopGraceSecs: int(graceIn(of).Seconds()), StopAfterSecs: s.StopAfter.Seconds(), Env: map[string]string{}, Begins: opening(&a, &m), Name: a.called()}, site: s, a: &a, m: &m, pool: of}
	if of == nil {
		b.pool = &pool.Pool{}
	} else {
		b.defaults = s.DefaultsIn(of)
	}
	if m.HasContext {
		b.spec.ContextURL = "/api/v1/detent/tasks/" + a.TaskID + "/context.tar.gz"
	}
	var err error
	switch {
	case a.IsTrial():
		err = b.trial(*a.Experiment)
	case a.Removes():
		err = b.removal(*a.Experiment)
	default:
		err = b.task(*a.Command)
	}
	b.spec.Secrets = mounted(a.Secrets())
	if !b.pool.HasImages() { // a container's runner runs as the account itself
		b.spec.Account = a.account()
	}
	if _, own := b.spec.Env["PATH"]; !own {
		b.spec.Prefer = b.pool.Python // unless the task sets PATH
	}
	return *b.spec, err
}

type specBuilder struct {
	spec     *v1.TaskSpec
	site     *Site
	a        *Attempt
	m        *Claimed
	pool     *pool.Pool
	defaults expconf.TaskContainerDefaults // of the pool
}

func (b *specBuilder) trial(cfg expconf.Config) error {
	a, m := b.a, b.m
	if cfg.Entrypoint == nil {
		return fmt.Errorf("experiment %d has no entrypoint", a.ExperimentID)
	}
	b.entrypoint(*cfg.Entrypoint)
	b.own(cfg.Environment.EnvironmentVariables)
	b.common()
	env := b.spec.Env
	config, err := configVariable(a.Config)
	if err != nil {
		return err
	}
	hparams, err := sorted(m.HParams)
	if err != nil {
		return err
	}
	env["DET_EXPERIMENT_ID"] = strconv.Itoa(a.ExperimentID)
	env["DET_EXPERIMENT_CONFIG"] = string(config)
	env["DET_TRIAL_ID"] = strconv.Itoa(a.TrialID)
	env["DET_TRIAL_RUN_ID"] = strconv.Itoa(a.Run)
	env["DET_TRIAL_SEED"] = strconv.FormatInt(m.TrialSeed, 10)
	env["DET_HPARAMS"] = string(hparams)
	if err := hparamVariables(env, hparams); err != nil {
		return err
	}
	b.wandb(cfg.Integrations)
	env["DET_STEPS_COMPLETED"] = strconv.Itoa(m.StepsCompleted)
	if len(m.Origins) > 0 {
		env["DET_TRIAL_ORIGINS"] = strings.Join(each.Of(m.Origins, strconv.Itoa), ",")
	}
	if cfg.Searcher.Steers() { // the harness requests the length of training from the master, repeatedly
		env["DET_SEARCHER_API"] = "ops"
	}
	warm := a.WarmStart
	if m.Begins.Warm && cfg.Resume != nil { // the runner restores it
		warm = nil
	}
	checkpoint := cmp.Or(m.Checkpoint, warm) // the steps of WarmStart are those of another trial, so they do not count here
	if checkpoint != nil {
		env["DET_LATEST_CHECKPOINT"] = *checkpoint
	}
	if size := cfg.Resources.ShmSize; size != nil {
		env["DET_SHM_SIZE"] = strconv.FormatInt(int64(*size), 10)
	}
	if b.pool.HasImages() {
		b.spec.WorkDir = optional.Value(b.defaults.WorkDir)
	}
	b.spec.Preemption, b.spec.Resume = preemptionOf(cfg), cfg.ResumePath()
	if cfg.Resume != nil {
		b.spec.ResumeFrom = optional.Value(m.Begins.Folder)
	}
	b.spec.LogPatterns = LogPatterns(cfg.LogPolicies)
	b.ports(cfg.Environment.ProxyPorts)
	b.ingress()
	b.mounts(cfg.Environment.Mounts(cfg.BindMounts))
	b.storage(cfg.CheckpointStorage)
	if err := b.source(cfg.CheckpointStorage); err != nil {
		return err
	}
	return b.files(checkpoint, config, hparams, cfg.Debug)
}

// preemptionOf returns the signal that preempts the programs of a trial.
func preemptionOf(cfg expconf.Config) *v1.Preemption {
	signal := cfg.PreemptionSignal()
	return &v1.Preemption{Signal: cmp.Or(signal, expconf.DefaultPreemptionSignal), GraceSecs: int(math.Ceil(cfg.PreemptionGrace().Seconds())),
		UnlessAsked: !cfg.AlwaysSignals(), AnyExit: signal == ""}
}

// LogPatterns returns the patterns of log policies, without those that a configuration turns off.
func LogPatterns(list expconf.LogPolicies) []v1.LogPattern {
	var patterns []v1.LogPattern
	for i, p := range list {
		if p.Pattern != nil {
			patterns = append(patterns, v1.LogPattern{Policy: i, Pattern: *p.Pattern})
		}
	}
	return patterns
}

// task describes a task that is not a trial: its entrypoint is in its configuration, or
// follows from its type.
func (b *specBuilder) task(cfg expconf.CommandConfig) error {
	b.command(cfg.Entrypoint)
	b.own(cfg.Environment.EnvironmentVariables)
	b.common()
	b.spec.WorkDir = optional.Value(cfg.WorkDir)
	if size := cfg.Resources.ShmSize; size != nil {
		b.spec.Env["DET_SHM_SIZE"] = strconv.FormatInt(int64(*size), 10)
	}
	b.mounts(cfg.Environment.Mounts(cfg.BindMounts))
	b.home()
	if err := b.gateway(cfg); err != nil {
		return err
	}
	b.ports(cfg.Environment.ProxyPorts)
	b.ingress()
	return b.files(nil, nil, nil, cfg.Debug)
}

// entrypoint turns the configured entrypoint into a program: a list is executed unchanged, a
// line by a shell, and module:Class by Determined's launcher.
func (b *specBuilder) entrypoint(e expconf.Entrypoint) {
	_, _, class := e.TrialClass()
	switch {
	case e.IsList():
		b.spec.Entrypoint = e.Args
	case class:
		b.spec.Entrypoint = []string{"python3", "-m", "determined.launch.torch_distributed", "--", "--trial", strings.TrimSpace(e.Line)}
	default:
		b.spec.Entrypoint, b.spec.Shell = []string{e.Line}, true
	}
}

// noEntrypoint is the program of a command whose configuration names none.
const noEntrypoint = `echo "this command has no entrypoint: name a program in its configuration" >&2; exit 1`

// command sets the entrypoint of a task that is not a trial. A single word is executed by a
// shell, as in det cmd run "sleep 10s; date".
func (b *specBuilder) command(words []string) {
	if b.a.Type == Command && (len(words) == 0 || words[0] == "") {
		words = []string{noEntrypoint}
	}
	b.spec.Entrypoint, b.spec.Shell = words, len(words) == 1
}

// own adds the user's variables. A name without a value means the node's value, which the
// runner passes on in any case.
func (b *specBuilder) own(v expconf.EnvironmentVariables) {
	for _, entry := range v.For(b.a.Device(b.pool)) {
		if name, value, ok := strings.Cut(entry, "="); ok {
			b.spec.Env[name] = value
		}
	}
}

// common adds the variables that every task has. They replace the user's, because the harness
// would not work with other values.
func (b *specBuilder) common() {
	a, m := b.a, b.m
	maps.Copy(b.spec.Env, map[string]string{
		"DET_MASTER":         masterHere,
		"DET_MASTER_ID":      b.site.MasterID,
		"DET_CLUSTER_ID":     b.site.ClusterID,
		"DET_AGENT_ID":       m.NodeName,
		"DET_SLOT_IDS":       slotList(m.SlotIDs),
		"DET_TASK_ID":        a.PartID(),
		"DET_ALLOCATION_ID":  a.ID,
		"DET_TASK_TYPE":      a.Type,
		"DET_SESSION_TOKEN":  m.Token,
		"DET_COMM_KEY":       m.CommKey,
		"DET_USER":           a.Owner,
		"DET_USER_TOKEN":     m.Session,
		"DET_RESOURCES_TYPE": "docker-container",
		"DET_RESOURCES_ID":   m.NomadAllocID,
		"DET_CONTAINER_ID":   m.NomadAllocID,
	})
	b.mlflow()
	if m.Session == "" { // the task was created before its owner's sessions were ended
		delete(b.spec.Env, "DET_USER_TOKEN")
	}
	for _, p := range ports {
		if port := m.Ports[p.label]; port != 0 {
			b.spec.Env[p.variable] = strconv.Itoa(port)
		}
	}
	if name := optional.Value(b.defaults.DtrainNetworkInterface); name != "" {
		b.spec.Env["DET_INTER_NODE_NETWORK_INTERFACE"] = name
	}
	delete(b.spec.Env, "DET_TRUSTED_NETWORK") // operators say it, not users
	if b.pool.TrustedNetwork {
		b.spec.Env["DET_TRUSTED_NETWORK"] = "1"
	}
	if b.site.Det != "" {
		b.spec.Env["DET_CLI_URL"] = b.site.Det
	}
	if b.site.Harness != "" {
		b.spec.Env["DET_HARNESS_URL"] = b.site.Harness
	}
	if b.spec.Slots == 0 {
		b.spec.Env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
}

// requestsHeld is how long the runner holds a program's request while no master answers.
const requestsHeld = 24 * time.Hour

// mlflow lets MLflow's client in a task reach the master, unless the user's own variables name another server.
func (b *specBuilder) mlflow() {
	env := b.spec.Env
	if env["MLFLOW_TRACKING_URI"] != "" {
		return
	}
	env["MLFLOW_TRACKING_URI"] = masterHere + "/mlflow"
	if env["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "" { // seconds
		env["MLFLOW_HTTP_REQUEST_TIMEOUT"] = strconv.Itoa(int(requestsHeld.Seconds()))
	}
	env["MLFLOW_TRACKING_TOKEN"] = cmp.Or(b.m.Session, b.m.Token)
	if b.a.TrialID != 0 {
		env["MLFLOW_TRACKING_TOKEN"] = b.m.Token
		env["MLFLOW_RUN_ID"] = strconv.Itoa(b.a.TrialID)
		env["MLFLOW_EXPERIMENT_ID"] = strconv.Itoa(b.a.ProjectID)
	}
}

// wandb sets what W&B's client reads in a trial whose configuration asks for it. The user's own variables and secrets win.
func (b *specBuilder) wandb(i *expconf.Integrations) {
	if i == nil || i.WandB == nil {
		return
	}
	for name, value := range i.WandB.Variables(b.a.ExperimentID, b.a.TrialID, b.a.TaskID) {
		if _, own := b.spec.Env[name]; !own {
			b.spec.Env[name] = value
		}
	}
}

func slotList(ids []int) string {
	return "[" + strings.Join(each.Of(ids, strconv.Itoa), ",") + "]"
}

func (b *specBuilder) mounts(list expconf.BindMounts) {
	if b.pool.HasImages() { // the driver makes the mounts
		for _, m := range list.InContainer() {
			if m.Link != "" {
				b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: m.Target, ContainerPath: m.Link, Link: true})
			}
		}
		return
	}
	for _, m := range list {
		b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: m.HostPath, ContainerPath: m.ContainerPath,
			ReadOnly: optional.Value(m.ReadOnly), Propagation: optional.Value(m.Propagation)})
	}
}

// storage mounts the folder of shared_fs where the harness looks for it. Other
// types need no mount, or, like directory, one that the user has given.
func (b *specBuilder) storage(s expconf.CheckpointStorage) {
	b.signIn(s)
	if s.Type == expconf.SharedFS && !b.pool.HasImages() {
		b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: s.HostPath, ContainerPath: expconf.SharedFSMount,
			Propagation: s.Propagation, Create: true})
	}
}

// signIn tells the runner how the program signs in to a storage.
func (b *specBuilder) signIn(s expconf.CheckpointStorage) {
	b.spec.Credentials = b.site.SignIn.told(b.spec.Credentials, s)
}

// files adds the files that Determined's harness reads, in its formats. The runner adds the
// file with the peers' addresses after the rendezvous.
func (b *specBuilder) files(checkpoint *string, config, hparams json.RawMessage, debug bool) error {
	a, m := b.a, b.m
	add := func(name string, content map[string]any) error {
		text, err := json.Marshal(content)
		b.spec.Files = append(b.spec.Files, v1.TaskFile{Path: "/run/determined/info/" + name, Mode: 0o600, Content: text})
		return err
	}
	slots := m.SlotIDs
	if slots == nil {
		slots = []int{}
	}
	if hook := optional.Value(b.defaults.StartupHook); hook != "" {
		b.spec.Files = append(b.spec.Files, v1.TaskFile{Path: clusterHook, Mode: 0o700, Content: []byte(hook)})
	}
	err := add("cluster.json", map[string]any{
		"master_url": masterHere, "cluster_id": b.site.ClusterID, "agent_id": m.NodeName, "slot_ids": slots,
		"task_id": a.PartID(), "allocation_id": a.ID, "session_token": m.Token, "task_type": a.Type,
		"master_cert_name": nil, "master_cert_file": nil, "latest_checkpoint": checkpoint,
	})
	if err != nil {
		return err
	}
	if b.a.Device(b.pool) == expconf.CPU { // for GPUs, the runner adds their ids
		if err := add("resources.json", map[string]any{"gpu_uuids": []string{}}); err != nil {
			return err
		}
	}
	if !a.IsTrial() {
		return nil
	}
	var network any
	if name := optional.Value(b.defaults.DtrainNetworkInterface); name != "" {
		network = name
	}
	return add("trial.json", map[string]any{
		"trial_id": a.TrialID, "experiment_id": a.ExperimentID, "trial_seed": m.TrialSeed, "hparams": hparams, "config": config,
		"steps_completed": m.StepsCompleted, "trial_run_id": a.Run, "debug": debug, "inter_node_network_interface": network,
	})
}

// Bounds of the variables of single hyperparameters; DET_HPARAMS has all of them.
const (
	maxHParamVariables = 200
	maxHParamVariable  = 1024 // bytes
)

// hparamVariables adds a variable for each hyperparameter that is a number, a text or a truth value, so that an entrypoint can give
// it to a program that knows nothing of Detent: DET_HPARAM_lr, and DET_HPARAM_net_width for width within net.
func hparamVariables(env map[string]string, hparams json.RawMessage) error {
	in := json.NewDecoder(bytes.NewReader(hparams))
	in.UseNumber()
	var all map[string]any
	if err := in.Decode(&all); err != nil {
		return err
	}
	left := maxHParamVariables
	var add func(prefix string, in map[string]any)
	add = func(prefix string, in map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			key := prefix + "_" + variableName(name)
			if inner, nested := in[name].(map[string]any); nested {
				add(key, inner)
				continue
			}
			var text string
			switch v := in[name].(type) {
			case json.Number, bool:
				text = fmt.Sprint(v)
			case string:
				text = v
			default:
				continue
			}
			if left > 0 && len(text) <= maxHParamVariable && strings.IndexByte(text, 0) < 0 {
				env[key] = text
				left--
			}
		}
	}
	add("DET_HPARAM", all)
	return nil
}

// variableName is a name with the characters that shells allow in names of variables.
func variableName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// sorted returns JSON with the keys of each object in alphabetical order, which PostgreSQL does
// not keep: programs that print their hyperparameters should always print the same.
func sorted(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}
