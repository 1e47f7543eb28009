package about

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/detent-ml/detent/master/about/risks"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB  *database.DB
	Log *slog.Logger

	ClusterName, ClusterID, MasterID, PublicURL string
	Version, DetentVersion                      string // of Determined's interface, and of this program
	Roles                                       bool   // roles decide what users may do
	Providers                                   func() []v1.SSOProvider
	Risks                                       []risks.Risk // the settings that weaken security
	// Redacted is the master's configuration without secrets.
	Redacted func() any
	// SettingsChanged applies changed settings in this master, and wakes the others.
	SettingsChanged func(ctx context.Context)

	// Of this master. Each may be nil, except Forwarders.
	Loop        func() (cycles uint64, last time.Duration, leads bool)
	Connections func() (open int, refused uint64)
	Demand      func() []nodes.Demand
	Visits      func() int // of users to tasks, through the proxy
	Forwarders  func() int // that are not trusted
}

// A master answers about itself and its cluster.
type master struct {
	Deps
	router   *rest.Router
	stopping context.Context
	notice   notice
	asked    singleflight.Group // for the health
	scraped  scrape
	profiles *rest.Places
}

// Routes adds the endpoints. Callers that ask for the health at the same time share one check, which queries the
// database; the check ends with ctx, not with the request of one of them.
func Routes(ctx context.Context, r *rest.Router, d Deps) {
	m := &master{Deps: d, router: r, stopping: ctx, notice: notice{db: d.DB}, profiles: rest.NewPlaces("profiles", maxProfiles, 1)}
	rest.Serve(r, v1.GetInfo, m.info)
	rest.Serve(r, v1.GetMaster, m.master)
	rest.Serve(r, v1.GetTelemetry, m.telemetry)
	rest.Serve(r, v1.GetClusterMessage, m.message)
	rest.Serve(r, v1.SetClusterMessage, m.setMessage)
	rest.Serve(r, v1.DeleteClusterMessage, m.deleteMessage)
	rest.Serve(r, v1.GetMasterConfig, m.config)
	rest.Serve(r, v1.PatchMasterConfig, m.patchConfig)
	rest.Raw(r, v1.GetHealth, m.health)
	r.Head(v1.GetHealth.Line())
	rest.Raw(r, v1.GetMeasurements, m.measurements)
	rest.Raw(r, v1.ListProfiles, func(_ context.Context, c *rest.Call) error { return c.Hijack(http.HandlerFunc(listProfiles)) })
	rest.RawOn(r, v1.GetProfile, onProfile(), m.profile)
	rest.Raw(r, v1.GetOpenAPI, r.OpenAPI)
	rest.Raw(r, v1.GetSwagger, r.OpenAPI)
	rest.Raw(r, v1.GetDocs, r.DocsPage)
	rest.Raw(r, v1.GetPythonDocs, m.pythonPage)
	rest.Raw(r, v1.GetPythonModuleDocs, m.pythonPage)
}
