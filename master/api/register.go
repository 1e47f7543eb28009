package api

// register fills the table of routes. Routes of users and their tools are in register_users.go,
// routes of programs in tasks in register_tasks.go. The first matching route is used:
// /trials/time-series must come before /trials/:id.
func (a *API) register() {
	a.registerTaskRoutes()
	a.registerUserRoutes()
}
