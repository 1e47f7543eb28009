package api

// registerPeople lists what people and their tools call.
func (a *API) registerPeople() {
	a.registerInfo()
	a.registerLogin()
	a.registerUsers()
	a.registerMaster()
	a.registerWorkspaces()
	a.registerProjects()
	a.registerExperiments()
	a.registerTrials()
	a.registerExperimentCheckpoints()
	a.registerCommands()
	a.registerNotebooks()
	a.registerShells()
	a.registerTensorboards()
	a.registerTasks()
	a.registerVisits()
	a.registerPools()
	a.registerAgents()
	a.registerNomad()
	a.registerJobs()
	a.registerArtifacts()
	a.registerLive()
	a.registerDocs()
}
