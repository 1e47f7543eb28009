//go:build linux

package attempt

import (
	"fmt"
	"path/filepath"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/credentials"
)

// Files of the task's secrets folder, as its job names them.
const (
	s3KeysFile     = "s3.json"
	s3IdentityFile = "nomad_s3.jwt"
	gcsKeysFile    = "gcs.json"
	azureKeysFile  = "azure.json"
)

// maxSession is the maximum length of an AWS session name.
const maxSession = 64

// signIn lets the program sign in to its checkpoints with the configuration files of AWS's and
// Google's tools, so that every client uses them: boto3, the AWS command line, s5cmd, gcloud.
// The environment contains no keys. The user's own configuration wins; DET_AWS_CONFIG_FILE and
// similar variables tell Determined's package about these files in any case.
func signIn(spec *v1.TaskSpec, l layout, env map[string]string) error {
	c := spec.Credentials
	if c == nil {
		return nil
	}
	unlessGiven := func(name, value string) {
		if env[name] == "" && value != "" {
			env[name] = value
		}
	}
	if c.GCS {
		env["DET_GCS_CREDENTIALS_FILE"] = filepath.Join(l.secrets, gcsKeysFile)
		unlessGiven("GOOGLE_APPLICATION_CREDENTIALS", env["DET_GCS_CREDENTIALS_FILE"])
	}
	if c.Azure { // Azure's libraries have no variable for such a file
		env["DET_AZURE_CREDENTIALS_FILE"] = filepath.Join(l.secrets, azureKeysFile)
	}
	if c.By == "" {
		return nil
	}
	unlessGiven("AWS_DEFAULT_REGION", c.Region)
	if c.By == v1.SignInByWebIdentity {
		unlessGiven("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(l.secrets, s3IdentityFile))
		unlessGiven("AWS_ROLE_ARN", c.RoleARN)
		session := strings.ReplaceAll(spec.AllocationID, ".", "-")
		unlessGiven("AWS_ROLE_SESSION_NAME", session[:min(len(session), maxSession)])
		unlessGiven("AWS_ENDPOINT_URL_STS", c.STSEndpoint)
		return nil
	}
	process := fmt.Sprintf("%s %s %s", quoted(l.self), credentials.Verb, quoted(filepath.Join(l.secrets, s3KeysFile)))
	config := "# Written by det-runner for this task: credentials for its checkpoints, read again at each request.\n" +
		"[default]\ncredential_process = " + process + "\n"
	if c.Region != "" {
		config += "region = " + c.Region + "\n"
	}
	if err := writeFile(filepath.Join(l.physical, "aws", "config"), []byte(config), 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration for S3: %w", err)
	}
	env["DET_AWS_CONFIG_FILE"] = l.inRun("aws/config")
	if env["AWS_CONFIG_FILE"] == "" && env["AWS_SHARED_CREDENTIALS_FILE"] == "" {
		// The second variable prevents that clients use the keys of the node's user.
		env["AWS_CONFIG_FILE"], env["AWS_SHARED_CREDENTIALS_FILE"] = env["DET_AWS_CONFIG_FILE"], l.inRun("aws/credentials")
	}
	unlessGiven("AWS_SDK_LOAD_CONFIG", "1") // older clients read the file only with this variable
	return nil
}

// quoted quotes a word for credential_process.
func quoted(word string) string {
	if !strings.ContainsAny(word, " '\"\\") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
