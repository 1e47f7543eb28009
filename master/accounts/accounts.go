// Package accounts is the room of accounts: users, groups, roles, access tokens, sessions, settings, and sign-ins with a password. The
// files, in the order in which one reads them:
//
//	rows_users.go          users, and the change of a user
//	rows_groups.go         groups and their members
//	rows_memberships.go    groups and memberships that identity providers and SCIM clients decide
//	rows_roles.go          roles that users, groups and everybody have, and the switch to roles
//	rows_sessions.go       who is signed in, by the hash of a token
//	rows_sessions_list.go  sessions as users see them, and sign-outs that providers request
//	rows_tokens.go         access tokens
//	rows_tries.go          tries to sign in, and the first password
//	rows_settings.go       what pages and programs store for a user
//	authenticator.go       who calls, by a token; how changed accounts and roles take effect at once
//	routes.go              the endpoints, and what they use of others
//	login_password.go      sign-ins with a password
//	login_limits.go        the limits on them
//	forwarders.go          warnings about proxies through which sign-ins arrive, and which the configuration does not name
//	login_jobs.go          sign-ins of Nomad jobs as service accounts
//	sessions.go            list and end sessions
//	users.go, users_old.go users, and Determined's older endpoints for them
//	groups.go, roles.go    groups; roles, who has them, and a preview of them
//	tokens.go              list, create, describe and revoke access tokens
//	settings.go            read, set and reset settings
//	login/                 sign-ins with identity providers, and the questions to them about users who are signed in
//	scim/                  users and groups that a SCIM client manages; protocol below it is pure and parses its messages
//
// The rows are functions over database.DB. A function whose statements depend on whether roles decide what users may do
// has a parameter for that, of type Roles. The room is below those of workspaces and experiments, and imports none of them. The
// queries that find the attempt of a token join tables of tasks, so they are in attempts (rows_callers.go).
package accounts
