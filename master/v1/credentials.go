package v1

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
