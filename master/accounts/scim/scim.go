// Package scim is the part of the room of accounts for the users and groups that a SCIM client manages. It changes
// accounts by the functions of package accounts, with the same locks and checks as the other ways to change them. The files, in the order
// in which one reads them:
//
//	rows_users.go   users
//	rows_groups.go  groups
//	routes.go       the endpoints, and what they use of others
//	admit.go        the secrets of clients, and the limits on their calls
//	answers.go      what answers and errors look like, pages of lists, and what the master says about itself
//	users.go        the calls for users
//	groups.go       the calls for groups
//
// Package protocol parses the messages of the client.
package scim
