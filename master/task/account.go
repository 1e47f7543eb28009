package task

import (
	"fmt"

	v1 "github.com/detent-ml/detent/master/v1"
)

// account is the account of the nodes to which the owner or the workspace is linked; nil: none.
func (a *Attempt) account() *v1.TaskAccount {
	if a.Account == "" {
		return nil
	}
	linked := &v1.TaskAccount{User: a.AccountUser, Group: a.AccountGroup}
	// PostgreSQL has made the text from two numbers.
	if _, err := fmt.Sscanf(a.Account, "%d:%d", &linked.UID, &linked.GID); err != nil {
		linked.UID, linked.GID = -1, -1 // which every runner rejects
	}
	return linked
}
