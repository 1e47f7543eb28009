package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// masterHere stands, in environments and files, for the address under which the
// runner serves the master to its program. Only the runner knows it, and puts it in.
const masterHere = "{{DET_MASTER}}"

// clusterHook is where runners look for the operators' startup hook.
const clusterHook = "/run/determined/dynamic-tcd-startup-hook.sh"

// stopGrace is how long a program has between being asked to end and being killed,
// in seconds. Nomad kills the runner after 30, which must still report by then.
const stopGrace = 20

// specBase is what a specification needs to know beside its rows.
type specBase struct {
	ClusterID  string
	MasterID   string
	SlotType   expconf.DeviceType // of the pool
	Containers bool               // tasks of the pool run in images, in which the driver mounts
	WorkDir    string             // where trials start; "" for the folder with their code
	Interface  string             // of the network between nodes
	SignIn     func(expconf.CheckpointStorage) *v1.Credentials
	Det        string // path on the master of det; "" where tasks get none
	Harness    string // path on the master of the Python package; "" where nodes bring their own
	Python     string // of the pool; "" for what is first on PATH
	Hook       string // of the operators, that runs before anything of the task
}

// buildSpec says all that a runner needs to run a member of an attempt: the
// environment and files that Determined's harness expects, what is to be run, and
// what it must see of its node. It does no I/O.
func buildSpec(r store.Claimed, base specBase, token, session string) (v1.TaskSpec, error) {
	s := v1.TaskSpec{TaskID: r.TaskID, AllocationID: r.AllocationID, TaskType: r.TaskType, Rank: r.Rank, Members: r.Members,
		Slots: len(r.SlotIDs), SlotIDs: r.SlotIDs, StopGraceSecs: stopGrace, Env: map[string]string{}}
	if r.HasContext {
		s.ContextURL = "/api/v1/detent/tasks/" + r.TaskID + "/context.tar.gz"
	}
	b := specBuilder{spec: &s, rows: r, base: base, token: token, session: session}
	var err error
	switch {
	case r.TrialID != 0:
		err = b.trial()
	case r.TaskType == "CHECKPOINT_GC":
		err = b.collect()
	default:
		err = b.task()
	}
	if _, own := s.Env["PATH"]; !own {
		s.Prefer = base.Python // who names a PATH has chosen
	}
	return s, err
}

type specBuilder struct {
	spec           *v1.TaskSpec
	rows           store.Claimed
	base           specBase
	token, session string
}

// device is the kind of slot that the task's values are for.
func (b *specBuilder) device() expconf.DeviceType {
	if kind := b.base.SlotType; b.spec.Slots > 0 && (kind == expconf.CUDA || kind == expconf.ROCM) {
		return kind
	}
	return expconf.CPU
}

func (b *specBuilder) trial() error {
	r := b.rows
	cfg, err := expconf.ParseConfigJSON(r.Config)
	if err != nil {
		return fmt.Errorf("the configuration of experiment %d: %w", r.ExperimentID, err)
	}
	if cfg.Entrypoint == nil {
		return fmt.Errorf("experiment %d has no entrypoint", r.ExperimentID)
	}
	b.entrypoint(*cfg.Entrypoint)
	b.own(cfg.Environment.EnvironmentVariables)
	b.common()
	env := b.spec.Env
	config, err := compact(r.Config)
	if err != nil {
		return err
	}
	hparams, err := compact(r.HParams)
	if err != nil {
		return err
	}
	env["DET_EXPERIMENT_ID"] = strconv.Itoa(r.ExperimentID)
	env["DET_EXPERIMENT_CONFIG"] = string(config)
	env["DET_TRIAL_ID"] = strconv.Itoa(r.TrialID)
	env["DET_TRIAL_RUN_ID"] = strconv.Itoa(r.RunID)
	env["DET_TRIAL_SEED"] = strconv.FormatInt(r.TrialSeed, 10)
	env["DET_HPARAMS"] = string(hparams)
	env["DET_STEPS_COMPLETED"] = strconv.Itoa(r.StepsCompleted)
	if cfg.Searcher.Steers() { // the harness asks how long to train, and asks again when it has
		env["DET_SEARCHER_API"] = "ops"
	}
	checkpoint := r.Checkpoint
	if checkpoint == nil {
		checkpoint = r.WarmStart // its steps are not this trial's
	}
	if checkpoint != nil {
		env["DET_LATEST_CHECKPOINT"] = *checkpoint
	}
	if size := cfg.Resources.ShmSize; size != nil {
		env["DET_SHM_SIZE"] = strconv.FormatInt(int64(*size), 10)
	}
	b.spec.WorkDir = b.base.WorkDir
	b.spec.LogPatterns = logPatterns(cfg.LogPolicies)
	b.mounts(cfg.BindMounts)
	b.storage(cfg.CheckpointStorage)
	if err := b.foreign(cfg.CheckpointStorage); err != nil {
		return err
	}
	return b.files(checkpoint, config, hparams, cfg.Debug)
}

// task is for what is no trial: its entrypoint is in its configuration, or is its
// kind's.
func (b *specBuilder) task() error {
	cfg, err := expconf.ParseCommandConfigJSON(b.rows.TaskConfig)
	if err != nil {
		return fmt.Errorf("the configuration of task %s: %w", b.rows.TaskID, err)
	}
	b.command(cfg.Entrypoint)
	b.own(cfg.Environment.EnvironmentVariables)
	b.common()
	if cfg.WorkDir != nil {
		b.spec.WorkDir = *cfg.WorkDir
	}
	if size := cfg.Resources.ShmSize; size != nil {
		b.spec.Env["DET_SHM_SIZE"] = strconv.FormatInt(int64(*size), 10)
	}
	b.mounts(cfg.BindMounts)
	if err := b.visited(cfg); err != nil {
		return err
	}
	return b.files(nil, nil, nil, cfg.Debug)
}

// entrypoint turns what was written into what is executed: a list as it is, a
// line by a shell, module:Class by the launcher that Determined starts for it.
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

// command is the entrypoint of what is no trial. A single word is a line for a
// shell, as in det cmd run "sleep 10s; date".
func (b *specBuilder) command(words []string) {
	b.spec.Entrypoint, b.spec.Shell = words, len(words) == 1
}

// own are the user's variables. A bare name stands for the value that it has on
// the node, which the runner passes on anyhow.
func (b *specBuilder) own(v expconf.EnvironmentVariables) {
	for _, entry := range v.For(b.device()) {
		if name, value, ok := strings.Cut(entry, "="); ok {
			b.spec.Env[name] = value
		}
	}
}

// common are the variables that every task has. They win over the user's,
// because the harness would not work with others.
func (b *specBuilder) common() {
	r := b.rows
	maps.Copy(b.spec.Env, map[string]string{
		"DET_MASTER":         masterHere,
		"DET_MASTER_ID":      b.base.MasterID,
		"DET_CLUSTER_ID":     b.base.ClusterID,
		"DET_AGENT_ID":       r.NodeName,
		"DET_SLOT_IDS":       slotList(r.SlotIDs),
		"DET_TASK_ID":        r.TaskID,
		"DET_ALLOCATION_ID":  r.AllocationID,
		"DET_TASK_TYPE":      r.TaskType,
		"DET_SESSION_TOKEN":  b.token,
		"DET_COMM_KEY":       r.CommKey,
		"DET_USER":           r.Username,
		"DET_USER_TOKEN":     b.session,
		"DET_RESOURCES_TYPE": "docker-container",
		"DET_RESOURCES_ID":   r.NomadAllocID,
		"DET_CONTAINER_ID":   r.NomadAllocID,
	})
	if b.session == "" { // what its user started before a new password acts for nobody
		delete(b.spec.Env, "DET_USER_TOKEN")
	}
	for label, name := range map[string]string{"c10d": "C10D_PORT", "dtrain_ssh": "DTRAIN_SSH_PORT",
		"comm1": "INTER_TRAIN_PROCESS_COMM_PORT_1", "comm2": "INTER_TRAIN_PROCESS_COMM_PORT_2"} {
		if port := r.Ports[label]; port != 0 {
			b.spec.Env[name] = strconv.Itoa(port)
		}
	}
	if b.base.Interface != "" {
		b.spec.Env["DET_INTER_NODE_NETWORK_INTERFACE"] = b.base.Interface
	}
	if b.base.Det != "" {
		b.spec.Env["DET_CLI_URL"] = b.base.Det
	}
	if b.base.Harness != "" {
		b.spec.Env["DET_HARNESS_URL"] = b.base.Harness
	}
	if b.spec.Slots == 0 {
		b.spec.Env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
}

func slotList(ids []int) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(id)
	}
	return "[" + strings.Join(words, ",") + "]"
}

func (b *specBuilder) mounts(list expconf.BindMounts) {
	if b.base.Containers { // the driver has made them
		for _, m := range list.InContainer() {
			if m.Link != "" {
				b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: m.Target, ContainerPath: m.Link, Link: true})
			}
		}
		return
	}
	for _, m := range list {
		mount := v1.BindMount{HostPath: m.HostPath, ContainerPath: m.ContainerPath}
		if m.ReadOnly != nil {
			mount.ReadOnly = *m.ReadOnly
		}
		if m.Propagation != nil {
			mount.Propagation = *m.Propagation
		}
		b.spec.BindMounts = append(b.spec.BindMounts, mount)
	}
}

// storage mounts the folder of shared_fs where the harness looks for it. Other
// types need no mount, or, like directory, one that the user has given.
func (b *specBuilder) storage(s expconf.CheckpointStorage) {
	b.signIn(s)
	if s.Type == expconf.SharedFS && !b.base.Containers {
		b.spec.BindMounts = append(b.spec.BindMounts, v1.BindMount{HostPath: s.HostPath, ContainerPath: expconf.SharedFSMount,
			Propagation: s.Propagation, Create: true})
	}
}

// signIn tells the runner how the program signs in to a storage.
func (b *specBuilder) signIn(s expconf.CheckpointStorage) {
	if b.base.SignIn == nil || b.spec.Credentials != nil {
		return
	}
	b.spec.Credentials = b.base.SignIn(s)
}

// files are what Determined's own start-up leaves for programs to read, in the
// form that its package reads. The peers' addresses are not among them: the
// runner writes them once it knows them.
func (b *specBuilder) files(checkpoint *string, config, hparams json.RawMessage, debug bool) error {
	r := b.rows
	add := func(name string, content map[string]any) error {
		text, err := json.Marshal(content)
		b.spec.Files = append(b.spec.Files, v1.TaskFile{Path: "/run/determined/info/" + name, Mode: 0o600, Content: text})
		return err
	}
	slots := r.SlotIDs
	if slots == nil {
		slots = []int{}
	}
	if b.base.Hook != "" {
		b.spec.Files = append(b.spec.Files, v1.TaskFile{Path: clusterHook, Mode: 0o700, Content: []byte(b.base.Hook)})
	}
	err := add("cluster.json", map[string]any{
		"master_url": masterHere, "cluster_id": b.base.ClusterID, "agent_id": r.NodeName, "slot_ids": slots,
		"task_id": r.TaskID, "allocation_id": r.AllocationID, "session_token": b.token, "task_type": r.TaskType,
		"master_cert_name": nil, "master_cert_file": nil, "latest_checkpoint": checkpoint,
	})
	if err != nil {
		return err
	}
	if b.device() == expconf.CPU { // where there are GPUs, whoever sees them names them
		if err := add("resources.json", map[string]any{"gpu_uuids": []string{}}); err != nil {
			return err
		}
	}
	if r.TrialID == 0 {
		return nil
	}
	var network any
	if b.base.Interface != "" {
		network = b.base.Interface
	}
	return add("trial.json", map[string]any{
		"trial_id": r.TrialID, "experiment_id": r.ExperimentID, "trial_seed": r.TrialSeed, "hparams": hparams, "config": config,
		"steps_completed": r.StepsCompleted, "trial_run_id": r.RunID, "debug": debug, "inter_node_network_interface": network,
	})
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}
