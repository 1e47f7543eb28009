package api

// register fills the table of routes. What people and their tools call is listed
// in people.go, what runs inside tasks calls in inside.go. The first route that
// fits is taken: /trials/time-series must come before /trials/:id.
func (a *API) register() {
	a.registerInside()
	a.registerPeople()
}
