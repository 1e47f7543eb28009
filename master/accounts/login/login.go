// Package login has the rows of sign-ins with identity providers: which account an identity opens (rows_identities.go),
// and which users a master has to ask a provider about while they are signed in (rows_checks.go).
package login
