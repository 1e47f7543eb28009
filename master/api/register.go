package api

// register fills the table of routes. What users and their tools call is listed
// in register_users.go, what runs inside tasks calls in register_tasks.go. The first route that
// fits is taken: /trials/time-series must come before /trials/:id.
func (a *API) register() {
	a.registerTaskRoutes()
	a.registerUserRoutes()
}
