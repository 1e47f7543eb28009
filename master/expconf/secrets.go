package expconf

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// Secret mounts one key of a secret, which operators keep in Vault under a name, as an
// environment variable or as a file. With both, the variable has the path of the file. The
// configuration contains no value.
type Secret struct {
	Name string `json:"name"`
	Key  string `json:"key"`
	Env  string `json:"env,omitempty"`
	File string `json:"file,omitempty"` // in the folder that DET_SECRETS_DIR names
}

// Secrets is a list; Merge combines the entries of both documents.
type Secrets []Secret

func (l Secrets) onto(under any) any {
	return Secrets(collect(l, under.(Secrets), func(s Secret) [2]string { return [2]string{s.Env, s.File} }))
}

// Names returns the names of the secrets, each once, in their order.
func (l Secrets) Names() []string {
	var names []string
	seen := map[string]bool{}
	for _, s := range l {
		if !seen[s.Name] {
			seen[s.Name] = true
			names = append(names, s.Name)
		}
	}
	return names
}

const maxSecrets = 50

// maxName is the bound of names in bytes. It is not part of the patterns: each program would compile 128 states
// for each of them when it starts.
const maxName = 128

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	secretEnv   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// isName reports whether a text can be the name of something that operators have: a secret or a volume.
func isName(text string) bool { return len(text) <= maxName && namePattern.MatchString(text) }

// IsSecretName reports whether a text can be the name or the key of a secret.
func IsSecretName(text string) bool { return isName(text) }

func (l Secrets) check(k *checker, at string) {
	k.atMost(at, len(l), maxSecrets, "secrets")
	variables, files := map[string]bool{}, map[string]bool{}
	for i, s := range l {
		here := document.Index(at, i)
		for _, part := range []struct{ field, value string }{{"name", s.Name}, {"key", s.Key}} {
			if !isName(part.value) {
				k.fail(here+"."+part.field, fmt.Sprintf("expected letters, digits, dots, dashes and underscores, up to 128, found %q", document.Clip(part.value)), "")
			}
		}
		k.when(s.Env == "" && s.File == "", here, "requires env, file or both", "env is the name of a variable, file a path below DET_SECRETS_DIR")
		if s.Env != "" {
			s.checkVariable(k, here+".env", variables[s.Env])
			variables[s.Env] = true
		}
		if s.File != "" {
			files[s.File] = s.checkFile(k, here+".file", files[s.File])
		}
	}
	for file, below := range files {
		if !below { // a path from the root has no end below "."
			continue
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				k.fail(at, fmt.Sprintf("%s cannot be a file and a folder, for %s", document.Clip(dir), document.Clip(file)), "")
			}
		}
	}
}

func (s Secret) checkVariable(k *checker, at string, twice bool) {
	switch {
	case len(s.Env) > maxName || !secretEnv.MatchString(s.Env):
		k.fail(at, fmt.Sprintf("expected the name of a variable of letters, digits and _, up to 128, found %q", document.Clip(s.Env)), "")
	case strings.HasPrefix(s.Env, "DET_"):
		k.fail(at, fmt.Sprintf("%s: names that begin with DET_ are Detent's own", s.Env), "")
	case twice:
		k.fail(at, s.Env+" is listed twice", "")
	}
}

// checkFile reports whether the path is below the folder.
func (s Secret) checkFile(k *checker, at string, twice bool) (below bool) {
	switch {
	case len(s.File) > 255 || path.IsAbs(s.File) || path.Clean(s.File) != s.File || s.File == "." || s.File == ".." || strings.HasPrefix(s.File, "../") ||
		strings.ContainsFunc(s.File, func(r rune) bool { return r < ' ' || r == 0x7f }):
		k.fail(at, fmt.Sprintf("expected a relative path such as netrc or aws/credentials, up to 255 bytes, found %q", document.Clip(s.File)), "programs find it below DET_SECRETS_DIR")
		return false
	case twice:
		k.fail(at, document.Clip(s.File)+" is listed twice", "")
	}
	return true
}

// check rejects a variable that has two values.
func (e *Environment) check(k *checker, at string) {
	for i, s := range e.Secrets {
		for _, list := range [][]string{e.EnvironmentVariables.CPU, e.EnvironmentVariables.CUDA, e.EnvironmentVariables.ROCM} {
			if s.Env != "" && hasVariable(list, s.Env) {
				k.fail(document.Index(document.Join(at, "secrets"), i)+".env", s.Env+" is set in environment_variables too", "")
				break
			}
		}
	}
}

func hasVariable(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return variableName(entry) == name })
}
