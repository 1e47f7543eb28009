// Package scim has the rows of users and groups that a SCIM client manages: rows_users.go and rows_groups.go. It changes
// accounts by the functions of package accounts, with the same locks and checks as the other ways to change them. Package
// protocol parses the messages of the client.
package scim
