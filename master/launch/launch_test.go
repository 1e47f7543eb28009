package launch

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// memory keeps what launch asks of a database, as far as these tests go; the tests of the
// API ask PostgreSQL.
type memory struct {
	settings    string
	templates   map[string]string
	parent      experiments.Experiment
	experiments []experiments.New
	tasks       []tasks.New
	policies    []workspaces.Policy
	continued   experiments.Continuation
	bound       map[string]int // pools, by the workspace that may use them
	contexts    map[string][]byte
}

func (m *memory) Workspace(_ context.Context, id int) (workspaces.Workspace, error) {
	settings := m.settings
	if settings == "" {
		settings = "{}"
	}
	return workspaces.Workspace{ID: id, Name: "w", Archived: id == 9, Settings: []byte(settings)}, nil
}

func (m *memory) Project(_ context.Context, id int) (workspaces.Project, error) {
	return workspaces.Project{ID: id, Name: "p", WorkspaceID: 1, WorkspaceName: "w", Archived: id == 9}, nil
}

func (m *memory) Task(_ context.Context, id string) (tasks.Task, error) {
	return tasks.Task{}, fault.New(fault.NotFound, "no task %s", id)
}

func (m *memory) ProjectByName(_ context.Context, workspace, name string) (workspaces.Project, error) {
	return workspaces.Project{ID: 2, Name: name, WorkspaceID: 1, WorkspaceName: workspace}, nil
}

func (m *memory) Template(_ context.Context, name string) (workspaces.Template, error) {
	source, ok := m.templates[name]
	if !ok {
		return workspaces.Template{}, fault.New(fault.NotFound, "no")
	}
	return workspaces.Template{Name: name, Source: source}, nil
}

func (m *memory) TemplateOf(context.Context, int) (experiments.UsedTemplate, error) {
	return experiments.UsedTemplate{Name: "t", Source: m.templates["t"]}, nil
}

func (m *memory) Experiment(_ context.Context, id int) (experiments.Experiment, error) {
	if id != m.parent.ID {
		return experiments.Experiment{}, experiments.NotFound(id)
	}
	return m.parent, nil
}

func (m *memory) Trial(context.Context, int) (experiments.Trial, error) {
	return experiments.Trial{}, nil
}
func (m *memory) NewestCheckpoint(context.Context, int) (string, error) { return "", nil }
func (m *memory) AdmitStored(context.Context, int, int64) error         { return nil }

func (m *memory) HasContext(_ context.Context, hash []byte) (bool, error) {
	return m.contexts[string(hash)] != nil, nil
}

func (m *memory) Checkpoint(context.Context, string) (checkpoints.Checkpoint, error) {
	return checkpoints.Checkpoint{}, fault.New(fault.NotFound, "no")
}

func (m *memory) ShownTrials(_ context.Context, t tasks.Board) (list []task.ShownTrial, err error) {
	for i := range t.TrialIDs {
		list = append(list, task.ShownTrial{ExperimentID: m.parent.ID, TrialID: &t.TrialIDs[i], Config: m.parent.Config, OwnerID: m.parent.OwnerID, WorkspaceID: 1})
	}
	return list, nil
}

func (m *memory) SaveContext(_ context.Context, _ int, hash []byte, write func(io.Writer) error) error {
	var b strings.Builder
	err := write(&b)
	m.contexts[string(hash)] = []byte(b.String())
	return err
}

func (m *memory) CreateExperiment(_ context.Context, n experiments.New) (int, error) {
	m.experiments = append(m.experiments, n)
	return len(m.experiments), nil
}

func (m *memory) ContinueExperiment(_ context.Context, _ int, c experiments.Continuation) (int, error) {
	m.continued = c
	return 1, nil
}

func (m *memory) QuotasOver(context.Context, int, int, int, string) ([]queue.Quota, error) {
	return nil, nil
}

func (m *memory) OpenPool(_ context.Context, pool string, to workspaces.Workspace) error {
	if only, bound := m.bound[pool]; bound && only != to.ID {
		return workspaces.NotOpen(pool, to.Name)
	}
	return nil
}

func (m *memory) ConfigPolicies(_ context.Context, _ int, workload string) ([]workspaces.Policy, error) {
	return slices.DeleteFunc(slices.Clone(m.policies), func(p workspaces.Policy) bool { return p.Workload != workload }), nil
}

func (m *memory) CreateTask(_ context.Context, n tasks.New) (string, error) {
	m.tasks = append(m.tasks, n)
	return n.ID, nil
}

// launchers make rows in memory. The aux pool has no slots, the other has two.
func launchers(t *testing.T) (*memory, *Experiments, *Tasks) {
	m := &memory{templates: map[string]string{}, contexts: map[string][]byte{}}
	c := Cluster{Site: task.Site{ClusterID: "c", Capabilities: expconf.Everything()},
		Pools:   pool.Set{{Name: "gpu", Driver: pool.RawExec, Compute: true, Priority: 41}, {Name: "aux", Driver: pool.RawExec, Aux: true, Priority: 50}},
		Storage: expconf.CheckpointStorage{Type: expconf.SharedFS, HostPath: "/tmp"}, Idle: IdleTimeouts{Notebook: time.Hour},
		Slots: func(_ context.Context, pool string) (PoolSlots, error) {
			return map[string]PoolSlots{"gpu": {Nodes: 1, PerNode: 2, Total: 2}}[pool], nil
		}}
	code := NewPacker(m, func(context.Context, string) (func(), error) { return func() {}, nil }, spool.New(t.TempDir(), 2*MaxPacked*spool.OwnerShare))
	return m, NewExperiments(c, m, code), NewTasks(c, m, code)
}

var me = Submitter{Who: auth.Who{UserID: 3, Username: "ada", SessionEpoch: 5}, Share: "user ada"}

const oneTrial = "entrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"

// TestAnExperimentIsMade from a document, its template and the cluster's defaults.
func TestAnExperimentIsMade(t *testing.T) {
	m, l, _ := launchers(t)
	m.templates["t"] = "max_restarts: 7\nresources: {slots_per_trial: 3}\n"
	req := &v1.CreateExperimentRequest{Config: new(oneTrial), Template: new("t"), Activate: new(true), ProjectID: new(4), ValidateOnly: new(true)}
	asked, err := l.Create(t.Context(), me, req)
	if err != nil || asked.ID != 0 || len(m.experiments) != 0 || asked.Project.ID != 4 || asked.Complete.MaxRestarts != 7 {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	req.ValidateOnly = nil
	made, err := l.Create(t.Context(), me, req)
	if err != nil || made.ID != 1 || len(m.experiments) != 1 {
		t.Fatalf("made: %+v, %v", made, err)
	}
	n := m.experiments[0]
	if n.OwnerID != 3 || n.SessionEpoch != 5 || !n.Active || n.Pool != "gpu" || n.SlotsPerTrial != 3 || n.Priority != 41 || n.OriginalConfig != oneTrial ||
		n.Template.Name != "t" || n.Search == nil || n.Search.Len() != 1 || n.CreationKey != nil {
		t.Errorf("the experiment's row is %+v", n)
	}
	stored, err := expconf.ParseConfigJSON(n.Config)
	if err != nil || stored.MaxRestarts != 7 || stored.CheckpointStorage.HostPath != "/tmp" || stored.Resources.ResourcePool != "gpu" {
		t.Errorf("the experiment's configuration is %s: %v", n.Config, err)
	}
	if !slices.Equal(made.Warnings, []v1.LaunchWarning{v1.LaunchWarningCurrentSlotsExceeded}) || !strings.Contains(strings.Join(made.Remarks, "\n"), "pool gpu has 2 at the moment") {
		t.Errorf("the warnings are %v, the remarks %v", made.Warnings, made.Remarks)
	}
}

// TestExperimentsThatAreNotMade say why.
func TestExperimentsThatAreNotMade(t *testing.T) {
	m, l, _ := launchers(t)
	m.parent = experiments.Experiment{}
	m.parent.ID, m.parent.OwnerID, m.parent.OriginalConfig = 7, 8, oneTrial
	for says, req := range map[string]*v1.CreateExperimentRequest{
		"config: is required":                                 {},
		"parentId: experiment 6 not found":                    {ParentID: new(6)},
		"is archived; unarchive it first":                     {Config: new(oneTrial), ProjectID: new(9)},
		`there is no template "x"`:                            {Config: new(oneTrial), Template: new("x")},
		"there is no resource pool \"x\"; there are gpu, aux": {Config: new(oneTrial + "resources: {resource_pool: x}\n")},
		"are over the limit of 1048576":                       {Config: new(strings.Repeat("#", MaxConfig+1))},
		"no checkpoint found with UUID":                       {Config: new(strings.Replace(oneTrial, "metric", "source_checkpoint_uuid: 0190b5a5-0000-4000-8000-000000000001, metric", 1))},
		"the configuration has a problem":                     {Config: new("entrypont: x\n" + oneTrial)},
	} {
		if _, err := l.Create(t.Context(), me, req); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	// A fork of another user's experiment must have its own configuration.
	if _, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{ParentID: new(7)}); err == nil || !strings.Contains(err.Error(), "config: is required") {
		t.Errorf("the text of somebody else's experiment: %v", err)
	}
	if len(m.experiments) != 0 {
		t.Errorf("%d were made", len(m.experiments))
	}
}

// TestTasksAreMade of each kind.
func TestTasksAreMade(t *testing.T) {
	m, _, l := launchers(t)
	m.settings = `{"default_aux_pool": "gpu"}`
	key := me
	key.Key = "again"
	for _, c := range []struct {
		of           tasks.Kind
		config, pool string
		slots        int
	}{
		{tasks.Command(), `{"entrypoint":["true"],"resources":{"slots":0}}`, "gpu", 0}, {tasks.Notebook(), ``, "gpu", 1}, {tasks.Shell(), `{"resources":{"resource_pool":"aux"}}`, "aux", 1},
	} {
		if made, err := l.Start(t.Context(), key, c.of, tasks.Request{Config: v1.Struct(c.config), Preview: new(true)}); err != nil || made.Stored {
			t.Errorf("a preview of a %s: %+v, %v", c.of.Noun, made, err)
		}
		made, err := l.Start(t.Context(), key, c.of, tasks.Request{Config: v1.Struct(c.config)})
		if err != nil || !made.Stored {
			t.Fatalf("%s: %v", c.of.Noun, err)
		}
		n := m.tasks[len(m.tasks)-1]
		if n.Type != c.of.Type || n.Pool != c.pool || n.Slots != c.slots || n.WorkspaceID != workspaces.Default || *n.CreationKey != "again" || n.OwnerID != 3 ||
			(n.Shell != nil) != (c.of.Noun == "shell") || n.Tensorboard != nil {
			t.Errorf("the row of a %s is %+v", c.of.Noun, n)
		}
		stored, err := expconf.ParseCommandConfigJSON(n.Config)
		if err != nil || (stored.IdleTimeout != nil) != (c.of.Noun == "notebook") || !strings.HasPrefix(stored.Description, c.of.Title+" (") {
			t.Errorf("the configuration of a %s is %s: %v", c.of.Noun, n.Config, err)
		}
	}
	if len(m.tasks) != 3 {
		t.Errorf("%d were made", len(m.tasks))
	}
	if _, err := l.Start(t.Context(), me, tasks.Generic(), tasks.Request{}); err == nil || !strings.Contains(err.Error(), "entrypoint") {
		t.Errorf("a generic task without a program: %v", err)
	}
	if _, err := l.Start(t.Context(), me, tasks.Shell(), tasks.Request{WorkspaceID: new(9)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("in an archived workspace: %v", err)
	}
	key.Key = "a b"
	if _, err := l.Start(t.Context(), key, tasks.Shell(), tasks.Request{}); err == nil || !strings.Contains(err.Error(), KeyHeader) {
		t.Errorf("with a bad key: %v", err)
	}
}

// TestATemplateGivesNoSlots nor a pool to a notebook; the rest of it counts.
func TestATemplateGivesNoSlots(t *testing.T) {
	m, _, l := launchers(t)
	m.settings = `{"default_aux_pool": "gpu"}`
	m.templates["t"] = "resources: {slots: 100, resource_pool: nowhere, priority: 7}\n"
	for config, slots := range map[string]int{``: 1, `{"resources":{"slots":0}}`: 0} {
		made, err := l.Start(t.Context(), me, tasks.Notebook(), tasks.Request{Config: v1.Struct(config), Template: new("t")})
		if err != nil {
			t.Fatal(err)
		}
		n := m.tasks[len(m.tasks)-1]
		said := strings.Join(made.Remarks, "\n")
		if n.Slots != slots || n.Pool != "gpu" || n.Priority != 7 || !strings.Contains(said, `template "t": resources.slots: has no effect`) || !strings.Contains(said, "resources.resource_pool: has no effect") {
			t.Errorf("%s: %d slots in %s, priority %d\n%s", config, n.Slots, n.Pool, n.Priority, said)
		}
	}
}

// TestATensorboardShowsWhatItCan read, and not too much.
func TestATensorboardShowsWhatItCan(t *testing.T) {
	m, e, l := launchers(t)
	if _, err := e.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial)}); err != nil {
		t.Fatal(err)
	}
	m.parent.ID, m.parent.Config = 1, m.experiments[0].Config
	made, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{4, 4, 5}}})
	if err != nil || !slices.Equal(made.Tensorboard.TrialIDs, []int{4, 5}) || len(made.Tensorboard.ExperimentIDs) != 0 || made.Slots != 0 || made.Pool != "aux" {
		t.Errorf("%+v: %v", made, err)
	}
	m.parent.OwnerID = me.Who.UserID + 1 // who uses the cluster's storage, or that of their workspace
	if _, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{4}}}); err != nil {
		t.Error(err)
	}
	many := make([]int, maxShown+1)
	for i := range many {
		many[i] = i + 1
	}
	for says, shows := range map[string]tasks.Shows{"set experimentIds or trialIds": {}, "no experiment matches the filters": {Filtered: true},
		"experiment 2 not found": {Experiments: []int{2}}, "at most 100 trials, and 101 were requested": {Trials: many}} {
		if _, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &shows}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestATensorboardGetsNoKeysOfOthers: the program of a TensorBoard belongs to its owner, who may view experiments of others and not their
// keys. What every task of the workspace or the cluster receives is no secret of the experiment's owner.
func TestATensorboardGetsNoKeysOfOthers(t *testing.T) {
	s3 := func(key string) string {
		return "checkpoint_storage: {type: s3, bucket: b, access_key: " + key + ", secret_key: of-" + key + "}\n"
	}
	for name, c := range map[string]struct {
		own, settings string
		owner         int
		refused       bool
	}{
		"keys of another user's configuration": {s3("theirs"), "", me.Who.UserID + 1, true},
		"the submitter's own":                  {s3("mine"), "", me.Who.UserID, false},
		"those of the workspace":               {s3("ws"), `{"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"ws","secret_key":"of-ws"}}`, me.Who.UserID + 1, false},
		"others than those of the workspace":   {s3("theirs"), `{"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"ws","secret_key":"of-ws"}}`, me.Who.UserID + 1, true},
		"a token in the address":               {"checkpoint_storage: {type: azure, container: c, account_url: 'https://a.blob.core.windows.net?sig=hunter'}\n", "", me.Who.UserID + 1, true},
		"a token in the address of a proxy":    {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://s3.example.com/?key=hunter'}\n", "", me.Who.UserID + 1, true},
		"an account in the address of a proxy": {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://me:hunter@s3.example.com'}\n", "", me.Who.UserID + 1, true},
		"an address without a credential":      {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://s3.example.com'}\n", "", me.Who.UserID + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, e, l := launchers(t)
			if _, err := e.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + c.own)}); err != nil {
				t.Fatal(err)
			}
			m.parent.ID, m.parent.Config, m.parent.OwnerID, m.settings = 1, m.experiments[0].Config, c.owner, c.settings
			_, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{4}}})
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "experiment 1 belongs to another user") {
				t.Error(err)
			}
		})
	}
}

// TestCodeIsKeptOnce: the same files in another order are the same code.
func TestCodeIsKeptOnce(t *testing.T) {
	m, l, _ := launchers(t)
	disk := spool.New(t.TempDir(), 64<<20)
	submit := func(only bool, files ...v1.File) (*Experiment, error) {
		t.Helper()
		room, err := disk.Reserve(t.Context(), "me", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		by := me
		if by.Code, err = NewCode(room); err != nil {
			t.Fatal(err)
		}
		defer by.Code.Close()
		for _, f := range files {
			if f.Type == fileRegular {
				if err := by.Code.Content([]byte(f.Path)); err != nil {
					t.Fatal(err)
				}
			}
			if err := by.Code.File(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := by.Code.Arrived(); err != nil {
			t.Fatal(err)
		}
		return l.Create(t.Context(), by, &v1.CreateExperimentRequest{Config: new(oneTrial), ValidateOnly: &only})
	}
	folder, file := v1.File{Path: "lib", Type: fileDirectory, Mode: 0o755}, v1.File{Path: "./lib/a.py", Type: fileRegular, Mode: 0o644}
	if e, err := submit(true, folder, file); err != nil || e.Context != nil || len(m.contexts) != 0 {
		t.Errorf("code of a request that only asks is kept: %v", err)
	}
	one, err := submit(false, folder, file)
	if err != nil {
		t.Fatal(err)
	}
	two, err := submit(false, file, folder)
	if err != nil || string(one.Context) != string(two.Context) || len(m.contexts) != 1 || len(m.contexts[string(one.Context)]) == 0 {
		t.Errorf("%x and %x, %d kept: %v", one.Context, two.Context, len(m.contexts), err)
	}
	for says, path := range map[string]string{"is absolute": "/etc/passwd", "leads out of it": "a/../../b", "is empty": ".", "control characters": "a\nb",
		"simplest form": "a//b", "bytes long": strings.Repeat("a", maxPath+1), "folders and files on it": strings.Repeat("a/", contexts.MaxDepth) + "b"} {
		if _, err := submit(false, v1.File{Path: path, Type: fileRegular}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v, want %q", path, err, says)
		}
	}
	if left, err := filepath.Glob(filepath.Join(disk.Path(), "*")); err != nil || len(left) != 0 || disk.Used() != 0 {
		t.Errorf("%v is left, %d bytes of it reserved: %v", left, disk.Used(), err)
	}
}
