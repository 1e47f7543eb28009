//go:build linux

package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// The file of the task's secrets folder with the values of the secrets that its owner mounts, and the
// folder below it with the files of the program.
const (
	userSecretsFile = "user-secrets.json"
	userSecretsDir  = "mounted"
)

const (
	maxSecretsFile = 8 << 20
	// maxVariable is the maximum length of NAME=value in Linux.
	maxVariable = 128<<10 - 1
)

// readSecrets reads the values of the secrets that the task mounts, in the order of the list.
func readSecrets(p *NomadTask, list []v1.TaskSecret) ([]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	file := filepath.Join(p.SecretsDir, userSecretsFile)
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("the task's job has no secrets, because its configuration had none when the job was submitted")
	}
	if err == nil && info.Size() > maxSecretsFile {
		return nil, fmt.Errorf("the secrets have %d bytes together, and at most %d are supported", info.Size(), maxSecretsFile)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the secrets: %w", err)
	}
	var found []struct {
		Name  string          `json:"name"`
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(content, &found) != nil { // the error would quote a value
		return nil, errors.New("cannot read the secrets: Nomad's template is not JSON")
	}
	values := make([]string, len(list))
	for i, s := range list {
		given := false
		for _, f := range found {
			if f.Name != s.Name || f.Key != s.Key || len(f.Value) == 0 || string(f.Value) == "null" {
				continue
			}
			given = true
			if json.Unmarshal(f.Value, &values[i]) != nil {
				values[i] = string(f.Value) // a number, or an object
			}
		}
		if !given {
			return nil, fmt.Errorf("secret %q has no key %q in Vault", s.Name, s.Key)
		}
	}
	return values, nil
}

// mountSecrets gives the program the values as environment variables and files.
func mountSecrets(p *NomadTask, l layout, list []v1.TaskSecret, values []string, env map[string]string) error {
	if len(list) == 0 {
		return nil
	}
	opened, where, err := l.account.Own(filepath.Join(p.SecretsDir, userSecretsDir), 0o700)
	if err != nil {
		return fmt.Errorf("cannot create the folder of the secrets: %w", err)
	}
	defer opened.Close()
	dir := filepath.Join(l.secrets, userSecretsDir)
	env["DET_SECRETS_DIR"] = dir
	for i, s := range list {
		value := values[i]
		if s.File != "" {
			file := filepath.Join(dir, filepath.FromSlash(s.File))
			if !strings.HasPrefix(file, dir+"/") {
				return fmt.Errorf("secret %q: %q is not below DET_SECRETS_DIR", s.Name, s.File)
			}
			own := filepath.Join(where, filepath.FromSlash(s.File))
			if err := l.account.Do(func() error { return writeSecret(own, value) }); err != nil {
				return fmt.Errorf("cannot write the file %s of secret %q: %w", s.File, s.Name, err)
			}
			value = file
		}
		switch {
		case s.Env == "":
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("secret %q, key %q: an environment variable cannot contain a zero byte; mount it as a file", s.Name, s.Key)
		case len(s.Env)+1+len(value) > maxVariable:
			return fmt.Errorf("secret %q, key %q: %d bytes are too long for an environment variable; mount it as a file", s.Name, s.Key, len(value))
		default:
			env[s.Env] = value
		}
	}
	return nil
}

// writeSecret writes a file that only the task's user can read.
func writeSecret(file, value string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) { // of the first preparation
		return err
	}
	return os.WriteFile(file, []byte(value), 0o400)
}
