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
	a.registerTasks()
	a.registerPools()
	a.registerAgents()
	a.registerNomad()
	a.registerJobs()
	a.registerArtifacts()
	a.registerDocs()
}
