package jobspecs

import (
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Credentials say how an attempt's program signs in to checkpoint storage. Nothing
// secret is in them, and so in the job: they say where a secret is to be had.
type Credentials struct {
	// Role of Vault's JWT method by which the attempt signs in there.
	Role string
	// Engine is the path of Vault's AWS secrets engine, in which the role to read is
	// named like the job.
	Engine string
	// Namespace of Vault; "" for the node's own.
	Namespace string
	// Audience of an identity that the program shows to the store itself, where that
	// is how it signs in; Vault is not asked then.
	Audience string
}

// Where a runner finds what signs its program in: files in the task's secrets folder.
const (
	S3CredentialsFile = "s3.json"
	S3IdentityName    = "s3"
)

// S3IdentityFile is the file of the identity that is shown to the store.
func S3IdentityFile() string { return "nomad_" + S3IdentityName + ".jwt" }

// A template is rendered when what it names has changed, and after waiting for
// more changes; here nothing is to be waited for, because an old key soon ends.
const (
	minWait = 10 * time.Millisecond
	maxWait = time.Second
)

var vaultPath = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$`)

// credentials makes the process able to read its keys, and nobody else's.
//
// The file has the form that credential_process gives out, but for the time of
// its end: that follows from the time when the file was written, because a
// template that named a time would be another each time that it is looked at.
func (t *Task) credentials(task *api.Task) {
	c := t.Credentials
	if c == nil {
		return
	}
	if c.Role == "" {
		task.Identities = append(task.Identities, &api.WorkloadIdentity{
			Name: S3IdentityName, Audience: []string{c.Audience}, TTL: identityTTL, File: true, ChangeMode: "noop",
		})
		return
	}
	// It may read the credentials of a registry too: a task signs in to Vault once, and
	// problems has refused two roles.
	task.Vault = &api.Vault{Role: c.Role, Env: new(false), DisableFile: new(true), ChangeMode: new("noop")}
	if c.Namespace != "" {
		task.Vault.Namespace = new(c.Namespace)
	}
	text := fmt.Sprintf(`{{ with secret "%s/sts/%s" }}{"Version": 1, "AccessKeyId": {{ .Data.access_key | toJSON }}, `+
		`"SecretAccessKey": {{ .Data.secret_key | toJSON }}, "SessionToken": {{ .Data.session_token | toJSON }}, `+
		`"LeaseSeconds": {{ .LeaseDuration }}}{{ end }}`, c.Engine, JobID(t.AllocationID))
	task.Templates = append(task.Templates, &api.Template{
		EmbeddedTmpl: new(text), DestPath: new("${NOMAD_SECRETS_DIR}/" + S3CredentialsFile), ChangeMode: new("noop"),
		Wait: &api.WaitConfig{Min: new(minWait), Max: new(maxWait)},
	})
}

func (c *Credentials) problems(bad func(format string, args ...any)) {
	switch {
	case c == nil:
	case c.Role == "" && c.Audience == "":
		bad("credentials: neither a role of Vault nor the audience of an identity")
	case c.Role != "" && !vaultPath.MatchString(c.Engine):
		bad("credentials: %q is no path of a secrets engine", c.Engine)
	}
}
