package task

import (
	"slices"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// EveryWorkspace stands for all workspaces, in Secret.Workspaces.
const EveryWorkspace = "*"

// A Secret is a secret in Vault that users may mount in tasks by its name.
type Secret struct {
	Name string
	Path string   // in version 2 of the kv engine, such as secret/data/vision/tracker
	Keys []string // that may be mounted; empty: all
	// Workspaces and Users name the workspaces in which, and the users by whom, the secret may be mounted. If both
	// are set, only these users may mount it, and only in these workspaces.
	Workspaces []string
	Users      []string
}

// In reports whether somebody may mount the secret in a workspace.
func (s Secret) In(workspace string) bool {
	return len(s.Workspaces) == 0 || slices.Contains(s.Workspaces, EveryWorkspace) || slices.Contains(s.Workspaces, workspace)
}

// For reports whether a user may mount the secret somewhere.
func (s Secret) For(username string) bool {
	return len(s.Users) == 0 || slices.ContainsFunc(s.Users, func(name string) bool { return strings.EqualFold(name, username) })
}

// Secrets are those that operators offer to users.
type Secrets []Secret

// Check returns an error unless a user may mount all of these secrets in a workspace. The error does
// not tell whether a secret exists that the user may not mount.
func (l Secrets) Check(wanted expconf.Secrets, workspace, username string) error {
	for _, w := range wanted {
		s, ok := l.named(w.Name)
		if !ok || !s.In(workspace) || !s.For(username) {
			return fault.New(fault.Invalid, "environment.secrets: there is no secret %q that %s may mount in workspace %q; det secret list shows those that you may mount, "+
				"and the operators of the cluster offer more (vault.secrets)", w.Name, username, fault.Clip(workspace))
		}
		if len(s.Keys) > 0 && !slices.Contains(s.Keys, w.Key) {
			return fault.New(fault.Invalid, "environment.secrets: secret %q has no key %q that may be mounted; it has %s", w.Name, w.Key, strings.Join(s.Keys, ", "))
		}
	}
	return nil
}

// Name reports whether a secret is offered to workspaces of this name: then the name alone gives access
// to the secret.
func (l Secrets) Name(workspace string) bool {
	return slices.ContainsFunc(l, func(s Secret) bool { return slices.Contains(s.Workspaces, workspace) })
}

func (l Secrets) named(name string) (Secret, bool) {
	i := slices.IndexFunc(l, func(s Secret) bool { return s.Name == name })
	if i < 0 {
		return Secret{}, false
	}
	return l[i], true
}

// Secrets returns the secrets that an attempt mounts. A task that removes files mounts none.
func (a *Attempt) Secrets() expconf.Secrets {
	if a.Removes() {
		return nil
	}
	return a.environment().Secrets
}

// inJob returns where an attempt's job reads its secrets.
func (l Secrets) inJob(wanted expconf.Secrets) ([]jobspecs.Secret, error) {
	var list []jobspecs.Secret
	for _, w := range wanted {
		s, ok := l.named(w.Name)
		if !ok {
			return nil, fault.New(fault.Invalid, "environment.secrets: secret %q is no longer offered on this cluster", w.Name)
		}
		one := jobspecs.Secret{Name: w.Name, Path: s.Path, Key: w.Key}
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list, nil
}

// mounted says how a program finds the secrets.
func mounted(wanted expconf.Secrets) []v1.TaskSecret {
	return each.Of(wanted, func(s expconf.Secret) v1.TaskSecret { return v1.TaskSecret(s) })
}
