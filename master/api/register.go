package api

// register fills the table of routes. Routes of users and their tools are in register_users.go,
// routes of programs in tasks in register_tasks.go. Their order does not matter (route_order.go).
func (a *API) register() {
	a.registerTaskRoutes()
	a.registerUserRoutes()
}
