package api

import (
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/models"
)

// registerUserRoutes lists what users and their tools call. Tasks may call some of it too.
func (a *API) registerUserRoutes() {
	a.registerAccounts()
	a.registerMaster()
	audit.Routes(a.router, a.db)
	a.registerWorkspaces()
	a.registerExperiments()
	a.registerSearch()
	a.registerSecrets()
	models.Routes(a.router, a.models())
	a.registerTrialSources()
	a.registerWebhooks()
	a.registerUnmanaged()
	a.registerTrials()
	a.registerTasks()
	a.registerNodes()
	a.registerMoves()
	a.registerQueue()
	a.Attempts.Files.Routes(a.router)
	a.registerLive()
	a.registerUpdates()
}
