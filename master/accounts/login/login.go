// Package login is the part of the room of accounts for sign-ins with identity providers. The files, in the order in which one reads them:
//
//	rows_identities.go  which account an identity opens
//	rows_checks.go      which users a master has to ask a provider about while they are signed in
//	routes.go           the endpoints, and what they use of others
//	signin.go           sign-ins in browsers, of det in a browser, and with a code on another device; the groups that a provider decides;
//	                    and sign-outs at a provider
//	recheck.go          the questions to providers about users who are signed in
//
// Package oidc speaks with the providers. The rows of sessions and the limits on sign-ins are those of package accounts.
package login
