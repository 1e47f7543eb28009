// Package secrets lets attempts get credentials for their checkpoints from Vault, limited to
// their own checkpoints.
//
// For each attempt the master writes a role of Vault's AWS secrets engine with the name of the
// attempt's Nomad job and its namespace. With its workload identity, a job can read credentials
// only of the role with its own name and namespace, so the role's policy limits what the attempt may do: write below its
// experiment's prefix, and read the checkpoint from which it starts. The master, its rows and
// its jobs contain no keys.
//
// policy.go makes the policy of a role; roles.go writes and removes roles, including roles that
// a killed master left behind; vault.go is the connection to Vault; reader.go gets the
// credentials with which the master itself reads checkpoints; kv.go reads the credentials for
// other object storage, which are the same for all attempts; keys.go lists the keys of secrets
// that users mount, whose values the master never reads.
package secrets
