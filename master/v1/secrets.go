package v1

import "github.com/detent-ml/detent/master/optional"

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
