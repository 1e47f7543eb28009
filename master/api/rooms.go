package api

import (
	"context"

	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/branches"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/live"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/mlflow"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/reservations"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/runs"
	"github.com/detent-ml/detent/master/searches"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerRooms adds the endpoints of all rooms, in any order (rest/route_order.go).
func (a *API) registerRooms() {
	a.registerAccounts()
	a.registerMaster()
	audit.Routes(a.router, a.db)
	a.registerWorkspaces()
	launch.Routes(a.router, a.launch)
	branches.Routes(a.router, branches.Deps{DB: a.db, Bus: a.bus, Launcher: a.launcher, Reader: branches.NewReader(a.db), Full: a.experiments.Full})
	experiments.Routes(a.router, a.experiments)
	searches.Routes(a.router, searches.Deps{DB: a.db, Bus: a.bus, Memory: a.memory, Driven: a.driven})
	runs.Routes(a.router, runs.Deps{DB: a.db, Bus: a.bus, Users: a.users, Experiments: a.experiments})
	live.Routes(a.router, live.Deps{DB: a.db, Bus: a.bus, Reports: a.taskIO.feed, States: a.taskIO.states, InTurn: a.inSeries,
		Streams: a.limits.streams, Followers: a.limits.followers})
	diskuse.Routes(a.router, diskuse.Deps{DB: a.db, Users: a.users})
	a.registerMetrics()
	a.registerLogs()
	checkpoints.Routes(a.router, a.checkpoints)
	models.Routes(a.router, a.models())
	a.registerWebhooks()
	a.registerTasks()
	attempts.Routes(a.router, a.Attempts)
	a.Attempts.Files.Routes(a.router)
	a.registerNodes()
	a.registerQueue()
	a.registerReservations()
	a.router.Host(a.oldLinks.Is, a.oldLinks.Answer)
}

// of is a function over rows with one argument, over these rows.
func of[K, V any](db *database.DB, read func(ctx context.Context, db *database.DB, k K) (V, error)) func(ctx context.Context, k K) (V, error) {
	return func(ctx context.Context, k K) (V, error) { return read(ctx, db, k) }
}

// registerAccounts gives the room of accounts what it uses of others.
func (a *API) registerAccounts() {
	signIns := accounts.NewSignIns(a.db)
	accounts.Routes(a.router, accounts.Deps{DB: a.db, Roles: a.cfg.Roles, Callers: a.auth, Tokens: a.cfg.Tokens, SignIns: signIns, Jobs: a.cfg.JobSignIn,
		BlankLogin: a.cfg.BlankLogin, Forwarder: a.forwarders.Met, ProviderName: a.cfg.SignIn.NameOf,
		Workspace: func(ctx context.Context, id int) (auth.Object, error) {
			w, err := workspaces.Get(ctx, a.db, id)
			return w.Object(), err
		}, Workspaces: func(ctx context.Context) ([]int, error) { return workspaces.IDs(ctx, a.db) }, Owned: func(ctx context.Context) ([]accounts.Owned, error) { return experiments.Owned(ctx, a.db) }})
	providers := login.Deps{DB: a.db, Log: a.log, Roles: a.cfg.Roles, Callers: a.auth, SignIns: signIns, Providers: a.cfg.SignIn,
		ClusterName: a.cfg.ClusterName, AskFirst: proxy.AskFirst}
	login.Routes(a.router, providers)
	scim.Routes(a.router, scim.Deps{DB: a.db, Roles: a.cfg.Roles, Callers: a.auth, Secrets: a.cfg.SCIM, PublicURL: a.cfg.PublicURL})
	login.Recheck(a.stopping, providers, &a.rechecks)
}

// registerMaster gives the room of what a master tells about itself the configuration, and what other parts of the master count.
func (a *API) registerMaster() {
	d := about.Deps{DB: a.db, Log: a.log, ClusterName: a.cfg.ClusterName, ClusterID: a.cfg.ClusterID, MasterID: a.cfg.MasterID, PublicURL: a.cfg.PublicURL,
		Version: a.cfg.Version, DetentVersion: a.cfg.DetentVersion, Roles: bool(a.cfg.Roles), Risks: a.cfg.Risks, Redacted: a.cfg.Redacted,
		Loop: a.cfg.Loop, Connections: a.cfg.Connections, Demand: a.cfg.Demand, Forwarders: a.forwarders.Count,
		Providers: func() []v1.SSOProvider { return login.Offered(a.cfg.SignIn, a.cfg.PublicURL) },
		SettingsChanged: func(ctx context.Context) {
			a.bus.Publish(about.TopicSettings)
			if a.cfg.ApplySettings != nil {
				a.cfg.ApplySettings(ctx) // so that this master shows them at once
			}
		}}
	if a.cfg.Proxy != nil {
		d.Visits = a.cfg.Proxy.Open
	}
	about.Routes(a.stopping, a.router, d)
	masterlog.Routes(a.router, masterlog.Deps{DB: a.db, SignedIn: func(ctx context.Context, who rest.Credential) error {
		_, err := a.auth.ByToken(ctx, who)
		return err
	}})
}

// registerWorkspaces gives the room of workspaces what it uses of experiments, of callers, and of the audit trail.
func (a *API) registerWorkspaces() {
	d := workspaces.Deps{DB: a.db, Roles: a.cfg.Roles, Pools: a.cfg.Pools, RolesChanged: a.auth.Forget, MountSecrets: a.cfg.Site.Secrets.Name,
		StoreAgentUser: accounts.PartOfAgentUser, AgentUser: accounts.WireAgentUser, Admit: a.users.Admit, AdmitChange: a.users.AdmitChange, Delete: of(a.db, experiments.DeleteWorkspace),
		DeleteProject: of(a.db, experiments.DeleteProject), Note: audit.Note, CheckPolicy: a.launcher.CheckPolicy, BindingsChanged: func() { a.bus.Publish(lifecycle.TopicIntent) }}
	workspaces.Routes(a.router, d)
	a.registerMLflow(d)
}

// registerMLflow gives the room of MLflow's interface what it uses of workspaces, of package launch and of metrics.
func (a *API) registerMLflow(places workspaces.Deps) {
	changed := func() { a.bus.Publish(lifecycle.TopicIntent) }
	mlflow.Routes(a.router, mlflow.Deps{DB: a.db, PublicURL: a.cfg.PublicURL, Writer: a.taskIO.metrics, NewProject: places.NewProject, NewWorkspace: places.New, Admit: a.users.Admit, Changed: changed, Files: a.checkpoints,
		Create: func(ctx context.Context, c *rest.Call, who auth.Who, req *v1.CreateExperimentRequest, also func(ctx context.Context, tx *database.DB, id int) error) (int, error) {
			by := launch.SubmitterOf(c)
			by.Who, by.Also = who, also
			e, err := a.launcher.Create(ctx, by, req)
			if err != nil {
				return 0, err
			}
			return e.ID, nil
		},
		Accept: func(ctx context.Context, run experiments.Trial, bytes int) error {
			if err := a.users.Admit(ctx, run.OwnerID, int64(bytes)); err != nil {
				return err
			}
			return a.heard.Task(ctx, run.TaskID)
		}})
}

// experimentDeps gives the room of experiments what it uses of policies, attempts and the registry.
func (a *API) experimentDeps() experiments.Deps {
	return experiments.Deps{DB: a.db, Bus: a.bus, Memory: a.memory, Users: a.users, Configs: a.configs, Heard: a.heard,
		Code: a.code, Listing: a.limits.lists, Pools: a.cfg.Pools, LogDays: a.cfg.Logs.Days, Version: a.models().OnVersion(), MayMove: launch.MayMove,
		Allowed: func(ctx context.Context, workspace int, ch experiments.Patch) error {
			return a.launcher.Allowed(ctx, workspace, workspaces.WorkloadExperiment, launch.Change{Priority: ch.Priority, MaxSlots: ch.MaxSlots, Weight: ch.Weight})
		},
		Attempts: a.Attempts.OfExperiment}
}

// models gives the room of models what it uses of workspaces, checkpoints and their owners.
func (a *API) models() models.Deps {
	return models.Deps{DB: a.db, DefaultWorkspace: workspaces.Default, LockWorkspace: workspaces.Lock, Admit: a.users.Admit, AdmitChange: a.users.AdmitChange, Note: audit.Note, Workspace: a.workspaceNamed,
		CheckpointOf: func(ctx context.Context, name string) (string, auth.Object, error) {
			k, err := checkpoints.Named(ctx, a.db, name)
			return k.UUID, k.Object(), err
		},
		CheckpointOwner: func(ctx context.Context, uuid string) (auth.Object, error) {
			owners, err := checkpoints.Owners(ctx, a.db, []string{uuid})
			return owners[uuid].Object(), err
		},
		Checkpoint: func(ctx context.Context, who auth.Who, uuid string) (v1.Checkpoint, error) {
			k, err := checkpoints.Get(ctx, a.db, uuid)
			return a.checkpoints.Shown(k, who), err
		},
		Checkpoints: func(ctx context.Context, who auth.Who, ids []string) (map[string]v1.Checkpoint, error) {
			list, err := checkpoints.WholeByIDs(ctx, a.db, ids)
			shown := make(map[string]v1.Checkpoint, len(list))
			for _, k := range list {
				shown[k.UUID] = a.checkpoints.Shown(k, who)
			}
			return shown, err
		}}
}

// workspaceNamed finds the workspace that a request names by its number or, without one, by its name; 0: it names none.
func (a *API) workspaceNamed(ctx context.Context, c *rest.Call, id int, name string) (int, error) {
	if id != 0 {
		w, err := workspaces.Get(ctx, a.db, id)
		return w.ID, err
	}
	if name == "" {
		return 0, nil
	}
	list, err := workspaces.List(ctx, a.db, auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace), workspaces.Filter{Exact: name}, 0, 1)
	if err == nil && len(list) == 0 {
		err = fault.New(fault.NotFound, "workspaceName: workspace %q not found", fault.Clip(name))
	}
	if err != nil {
		return 0, err
	}
	return list[0].ID, nil
}

// registerNodes gives the room of nodes what it uses of attempts and callers.
func (a *API) registerNodes() {
	nodes.Routes(a.router, nodes.Deps{Inventory: a.nodes, ClusterName: a.cfg.ClusterName, PublicURL: a.cfg.PublicURL, Measure: a.cfg.Measure, MayScrape: about.MayScrape,
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) }, Attempts: a.Attempts.OnNode})
}

// registerReservations gives the room of reservations what it uses of nodes.
func (a *API) registerReservations() {
	reservations.Routes(a.router, reservations.Deps{DB: a.db, Pools: a.cfg.Pools, Offer: a.nodes.Offer, Changed: func() { a.bus.Publish(lifecycle.TopicIntent) }})
}

// registerQueue gives the room of the queue what it uses of experiments, of tasks, and of config policies.
func (a *API) registerQueue() {
	recording.Routes(a.router, a.db)
	queue.Routes(a.router, queue.Deps{DB: a.db, Pools: a.cfg.Pools, Places: a.limits.places, Changed: func() { a.bus.Publish(lifecycle.TopicIntent) },
		Policies: func(ctx context.Context, workspace int, workload string) (func(queue.Change) error, error) {
			guard, err := a.launcher.Guard(ctx, workspace, workload)
			return func(ch queue.Change) error {
				return guard.Allows(launch.Change{Priority: ch.Priority, Weight: ch.Weight, Pool: ch.Pool})
			}, err
		},
		ChangeExperiment: a.launch.ChangeJob, TaskFits: a.launch.TaskFits,
		PrioritizeExperiment: func(ctx context.Context, tx *database.DB, id, priority int) error {
			return experiments.ChangeWithin(ctx, tx, id, experiments.Patch{Priority: &priority})
		}})
}

// registerWebhooks gives the room of webhooks what it uses of workspaces, experiments, trials and logs.
func (a *API) registerWebhooks() {
	webhook.Routes(a.router, webhook.Deps{DB: a.db, Bus: a.bus, MayReport: a.experiments.MayReport, Sender: a.cfg.Webhooks, TriggersChanged: a.taskIO.logs.TriggersChanged,
		OwnerOf: func(ctx context.Context, id int) (int, error) {
			w, err := workspaces.Get(ctx, a.db, id)
			return w.OwnerID, err
		}})
}
