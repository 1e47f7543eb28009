package launch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// A world is a database with the users ada (3) and ben (4), and the workspace w (1) with the projects 1, 4 and the archived 9. The workspace 9 is
// archived.
type world struct{ *rowtest.World }

// launchers make rows in a database of their own. The aux pool has no slots, the other has two.
func launchers(t *testing.T) (*world, *Experiments, *Tasks) {
	t.Helper()
	w := &world{rowtest.New(t)}
	w.Exec(`INSERT INTO users (id, username, session_epoch) OVERRIDING SYSTEM VALUE VALUES (3, 'ada', 5), (4, 'ben', 0)`)
	w.Exec(`UPDATE workspaces SET name = 'w' WHERE id = 1`)
	w.Exec(`INSERT INTO workspaces (id, name, owner_id, archived) OVERRIDING SYSTEM VALUE VALUES (9, 'gone', 3, true)`)
	w.Exec(`INSERT INTO projects (id, workspace_id, name, key, owner_id, archived) OVERRIDING SYSTEM VALUE VALUES (4, 1, 'p', 'P', 3, false), (9, 1, 'gone', 'GONE', 3, true)`)
	c := Cluster{Site: task.Site{ClusterID: "c", Capabilities: expconf.Everything()},
		Pools:   pool.Set{{Name: "gpu", Driver: pool.RawExec, Compute: true, Priority: 41}, {Name: "aux", Driver: pool.RawExec, Aux: true, Priority: 50}},
		Storage: expconf.CheckpointStorage{Type: expconf.SharedFS, HostPath: "/tmp"}, Idle: IdleTimeouts{Notebook: time.Hour},
		Slots: func(_ context.Context, pool string, _ func(PoolSlots) bool) (PoolSlots, error) {
			return map[string]PoolSlots{"gpu": {PerNode: 2, Total: 2}}[pool], nil
		}}
	users := diskuse.NewUsers(w.DB, diskuse.Limits{})
	code := &Packer{DB: w.DB, Users: users, Room: spool.New(t.TempDir(), 2*MaxPacked*spool.OwnerShare),
		Turns: func(context.Context, string) (func(), error) { return func() {}, nil }}
	return w, &Experiments{Cluster: c, DB: w.DB, Users: users, Code: code}, &Tasks{Cluster: c, DB: w.DB, Code: code}
}

// settings replaces the settings of the workspace.
func (w *world) settings(json string) {
	w.T.Helper()
	w.Exec(`UPDATE workspaces SET settings = $1::text::jsonb WHERE id = 1`, json)
}

func (w *world) template(name, source string) {
	w.T.Helper()
	if err := workspaces.CreateTemplate(w.T.Context(), w.DB, workspaces.Template{Name: name, WorkspaceID: 1, OwnerID: 3, Source: source, Config: []byte(`{}`)}); err != nil {
		w.T.Fatal(err)
	}
}

// policies replaces all policies.
func (w *world) policies(list ...workspaces.Policy) {
	w.T.Helper()
	w.Exec(`DELETE FROM config_policies`)
	for _, p := range list {
		if err := workspaces.SetPolicy(w.T.Context(), w.DB, p, 1); err != nil {
			w.T.Fatal(err)
		}
	}
}

func (w *world) experiment(id int) experiments.Experiment {
	w.T.Helper()
	e, err := experiments.Get(w.T.Context(), w.DB, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

func (w *world) task(id string) tasks.Task {
	w.T.Helper()
	k, err := tasks.Get(w.T.Context(), w.DB, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return k
}

// count is the number of rows of a table.
func (w *world) count(table string) int {
	w.T.Helper()
	return w.Int(`SELECT count(*) FROM ` + table)
}

var (
	me  = Submitter{Who: auth.Who{UserID: 3, Username: "ada", SessionEpoch: 5}, Share: "user ada"}
	ben = Submitter{Who: auth.Who{UserID: 4, Username: "ben"}, Share: "user ben"}
)

const oneTrial = "entrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"

// TestAnExperimentIsMade from a document, its template and the cluster's defaults.
func TestAnExperimentIsMade(t *testing.T) {
	w, l, _ := launchers(t)
	w.template("t", "max_restarts: 7\nresources: {slots_per_trial: 3}\n")
	req := &v1.CreateExperimentRequest{Config: new(oneTrial), Template: new("t"), Activate: new(true), ProjectID: new(4), ValidateOnly: new(true)}
	asked, err := l.Create(t.Context(), me, req)
	if err != nil || asked.ID != 0 || w.count("experiments") != 0 || asked.Project.ID != 4 || asked.Complete.MaxRestarts != 7 {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	req.ValidateOnly = nil
	made, err := l.Create(t.Context(), me, req)
	if err != nil || made.ID != 1 || w.count("experiments") != 1 {
		t.Fatalf("made: %+v, %v", made, err)
	}
	n := w.experiment(made.ID)
	template, err := experiments.TemplateOf(t.Context(), w.DB, made.ID)
	if err != nil || n.OwnerID != 3 || w.Int(`SELECT session_epoch FROM experiments`) != 5 || n.Desired != "active" || n.Pool != "gpu" || n.SlotsPerTrial != 3 || n.Priority != 41 || n.OriginalConfig != oneTrial ||
		template.Name != "t" || n.Trials != 1 || w.Int(`SELECT count(creation_key) FROM experiments`) != 0 {
		t.Errorf("the experiment's row is %+v: %v", n, err)
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
	w, l, _ := launchers(t)
	parent, err := l.Create(t.Context(), ben, &v1.CreateExperimentRequest{Config: new(oneTrial)})
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{ParentID: &parent.ID}); err == nil || !strings.Contains(err.Error(), "config: is required") {
		t.Errorf("the text of somebody else's experiment: %v", err)
	}
	if err := workspaces.Bind(t.Context(), w.DB, "gpu", []int{9}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial)}); err == nil || !strings.Contains(err.Error(), `pool gpu is not open to workspace "w"`) {
		t.Errorf("in a pool that is bound to another workspace: %v", err)
	}
	if n := w.count("experiments"); n != 1 {
		t.Errorf("%d were made", n-1)
	}
}

// TestTasksAreMade of each kind.
func TestTasksAreMade(t *testing.T) {
	w, _, l := launchers(t)
	w.settings(`{"default_aux_pool": "gpu"}`)
	key := me
	for _, c := range []struct {
		of           tasks.Kind
		config, pool string
		slots        int
	}{
		{tasks.Command(), `{"entrypoint":["true"],"resources":{"slots":0}}`, "gpu", 0}, {tasks.Notebook(), ``, "gpu", 1}, {tasks.Shell(), `{"resources":{"resource_pool":"aux"}}`, "aux", 1},
	} {
		key.Key = "again-" + c.of.Noun // a key is for one kind
		if made, err := l.Start(t.Context(), key, c.of, tasks.Request{Config: v1.Struct(c.config), Preview: new(true)}); err != nil || made.Stored {
			t.Errorf("a preview of a %s: %+v, %v", c.of.Noun, made, err)
		}
		made, err := l.Start(t.Context(), key, c.of, tasks.Request{Config: v1.Struct(c.config)})
		if err != nil || !made.Stored {
			t.Fatalf("%s: %v", c.of.Noun, err)
		}
		n := w.task(made.ID)
		shells, boards := w.Int(`SELECT count(*) FROM shell_keys WHERE task_id = $1`, n.ID), w.count("tensorboards")
		if n.Type != c.of.Type || n.Pool != c.pool || n.Slots != c.slots || n.WorkspaceID != workspaces.Default || w.Text(`SELECT creation_key FROM tasks WHERE id = $1`, n.ID) != key.Key || n.OwnerID != 3 ||
			(shells == 1) != (c.of.Noun == "shell") || boards != 0 {
			t.Errorf("the row of a %s is %+v", c.of.Noun, n)
		}
		stored, err := expconf.ParseCommandConfigJSON(n.Config)
		if err != nil || (stored.IdleTimeout != nil) != (c.of.Noun == "notebook") || !strings.HasPrefix(stored.Description, c.of.Title+" (") {
			t.Errorf("the configuration of a %s is %s: %v", c.of.Noun, n.Config, err)
		}
	}
	if n := w.count("tasks"); n != 3 {
		t.Errorf("%d were made", n)
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
	w, _, l := launchers(t)
	w.settings(`{"default_aux_pool": "gpu"}`)
	w.template("t", "resources: {slots: 100, resource_pool: nowhere, priority: 7}\n")
	for config, slots := range map[string]int{``: 1, `{"resources":{"slots":0}}`: 0} {
		made, err := l.Start(t.Context(), me, tasks.Notebook(), tasks.Request{Config: v1.Struct(config), Template: new("t")})
		if err != nil {
			t.Fatal(err)
		}
		n := w.task(made.ID)
		said := strings.Join(made.Remarks, "\n")
		if n.Slots != slots || n.Pool != "gpu" || n.Priority != 7 || !strings.Contains(said, `template "t": resources.slots: has no effect`) || !strings.Contains(said, "resources.resource_pool: has no effect") {
			t.Errorf("%s: %d slots in %s, priority %d\n%s", config, n.Slots, n.Pool, n.Priority, said)
		}
	}
}

// TestATensorboardShowsWhatItCan read, and not too much.
func TestATensorboardShowsWhatItCan(t *testing.T) {
	w, e, l := launchers(t)
	if _, err := e.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(strings.Replace(oneTrial, "single", "random, max_trials: 2", 1))}); err != nil {
		t.Fatal(err)
	}
	one, two := w.Int(`SELECT min(id) FROM trials`), w.Int(`SELECT max(id) FROM trials`)
	made, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{one, one, two}}})
	if err != nil || one == two || !slices.Equal(made.Tensorboard.TrialIDs, []int{one, two}) || len(made.Tensorboard.ExperimentIDs) != 0 || made.Slots != 0 || made.Pool != "aux" {
		t.Errorf("%+v: %v", made, err)
	}
	w.Exec(`UPDATE experiments SET owner_id = $1`, ben.Who.UserID) // who uses the cluster's storage, or that of their workspace
	if _, err := l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{one}}}); err != nil {
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
	w, e, l := launchers(t)
	for name, c := range map[string]struct {
		own, settings string
		owner         int
		refused       bool
	}{
		"keys of another user's configuration": {s3("theirs"), `{}`, ben.Who.UserID, true},
		"the submitter's own":                  {s3("mine"), `{}`, me.Who.UserID, false},
		"those of the workspace":               {s3("ws"), `{"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"ws","secret_key":"of-ws"}}`, ben.Who.UserID, false},
		"others than those of the workspace":   {s3("theirs"), `{"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"ws","secret_key":"of-ws"}}`, ben.Who.UserID, true},
		"a token in the address":               {"checkpoint_storage: {type: azure, container: c, account_url: 'https://a.blob.core.windows.net?sig=hunter'}\n", `{}`, ben.Who.UserID, true},
		"a token in the address of a proxy":    {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://s3.example.com/?key=hunter'}\n", `{}`, ben.Who.UserID, true},
		"an account in the address of a proxy": {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://me:hunter@s3.example.com'}\n", `{}`, ben.Who.UserID, true},
		"an address without a credential":      {"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://s3.example.com'}\n", `{}`, ben.Who.UserID, false},
	} {
		t.Run(name, func(t *testing.T) {
			w.settings(`{}`)
			made, err := e.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + c.own)})
			if err != nil {
				t.Fatal(err)
			}
			w.Exec(`UPDATE experiments SET owner_id = $2 WHERE id = $1`, made.ID, c.owner)
			w.settings(c.settings)
			trial := w.Int(`SELECT id FROM trials WHERE experiment_id = $1`, made.ID)
			_, err = l.Start(t.Context(), me, tasks.Tensorboard(), tasks.Request{Shows: &tasks.Shows{Trials: []int{trial}}})
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("experiment %d belongs to another user", made.ID)) {
				t.Error(err)
			}
		})
	}
}

// TestCodeIsKeptOnce: the same files in another order are the same code.
func TestCodeIsKeptOnce(t *testing.T) {
	w, l, _ := launchers(t)
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
	if e, err := submit(true, folder, file); err != nil || e.Context != nil || w.count("contexts") != 0 {
		t.Errorf("code of a request that only asks is kept: %v", err)
	}
	one, err := submit(false, folder, file)
	if err != nil {
		t.Fatal(err)
	}
	two, err := submit(false, file, folder)
	if err != nil || string(one.Context) != string(two.Context) || w.count("contexts") != 1 || w.Int(`SELECT size FROM contexts WHERE hash = $1`, one.Context) == 0 {
		t.Errorf("%x and %x, %d kept: %v", one.Context, two.Context, w.count("contexts"), err)
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
