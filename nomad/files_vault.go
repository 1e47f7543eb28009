package nomad

import "embed"

// Vault holds the policies for Vault and the script that sets one up, in the folder vault.
//
//go:embed vault
var Vault embed.FS
