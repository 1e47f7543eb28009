package jobspecs

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Credentials describe how an attempt's program signs in to checkpoint storage. They contain
// no secret, because they are part of the job: they say where the secret comes from.
type Credentials struct {
	// Role of Vault's JWT method with which the attempt signs in to Vault.
	Role string
	// Engine is the path of Vault's AWS secrets engine, with the attempt's role (VaultRole); ""
	// where the attempt needs nothing of S3.
	Engine string
	// GCSSecret and AzureSecret are paths of secrets in version 2 of Vault's kv engine,
	// with what signs in there; "" where the attempt needs neither.
	GCSSecret, AzureSecret string
	// Namespace of Vault; "": the node's own.
	Namespace string
	// Audience of the workload identity with which the program signs in to the object store
	// itself, without Vault; "" if it does not.
	Audience string
}

// Where a runner finds what signs its program in: files in the task's secrets folder.
const (
	S3CredentialsFile    = "s3.json"
	GCSCredentialsFile   = "gcs.json"
	AzureCredentialsFile = "azure.json"
	S3IdentityName       = "s3"
)

// Nomad renders a template after a change, and first waits for further changes. It must not
// wait here, because an old key soon expires.
const (
	minWait = 10 * time.Millisecond
	maxWait = time.Second
)

var (
	vaultPath  = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$`)
	secretWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// credentials adds a template with the attempt's keys from Vault to a process.
//
// The file has the format of AWS's credential_process, without the time of expiry, which
// follows from the file's time: a template with a time would change whenever Nomad
// evaluates it.
func (t *Task) credentials(task *api.Task) {
	c := t.Credentials
	if c == nil {
		return
	}
	if c.Audience != "" {
		task.Identities = append(task.Identities, &api.WorkloadIdentity{
			Name: S3IdentityName, Audience: []string{c.Audience}, TTL: identityTTL, File: true, ChangeMode: "noop",
		})
	}
	if c.Role == "" {
		return
	}
	// The same role may read the registry's credentials: a task can use one Vault role, and
	// problems rejects a task with two.
	task.Vault = &api.Vault{Role: c.Role, Env: new(false), DisableFile: new(true), ChangeMode: new("noop")}
	if c.Namespace != "" {
		task.Vault.Namespace = new(c.Namespace)
	}
	add := func(file, format string, args ...any) {
		task.Templates = append(task.Templates, &api.Template{
			EmbeddedTmpl: new(fmt.Sprintf(format, args...)), DestPath: new("${NOMAD_SECRETS_DIR}/" + file), ChangeMode: new("noop"),
			Wait: &api.WaitConfig{Min: new(minWait), Max: new(maxWait)},
		})
	}
	if c.Engine != "" {
		add(S3CredentialsFile, `{{ with secret "%s/sts/%s" }}{"Version": 1, "AccessKeyId": {{ .Data.access_key | toJSON }}, `+
			`"SecretAccessKey": {{ .Data.secret_key | toJSON }}, "SessionToken": {{ .Data.session_token | toJSON }}, `+
			`"LeaseSeconds": {{ .LeaseDuration }}}{{ end }}`, c.Engine, t.VaultRole())
	}
	// A secret has the fields of a credentials file, so that all of it is that file.
	const whole = `{{ with secret "%s" }}{{ .Data.data | toJSON }}{{ end }}`
	if c.GCSSecret != "" {
		add(GCSCredentialsFile, whole, c.GCSSecret)
	}
	if c.AzureSecret != "" {
		add(AzureCredentialsFile, whole, c.AzureSecret)
	}
	if len(t.Secrets) > 0 {
		add(SecretsFile, "%s", secretsTemplate(t.Secrets))
	}
}

// VaultRole is the name of the attempt's role in Vault's AWS secrets engine: the id of the job,
// which has no dots, and the Nomad namespace of the job ("": default). In another region of Nomad
// than the master's, @ and the region follow. Vault's policy of tasks makes the same name from the
// claims of a job's identity, so that a job of the same name elsewhere cannot use the role.
func (t *Task) VaultRole() string {
	role := JobID(t.AllocationID) + "." + cmp.Or(t.Pool.Namespace, api.DefaultNamespace)
	if t.Pool.Region != "" {
		role += "@" + t.Pool.Region
	}
	return role
}

func (c *Credentials) problems(reads bool, bad func(format string, args ...any)) {
	switch {
	case c == nil:
	case c.Role == "" && c.Audience == "":
		bad("credentials: neither a role of Vault nor the audience of an identity")
	case c.Role != "":
		if c.Engine+c.GCSSecret+c.AzureSecret == "" && !reads {
			bad("credentials: a role of Vault, and nothing to read there")
		}
		for _, path := range []string{c.Engine, c.GCSSecret, c.AzureSecret} {
			if path != "" && !vaultPath.MatchString(path) {
				bad("credentials: %q is no path in Vault", path)
			}
		}
	}
}
