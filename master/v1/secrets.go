package v1

import "github.com/detent-ml/detent/master/optional"

// ListUserSecrets is the endpoint of secrets that users mount.
var ListUserSecrets = Endpoint[GetListRequest, GetUserSecretsResponse]{Method: "GET", Path: "/detent/secrets", Access: ByUsers, Object: KindOwn, Verb: View,
	Summary: "List the names of the secrets that you may mount in tasks; no answer has a value"}

// UserSecret is a secret in Vault that the caller may mount in tasks (environment.secrets).
type UserSecret struct {
	Name string   `json:"name"`
	Keys []string `json:"keys"` // that may be mounted; empty: all
	// Workspaces has the names of the workspaces in which the caller may mount it.
	Workspaces []string `json:"workspaces"`
	// Everywhere: the caller may mount it in all workspaces; Workspaces is empty.
	Everywhere bool `json:"everywhere"`
}

// GetUserSecretsResponse is the list of secrets that the caller may mount. It has no values.
type GetUserSecretsResponse struct {
	Pagination *Pagination  `json:"pagination"`
	Secrets    []UserSecret `json:"secrets"`
}

// Records returns the records of the page.
func (r GetUserSecretsResponse) Records() ([]UserSecret, Pagination) {
	return r.Secrets, optional.Value(r.Pagination)
}

// Credentials describes how a task's program signs in to object storage. It contains no key:
// Nomad writes the keys to files that only the task can read.
type Credentials struct {
	By          SignInBy `json:"by"`          // to S3; "" if the task needs no S3 credentials
	Region      string   `json:"region"`      // "": no region is configured
	RoleARN     string   `json:"roleArn"`     // of web_identity
	STSEndpoint string   `json:"stsEndpoint"` // of web_identity; "" for AWS's own
	GCS         bool     `json:"gcs"`         // a file has credentials for Google Cloud Storage
	Azure       bool     `json:"azure"`       // a file has credentials for Azure
}

// SignInBy is a way to sign in.
type SignInBy string

const (
	// SignInByVault: Vault creates the keys for the job, and Nomad renews them.
	SignInByVault SignInBy = "vault"
	// SignInByWebIdentity: the program exchanges the job's identity for keys at the store's
	// STS.
	SignInByWebIdentity SignInBy = "web_identity"
)
