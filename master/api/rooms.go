package api

import (
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/live"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/runs"
	"github.com/detent-ml/detent/master/searches"
)

// registerRooms adds the endpoints of all rooms, in any order (rest/route_order.go).
func (a *API) registerRooms() {
	a.registerAccounts()
	a.registerMaster()
	audit.Routes(a.router, a.db)
	a.registerWorkspaces()
	launch.Routes(a.router, a.launchDeps())
	experiments.Routes(a.router, a.experiments)
	searches.Routes(a.router, a.searchDeps())
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
}
